//! The training network: forward and backward pass.

use std::collections::BTreeMap;

use super::layers::norm::{self, Norm};
use super::layers::squeeze::{self, SqueezeWeights};
use super::layers::{Tensor, bilinear, depthwise, im2col, pointwise, pool};
use super::plan::{ConvNormActivation, Grouping, InvertedResidual, LOW_LEVEL, Plan};
use super::tape::{BlockTape, ConvTape, Gradients, Tape};
use super::weights::Weights;

/// A parameter by name; weights are checked for completeness when they are created.
pub(super) fn get<'a>(weights: &'a Weights, name: &str) -> &'a [f32] {
    weights.get(name).unwrap_or(&[])
}

pub(super) fn part(name: &str, part: &str) -> String {
    format!("{name}.{part}")
}

/// The network in training mode.
#[derive(Debug, Clone)]
pub struct Lraspp {
    plan: Plan,
}

impl Lraspp {
    /// A network with this layout.
    pub fn new(plan: Plan) -> Self {
        Self { plan }
    }

    /// Its layout.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Forward pass in training mode: logits at the images' size, and the tape that [`backward`](Self::backward) needs.
    /// Batch normalisation uses the batch statistics and updates the running ones in `weights`. `steps` is the number of
    /// steps so far: early on the running statistics are a plain mean, because a momentum of 1 % alone would lag far
    /// behind in a short run.
    pub fn forward(&self, weights: &mut Weights, images: Tensor, steps: u64) -> (Tensor, Tape) {
        let share = 1.0 / (steps as f32 + 1.0);
        let size = [images.height, images.width];
        let (mut x, stem) = forward_conv(weights, &self.plan.stem, images, share);
        let mut blocks = Vec::with_capacity(self.plan.blocks.len());
        for block in &self.plan.blocks {
            let (y, tape) = forward_block(weights, block, x, share);
            x = y;
            blocks.push(tape);
        }
        let (deep, last) = forward_conv(weights, &self.plan.last, x, share);
        let means = pool::global_average(&deep);
        let gates = self.gates(weights, &deep);
        let (ungated, head) = forward_conv(weights, &self.plan.head, deep, share);
        let low = blocks[LOW_LEVEL + 1].input();
        let high = bilinear::resize(&pool::scale_channels(&ungated, &gates), [low.height, low.width]);
        let outputs = bilinear::resize(&self.classified(weights, low, &high), size);
        (outputs, Tape { size, stem, blocks, last, head, ungated, means, gates, high })
    }

    /// Backward pass: gradients of all trainable parameters, from those of the outputs.
    pub fn backward(&self, weights: &Weights, tape: &Tape, grad_outputs: &Tensor) -> Gradients {
        let mut all = BTreeMap::new();
        let low = tape.blocks[LOW_LEVEL + 1].input();
        let g = bilinear::backward(grad_outputs, [low.height, low.width]);
        debug_assert_eq!([grad_outputs.height, grad_outputs.width], tape.size);
        // 1. The two classifiers.
        let mut grad_low = Tensor::new(0, 0, 0, 0);
        let mut grad_high = Tensor::new(0, 0, 0, 0);
        for (name, x, grad_x) in [
            ("classifier.low_classifier", low, &mut grad_low),
            ("classifier.high_classifier", &tape.high, &mut grad_high),
        ] {
            all.insert(part(name, "weight"), pointwise::grad_weights(&g, x));
            all.insert(part(name, "bias"), pointwise::grad_bias(&g));
            *grad_x = pointwise::grad_input(&g, get(weights, &part(name, "weight")));
        }
        // 2. The gate and the head.
        let mut g = bilinear::backward(&grad_high, [tape.ungated.height, tape.ungated.width]);
        let mut grad_gates = pool::scale_channels_backward(&mut g, &tape.ungated, &tape.gates);
        for (g, gate) in grad_gates.iter_mut().zip(&tape.gates) {
            *g *= gate * (1.0 - gate);
        }
        let gate = "classifier.scale.1.weight";
        let (grad_means, grad_gate, _) =
            pool::linear_backward(&grad_gates, &tape.means, tape.ungated.images, get(weights, gate));
        all.insert(gate.into(), grad_gate);
        let mut g = backward_conv(weights, &self.plan.head, &tape.head, g, &mut all);
        pool::global_average_backward(&grad_means, &mut g);
        // 3. The backbone.
        let mut g = backward_conv(weights, &self.plan.last, &tape.last, g, &mut all);
        for (number, (block, of_block)) in self.plan.blocks.iter().zip(&tape.blocks).enumerate().rev() {
            if number == LOW_LEVEL {
                g.add(&grad_low);
            }
            g = backward_block(weights, block, of_block, g, &mut all);
        }
        backward_parameters(weights, &self.plan.stem, &tape.stem, g, &mut all);
        all
    }

    fn gates(&self, weights: &Weights, deep: &Tensor) -> Vec<f32> {
        let pre_activation =
            pool::linear(&pool::global_average(deep), deep.images, get(weights, "classifier.scale.1.weight"), None);
        pre_activation.into_iter().map(|d| (1.0 / (1.0 + e2bki::maths::exp(-f64::from(d)))) as f32).collect()
    }

    fn classified(&self, weights: &Weights, low: &Tensor, high: &Tensor) -> Tensor {
        let of = |name: &str, x: &Tensor| {
            pointwise::forward(x, get(weights, &part(name, "weight")), Some(get(weights, &part(name, "bias"))))
        };
        let mut sum = of("classifier.low_classifier", low);
        sum.add(&of("classifier.high_classifier", high));
        sum
    }
}

pub(super) fn norm_of<'a>(weights: &'a Weights, conv: &ConvNormActivation) -> Norm<'a> {
    Norm {
        scale: get(weights, &part(&conv.norm, "weight")),
        shift: get(weights, &part(&conv.norm, "bias")),
        epsilon: conv.epsilon,
        activation: conv.activation,
    }
}

/// The convolution alone, and its input in the form that the backward pass needs.
fn convolved(weights: &Weights, conv: &ConvNormActivation, x: Tensor) -> (Tensor, Tensor) {
    let w = get(weights, &conv.weight());
    match conv.grouping {
        Grouping::Pointwise => (pointwise::forward(&x, w, None), x),
        Grouping::Depthwise => (depthwise::forward(&x, w, conv), x),
        Grouping::Dense => {
            let columns = im2col::im2col(&x, conv);
            (pointwise::forward(&columns, w, None), columns)
        }
    }
}

fn forward_conv(weights: &mut Weights, conv: &ConvNormActivation, x: Tensor, share: f32) -> (Tensor, ConvTape) {
    let (y, x) = convolved(weights, conv, x);
    let (y, normed, statistics) = norm::forward(y, norm_of(weights, conv));
    for (name, values) in [("running_mean", statistics.mean), ("running_var", statistics.variance)] {
        for (kept, value) in weights.get_mut(&part(&conv.norm, name)).iter_mut().zip(values) {
            *kept += conv.momentum.max(share) * (value - *kept);
        }
    }
    (y, ConvTape { x, normed })
}

/// Gradients of the layer's parameters; returns the gradient of the convolution's output.
fn backward_parameters(
    weights: &Weights,
    conv: &ConvNormActivation,
    tape: &ConvTape,
    mut g: Tensor,
    all: &mut Gradients,
) -> Tensor {
    let (grad_scale, grad_shift) = norm::backward(&mut g, &tape.normed, norm_of(weights, conv));
    all.insert(part(&conv.norm, "weight"), grad_scale);
    all.insert(part(&conv.norm, "bias"), grad_shift);
    let grad_weights = match conv.grouping {
        Grouping::Depthwise => depthwise::grad_weights(&g, &tape.x, conv),
        Grouping::Pointwise | Grouping::Dense => pointwise::grad_weights(&g, &tape.x),
    };
    all.insert(conv.weight(), grad_weights);
    g
}

fn backward_conv(
    weights: &Weights,
    conv: &ConvNormActivation,
    tape: &ConvTape,
    g: Tensor,
    all: &mut Gradients,
) -> Tensor {
    let g = backward_parameters(weights, conv, tape, g, all);
    let w = get(weights, &conv.weight());
    match conv.grouping {
        Grouping::Depthwise => depthwise::grad_input(&g, w, conv, [tape.x.height, tape.x.width]),
        Grouping::Pointwise | Grouping::Dense => pointwise::grad_input(&g, w),
    }
}

fn squeeze_weights<'a>(weights: &'a Weights, name: &str) -> SqueezeWeights<'a> {
    let of =
        |layer: &str| (get(weights, &format!("{name}.{layer}.weight")), get(weights, &format!("{name}.{layer}.bias")));
    SqueezeWeights { first: of("fc1"), second: of("fc2") }
}

fn forward_block(weights: &mut Weights, block: &InvertedResidual, x: Tensor, share: f32) -> (Tensor, BlockTape) {
    let (x, expand) = match &block.expand {
        Some(conv) => {
            let (x, tape) = forward_conv(weights, conv, x, share);
            (x, Some(tape))
        }
        None => (x, None),
    };
    let (x, depthwise) = forward_conv(weights, &block.depthwise, x, share);
    let (x, squeeze) = match &block.squeeze {
        Some(squeeze) => {
            let (x, tape) = squeeze::forward(x, squeeze_weights(weights, &squeeze.name));
            (x, Some(tape))
        }
        None => (x, None),
    };
    let (mut y, project) = forward_conv(weights, &block.project, x, share);
    let tape = BlockTape { expand, depthwise, squeeze, project };
    if block.residual {
        y.add(tape.input());
    }
    (y, tape)
}

fn backward_block(
    weights: &Weights,
    block: &InvertedResidual,
    tape: &BlockTape,
    g: Tensor,
    all: &mut Gradients,
) -> Tensor {
    let skipped = block.residual.then(|| g.clone());
    let mut g = backward_conv(weights, &block.project, &tape.project, g, all);
    if let (Some(squeeze), Some(squeezed)) = (&block.squeeze, &tape.squeeze) {
        let found = squeeze::backward(&mut g, squeezed, squeeze_weights(weights, &squeeze.name));
        for (name, values) in ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"].into_iter().zip(found) {
            all.insert(part(&squeeze.name, name), values);
        }
    }
    let mut g = backward_conv(weights, &block.depthwise, &tape.depthwise, g, all);
    if let (Some(expand), Some(of_expand)) = (&block.expand, &tape.expand) {
        g = backward_conv(weights, expand, of_expand, g, all);
    }
    if let Some(skipped) = skipped {
        g.add(&skipped);
    }
    g
}
