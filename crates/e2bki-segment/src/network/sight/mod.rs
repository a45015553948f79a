//! A network that only looks: normalisations are folded into weights, channels lie in blocks of eight, layers that follow
//! each other are done in one go, and memory is used again from image to image.

mod depthwise;
mod field;
mod lanes;
mod outputs;
mod pointwise;
mod stem;
#[cfg(test)]
mod tests;

use std::sync::Mutex;

use rayon::prelude::*;

use self::depthwise::Depthwise;
use self::field::{Buffers, Field};
use self::lanes::{Eight, LANES};
use self::pointwise::{Pointwise, Product};
use self::stem::Stem;
use super::layers::{Maps, norm};
use super::lraspp::{get, norm_of, part};
use super::plan::{Bend, LOW, Plan, Unit};
use super::weights::Weights;
use crate::error::Result;

/// A network ready to look at images, with the statistics kept in training.
#[derive(Debug)]
pub struct Sight {
    plan: Plan,
    stem: Stem,
    blocks: Vec<Block>,
    last: Pointwise,
    head: Pointwise,
    gate: Pointwise,
    /// Classifiers of the shallow and of the deep features.
    low: Pointwise,
    high: Pointwise,
    spare: Mutex<Vec<Buffers>>,
}

#[derive(Debug)]
struct Block {
    expand: Option<Pointwise>,
    depthwise: Depthwise,
    squeeze: Option<[Pointwise; 2]>,
    project: Pointwise,
    residual: bool,
}

impl Sight {
    /// Of a network with these weights.
    pub fn new(weights: &Weights) -> Result<Self> {
        let plan = weights.plan()?;
        let pointwise = |unit: &Unit| {
            let (scale, shift) = kept(weights, unit);
            Pointwise::new(get(weights, &unit.weight()), &scale, &shift, unit.bend)
        };
        let linear = |name: &str, outputs: usize, bend: Bend| {
            let none = vec![0.0; outputs];
            let bias = weights.get(&part(name, "bias")).unwrap_or(&none);
            Pointwise::new(get(weights, &part(name, "weight")), &vec![1.0; outputs], bias, bend)
        };
        let blocks = plan.blocks.iter().map(|block| {
            let (scale, shift) = kept(weights, &block.depthwise);
            let of_depthwise = get(weights, &block.depthwise.weight());
            Block {
                expand: block.expand.as_ref().map(pointwise),
                depthwise: Depthwise::new(&block.depthwise, of_depthwise, &scale, &shift),
                squeeze: block.squeeze.as_ref().map(|squeeze| {
                    [
                        linear(&part(&squeeze.name, "fc1"), squeeze.squeezed, Bend::Relu),
                        linear(&part(&squeeze.name, "fc2"), squeeze.channels, Bend::Straight),
                    ]
                }),
                project: pointwise(&block.project),
                residual: block.residual,
            }
        });
        Ok(Self {
            stem: Stem { unit: plan.stem.clone(), product: pointwise(&plan.stem) },
            blocks: blocks.collect(),
            last: pointwise(&plan.last),
            head: pointwise(&plan.head),
            gate: linear("classifier.scale.1", plan.architecture.head, Bend::Straight),
            low: linear("classifier.low_classifier", plan.architecture.classes, Bend::Straight),
            high: linear("classifier.high_classifier", plan.architecture.classes, Bend::Straight),
            plan,
            spare: Mutex::default(),
        })
    }

    /// Outputs for images, at their size.
    pub fn look(&self, images: &Maps) -> Maps {
        let mut outputs = Maps::new(self.plan.architecture.classes, images.images, images.height, images.width);
        self.look_into(images, &mut outputs);
        outputs
    }

    /// As [`look`](Self::look), into maps that are there already; they get the right shape if they do not have it.
    pub fn look_into(&self, images: &Maps, outputs: &mut Maps) {
        let shape = [self.plan.architecture.classes, images.images, images.height, images.width];
        if [outputs.channels, outputs.images, outputs.height, outputs.width] != shape {
            *outputs = Maps::new(shape[0], shape[1], shape[2], shape[3]);
        }
        let (cells, size) = (images.cells(), [images.height, images.width]);
        let mut buffers = self.spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default();
        // Within the pool of threads from the first layer to the last: entering it is slow.
        rayon::scope(|_| {
            for image in 0..images.images {
                let planes: Vec<&[f32]> = images.values.chunks(cells).skip(image).step_by(images.images).collect();
                let seen = self.see(&planes, size, &mut buffers);
                let of_image = outputs.values.chunks_mut(cells).skip(image).step_by(images.images);
                outputs::to_planes(&seen, of_image.collect(), size);
                buffers.take(seen);
            }
        });
        if let Ok(mut spare) = self.spare.lock() {
            spare.push(buffers);
        }
    }

    /// Outputs at an eighth of the image's size.
    fn see(&self, planes: &[&[f32]], size: [usize; 2], buffers: &mut Buffers) -> Field {
        let mut x = self.stem.forward(planes, size, buffers);
        let mut low = None;
        for (number, block) in self.blocks.iter().enumerate() {
            let y = block.forward(&x, buffers);
            buffers.take(std::mem::replace(&mut x, y));
            if number == LOW {
                low = Some(self.low.product().forward(&x, None, buffers));
            }
        }
        let deep = self.last.product().forward(&x, None, buffers);
        let gates = self.gate.of_one(&means(&deep));
        let gates: Vec<Eight> = gates.into_iter().map(|g| g.map(sigmoid)).collect();
        let head = self.head.product().forward(&deep, None, buffers);
        // A classifier of resized features is the same as its resized outputs, and those are fewer.
        let high = scaled(&self.high, &gates, buffers, |high, buffers| high.forward(&head, None, buffers));
        let seen = match low {
            Some(mut low) => {
                outputs::add_resized(&mut low, &high);
                buffers.take(high);
                low
            }
            None => high,
        };
        for field in [x, deep, head] {
            buffers.take(field);
        }
        seen
    }
}

impl Block {
    fn forward(&self, x: &Field, buffers: &mut Buffers) -> Field {
        let (wide, means) = self.depthwise.forward(self.expand.as_ref(), x, self.squeeze.is_some(), buffers);
        let skip = self.residual.then_some(x);
        let y = match &self.squeeze {
            Some([first, second]) => {
                let drive = second.of_one(&first.of_one(&means));
                let factors: Vec<Eight> = drive.into_iter().map(|d| d.map(hard_sigmoid)).collect();
                scaled(&self.project, &factors, buffers, |project, buffers| project.forward(&wide, skip, buffers))
            }
            None => self.project.product().forward(&wide, skip, buffers),
        };
        buffers.take(wide);
        y
    }
}

/// A layer's result for inputs that are first multiplied by factors: it is the weights that are multiplied.
fn scaled(
    layer: &Pointwise,
    factors: &[Eight],
    buffers: &mut Buffers,
    forward: impl FnOnce(Product<'_>, &mut Buffers) -> Field,
) -> Field {
    let mut weights = std::mem::take(&mut buffers.weights);
    if weights.len() < layer.size() {
        weights = vec![[0.0; LANES]; layer.size()];
    }
    let y = forward(layer.scaled(factors, &mut weights), buffers);
    buffers.weights = weights;
    y
}

/// Scale and shift of a unit's normalisation by kept statistics.
fn kept(weights: &Weights, unit: &Unit) -> (Vec<f32>, Vec<f32>) {
    let kept = |name: &str| get(weights, &part(&unit.norm, name));
    norm::by_kept(norm_of(weights, unit), kept("running_mean"), kept("running_var"))
}

fn hard_sigmoid(x: f32) -> f32 {
    (x + 3.0).clamp(0.0, 6.0) / 6.0
}

fn sigmoid(x: f32) -> f32 {
    (1.0 / (1.0 + e2bki::maths::exp(-f64::from(x)))) as f32
}

/// Means of all channels.
fn means(x: &Field) -> Vec<Eight> {
    let mean = |block: usize| {
        let mut sums = [0.0_f64; LANES];
        for row in x.block(block).chunks(x.width) {
            let mut sum = [0.0_f32; LANES];
            for place in row {
                for i in 0..LANES {
                    sum[i] += place[i];
                }
            }
            sums.iter_mut().zip(sum).for_each(|(sums, sum)| *sums += f64::from(sum));
        }
        sums.map(|sum| (sum / x.places() as f64) as f32)
    };
    (0..x.blocks).into_par_iter().with_min_len(8).map(mean).collect()
}
