//! The network in inference mode: normalisations are folded into weights, channels are stored in blocks of eight,
//! consecutive layers are fused, and buffers are reused from image to image.

mod blocked;
mod depthwise;
mod outputs;
mod pointwise;
mod simd;
mod stem;
#[cfg(test)]
mod tests;

use std::sync::Mutex;

use rayon::prelude::*;

use self::blocked::{BlockedTensor, Buffers};
use self::depthwise::Depthwise;
use self::pointwise::{Pointwise, Product};
use self::simd::{Eight, LANES};
use self::stem::Stem;
use super::layers::{Tensor, norm};
use super::lraspp::{get, norm_of, part};
use super::plan::{Activation, ConvNormActivation, LOW_LEVEL, Plan};
use super::weights::Weights;
use crate::error::Result;

/// The network in inference mode, with running statistics.
#[derive(Debug)]
pub struct InferenceNetwork {
    plan: Plan,
    stem: Stem,
    blocks: Vec<InvertedResidual>,
    last: Pointwise,
    head: Pointwise,
    gate: Pointwise,
    /// Classifiers of the low-level and high-level features.
    low: Pointwise,
    high: Pointwise,
    spare: Mutex<Vec<Buffers>>,
}

#[derive(Debug)]
struct InvertedResidual {
    expand: Option<Pointwise>,
    depthwise: Depthwise,
    squeeze: Option<[Pointwise; 2]>,
    project: Pointwise,
    residual: bool,
}

impl InferenceNetwork {
    /// Prepares weights for inference.
    pub fn new(weights: &Weights) -> Result<Self> {
        let plan = weights.plan()?;
        let pointwise = |conv: &ConvNormActivation| {
            let (scale, shift) = folded(weights, conv);
            Pointwise::new(get(weights, &conv.weight()), &scale, &shift, conv.activation)
        };
        let linear = |name: &str, outputs: usize, activation: Activation| {
            let none = vec![0.0; outputs];
            let bias = weights.get(&part(name, "bias")).unwrap_or(&none);
            Pointwise::new(get(weights, &part(name, "weight")), &vec![1.0; outputs], bias, activation)
        };
        let blocks = plan.blocks.iter().map(|block| {
            let (scale, shift) = folded(weights, &block.depthwise);
            let of_depthwise = get(weights, &block.depthwise.weight());
            InvertedResidual {
                expand: block.expand.as_ref().map(pointwise),
                depthwise: Depthwise::new(&block.depthwise, of_depthwise, &scale, &shift),
                squeeze: block.squeeze.as_ref().map(|squeeze| {
                    [
                        linear(&part(&squeeze.name, "fc1"), squeeze.squeezed, Activation::Relu),
                        linear(&part(&squeeze.name, "fc2"), squeeze.channels, Activation::Identity),
                    ]
                }),
                project: pointwise(&block.project),
                residual: block.residual,
            }
        });
        Ok(Self {
            stem: Stem { conv: plan.stem.clone(), product: pointwise(&plan.stem) },
            blocks: blocks.collect(),
            last: pointwise(&plan.last),
            head: pointwise(&plan.head),
            gate: linear("classifier.scale.1", plan.architecture.head, Activation::Identity),
            low: linear("classifier.low_classifier", plan.architecture.classes, Activation::Identity),
            high: linear("classifier.high_classifier", plan.architecture.classes, Activation::Identity),
            plan,
            spare: Mutex::default(),
        })
    }

    /// Logits for images, at their size.
    pub fn forward(&self, images: &Tensor) -> Tensor {
        let mut outputs = Tensor::new(self.plan.architecture.classes, images.images, images.height, images.width);
        self.forward_into(images, &mut outputs);
        outputs
    }

    /// Like [`forward`](Self::forward), into an existing tensor, which is resized if needed.
    pub fn forward_into(&self, images: &Tensor, outputs: &mut Tensor) {
        let shape = [self.plan.architecture.classes, images.images, images.height, images.width];
        if [outputs.channels, outputs.images, outputs.height, outputs.width] != shape {
            *outputs = Tensor::new(shape[0], shape[1], shape[2], shape[3]);
        }
        let (cells, size) = (images.cells(), [images.height, images.width]);
        let mut buffers = self.spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default();
        // One entry into the thread pool for all layers, as entering it is slow.
        rayon::scope(|_| {
            for image in 0..images.images {
                let planes: Vec<&[f32]> = images.values.chunks(cells).skip(image).step_by(images.images).collect();
                let logits = self.forward_one(&planes, size, &mut buffers);
                let of_image = outputs.values.chunks_mut(cells).skip(image).step_by(images.images);
                outputs::to_planes(&logits, of_image.collect(), size);
                buffers.recycle(logits);
            }
        });
        if let Ok(mut spare) = self.spare.lock() {
            spare.push(buffers);
        }
    }

    /// Logits of one image at 1/8 of its size.
    fn forward_one(&self, planes: &[&[f32]], size: [usize; 2], buffers: &mut Buffers) -> BlockedTensor {
        let mut x = self.stem.forward(planes, size, buffers);
        let mut low = None;
        for (number, block) in self.blocks.iter().enumerate() {
            let y = block.forward(&x, buffers);
            buffers.recycle(std::mem::replace(&mut x, y));
            if number == LOW_LEVEL {
                low = Some(self.low.product().forward(&x, None, buffers));
            }
        }
        let deep = self.last.product().forward(&x, None, buffers);
        let gates = self.gate.forward_pixel(&means(&deep));
        let gates: Vec<Eight> = gates.into_iter().map(|g| g.map(sigmoid)).collect();
        let head = self.head.product().forward(&deep, None, buffers);
        // Classifying commutes with resizing, and there are fewer classes than channels.
        let high = scaled(&self.high, &gates, buffers, |high, buffers| high.forward(&head, None, buffers));
        let logits = match low {
            Some(mut low) => {
                outputs::add_resized(&mut low, &high);
                buffers.recycle(high);
                low
            }
            None => high,
        };
        for tensor in [x, deep, head] {
            buffers.recycle(tensor);
        }
        logits
    }
}

impl InvertedResidual {
    fn forward(&self, x: &BlockedTensor, buffers: &mut Buffers) -> BlockedTensor {
        let (wide, means) = self.depthwise.forward(self.expand.as_ref(), x, self.squeeze.is_some(), buffers);
        let skip = self.residual.then_some(x);
        let y = match &self.squeeze {
            Some([first, second]) => {
                let pre_activation = second.forward_pixel(&first.forward_pixel(&means));
                let factors: Vec<Eight> = pre_activation.into_iter().map(|d| d.map(hard_sigmoid)).collect();
                scaled(&self.project, &factors, buffers, |project, buffers| project.forward(&wide, skip, buffers))
            }
            None => self.project.product().forward(&wide, skip, buffers),
        };
        buffers.recycle(wide);
        y
    }
}

/// A layer applied to inputs scaled per channel: the factors are multiplied into the weights.
fn scaled(
    layer: &Pointwise,
    factors: &[Eight],
    buffers: &mut Buffers,
    forward: impl FnOnce(Product<'_>, &mut Buffers) -> BlockedTensor,
) -> BlockedTensor {
    let mut weights = std::mem::take(&mut buffers.weights);
    if weights.len() < layer.size() {
        weights = vec![[0.0; LANES]; layer.size()];
    }
    let y = forward(layer.scaled(factors, &mut weights), buffers);
    buffers.weights = weights;
    y
}

/// A normalisation's running statistics as scale and shift.
fn folded(weights: &Weights, conv: &ConvNormActivation) -> (Vec<f32>, Vec<f32>) {
    let running = |name: &str| get(weights, &part(&conv.norm, name));
    norm::fold(norm_of(weights, conv), running("running_mean"), running("running_var"))
}

fn hard_sigmoid(x: f32) -> f32 {
    (x + 3.0).clamp(0.0, 6.0) / 6.0
}

fn sigmoid(x: f32) -> f32 {
    (1.0 / (1.0 + e2bki::maths::exp(-f64::from(x)))) as f32
}

/// Global average of all channels.
fn means(x: &BlockedTensor) -> Vec<Eight> {
    let mean = |block: usize| {
        let mut sums = [0.0_f64; LANES];
        for row in x.block(block).chunks(x.width) {
            let mut sum = [0.0_f32; LANES];
            for pixel in row {
                for i in 0..LANES {
                    sum[i] += pixel[i];
                }
            }
            sums.iter_mut().zip(sum).for_each(|(sums, sum)| *sums += f64::from(sum));
        }
        sums.map(|sum| (sum / x.pixels() as f64) as f32)
    };
    (0..x.blocks).into_par_iter().with_min_len(8).map(mean).collect()
}
