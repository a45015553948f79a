//! The network forward, for learning, and backward.

use std::collections::BTreeMap;

use super::layers::norm::{self, Norm};
use super::layers::squeeze::{self, Excite};
use super::layers::{Maps, bilinear, columns, depthwise, pointwise, pool};
use super::plan::{Block, LOW, Plan, Reach, Unit};
use super::tape::{BlockTape, Gradients, Tape, UnitTape};
use super::weights::Weights;

/// Looks up a parameter; weights are checked to be whole when they are made.
pub(super) fn get<'a>(weights: &'a Weights, name: &str) -> &'a [f32] {
    weights.get(name).unwrap_or(&[])
}

pub(super) fn part(name: &str, part: &str) -> String {
    format!("{name}.{part}")
}

/// A plan that can be run.
#[derive(Debug, Clone)]
pub struct Lraspp {
    plan: Plan,
}

impl Lraspp {
    /// For weights of this plan.
    pub fn new(plan: Plan) -> Self {
        Self { plan }
    }

    /// Its plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Outputs for images at their size, and what [`learn`](Self::learn) needs; normalised by the batch's own statistics,
    /// of which the weights keep a running mean. In the first of the `steps` before this one it is a plain mean: with the
    /// backbone's share of 1 % alone, statistics would lag far behind in a short run.
    pub fn look_to_learn(&self, weights: &mut Weights, images: Maps, steps: u64) -> (Maps, Tape) {
        let share = 1.0 / (steps as f32 + 1.0);
        let size = [images.height, images.width];
        let (mut x, stem) = learn_unit(weights, &self.plan.stem, images, share);
        let mut blocks = Vec::with_capacity(self.plan.blocks.len());
        for block in &self.plan.blocks {
            let (y, tape) = learn_block(weights, block, x, share);
            x = y;
            blocks.push(tape);
        }
        let (deep, last) = learn_unit(weights, &self.plan.last, x, share);
        let means = pool::means(&deep);
        let gates = self.gates(weights, &deep);
        let (ungated, head) = learn_unit(weights, &self.plan.head, deep, share);
        let low = blocks[LOW + 1].input();
        let high = bilinear::resized(&pool::scaled(&ungated, &gates), [low.height, low.width]);
        let outputs = bilinear::resized(&self.classified(weights, low, &high), size);
        (outputs, Tape { size, stem, blocks, last, head, ungated, means, gates, high })
    }

    /// Gradients of all learned parameters, from those of the outputs.
    pub fn learn(&self, weights: &Weights, tape: &Tape, by_outputs: &Maps) -> Gradients {
        let mut all = BTreeMap::new();
        let low = tape.blocks[LOW + 1].input();
        let g = bilinear::backward(by_outputs, [low.height, low.width]);
        debug_assert_eq!([by_outputs.height, by_outputs.width], tape.size);
        // 1. The two classifiers.
        let mut by_low = Maps::new(0, 0, 0, 0);
        let mut by_high = Maps::new(0, 0, 0, 0);
        for (name, x, by_x) in
            [("classifier.low_classifier", low, &mut by_low), ("classifier.high_classifier", &tape.high, &mut by_high)]
        {
            all.insert(part(name, "weight"), pointwise::by_weights(&g, x));
            all.insert(part(name, "bias"), pointwise::by_bias(&g));
            *by_x = pointwise::by_input(&g, get(weights, &part(name, "weight")));
        }
        // 2. The gate and the head.
        let mut g = bilinear::backward(&by_high, [tape.ungated.height, tape.ungated.width]);
        let mut by_gates = pool::scaled_backward(&mut g, &tape.ungated, &tape.gates);
        for (g, gate) in by_gates.iter_mut().zip(&tape.gates) {
            *g *= gate * (1.0 - gate);
        }
        let gate = "classifier.scale.1.weight";
        let (by_means, by_gate, _) =
            pool::linear_backward(&by_gates, &tape.means, tape.ungated.images, get(weights, gate));
        all.insert(gate.into(), by_gate);
        let mut g = back_unit(weights, &self.plan.head, &tape.head, g, &mut all);
        pool::means_backward(&by_means, &mut g);
        // 3. The backbone.
        let mut g = back_unit(weights, &self.plan.last, &tape.last, g, &mut all);
        for (number, (block, of_block)) in self.plan.blocks.iter().zip(&tape.blocks).enumerate().rev() {
            if number == LOW {
                g.add(&by_low);
            }
            g = back_block(weights, block, of_block, g, &mut all);
        }
        back_parameters(weights, &self.plan.stem, &tape.stem, g, &mut all);
        all
    }

    fn gates(&self, weights: &Weights, deep: &Maps) -> Vec<f32> {
        let drive = pool::linear(&pool::means(deep), deep.images, get(weights, "classifier.scale.1.weight"), None);
        drive.into_iter().map(|d| (1.0 / (1.0 + e2bki::maths::exp(-f64::from(d)))) as f32).collect()
    }

    fn classified(&self, weights: &Weights, low: &Maps, high: &Maps) -> Maps {
        let of = |name: &str, x: &Maps| {
            pointwise::forward(x, get(weights, &part(name, "weight")), Some(get(weights, &part(name, "bias"))))
        };
        let mut sum = of("classifier.low_classifier", low);
        sum.add(&of("classifier.high_classifier", high));
        sum
    }
}

pub(super) fn norm_of<'a>(weights: &'a Weights, unit: &Unit) -> Norm<'a> {
    Norm {
        scale: get(weights, &part(&unit.norm, "weight")),
        shift: get(weights, &part(&unit.norm, "bias")),
        epsilon: unit.epsilon,
        bend: unit.bend,
    }
}

/// The convolution of a unit, and the input as its gradient needs it.
fn convolved(weights: &Weights, unit: &Unit, x: Maps) -> (Maps, Maps) {
    let w = get(weights, &unit.weight());
    match unit.reach {
        Reach::Pointwise => (pointwise::forward(&x, w, None), x),
        Reach::Depthwise => (depthwise::forward(&x, w, unit), x),
        Reach::Full => {
            let columns = columns::columns(&x, unit);
            (pointwise::forward(&columns, w, None), columns)
        }
    }
}

fn learn_unit(weights: &mut Weights, unit: &Unit, x: Maps, share: f32) -> (Maps, UnitTape) {
    let (y, x) = convolved(weights, unit, x);
    let (y, normed, statistics) = norm::by_batch(y, norm_of(weights, unit));
    for (name, values) in [("running_mean", statistics.mean), ("running_var", statistics.variance)] {
        for (kept, value) in weights.get_mut(&part(&unit.norm, name)).iter_mut().zip(values) {
            *kept += unit.momentum.max(share) * (value - *kept);
        }
    }
    (y, UnitTape { x, normed })
}

/// Gradients by the unit's parameters; returns that by the convolution's outputs.
fn back_parameters(weights: &Weights, unit: &Unit, tape: &UnitTape, mut g: Maps, all: &mut Gradients) -> Maps {
    let (by_scale, by_shift) = norm::backward(&mut g, &tape.normed, norm_of(weights, unit));
    all.insert(part(&unit.norm, "weight"), by_scale);
    all.insert(part(&unit.norm, "bias"), by_shift);
    let by_weights = match unit.reach {
        Reach::Depthwise => depthwise::by_weights(&g, &tape.x, unit),
        Reach::Pointwise | Reach::Full => pointwise::by_weights(&g, &tape.x),
    };
    all.insert(unit.weight(), by_weights);
    g
}

fn back_unit(weights: &Weights, unit: &Unit, tape: &UnitTape, g: Maps, all: &mut Gradients) -> Maps {
    let g = back_parameters(weights, unit, tape, g, all);
    let w = get(weights, &unit.weight());
    match unit.reach {
        Reach::Depthwise => depthwise::by_input(&g, w, unit, [tape.x.height, tape.x.width]),
        Reach::Pointwise | Reach::Full => pointwise::by_input(&g, w),
    }
}

fn excite<'a>(weights: &'a Weights, name: &str) -> Excite<'a> {
    let of =
        |layer: &str| (get(weights, &format!("{name}.{layer}.weight")), get(weights, &format!("{name}.{layer}.bias")));
    Excite { first: of("fc1"), second: of("fc2") }
}

fn learn_block(weights: &mut Weights, block: &Block, x: Maps, share: f32) -> (Maps, BlockTape) {
    let (x, expand) = match &block.expand {
        Some(unit) => {
            let (x, tape) = learn_unit(weights, unit, x, share);
            (x, Some(tape))
        }
        None => (x, None),
    };
    let (x, depthwise) = learn_unit(weights, &block.depthwise, x, share);
    let (x, squeeze) = match &block.squeeze {
        Some(squeeze) => {
            let (x, tape) = squeeze::forward(x, excite(weights, &squeeze.name));
            (x, Some(tape))
        }
        None => (x, None),
    };
    let (mut y, project) = learn_unit(weights, &block.project, x, share);
    let tape = BlockTape { expand, depthwise, squeeze, project };
    if block.residual {
        y.add(tape.input());
    }
    (y, tape)
}

fn back_block(weights: &Weights, block: &Block, tape: &BlockTape, g: Maps, all: &mut Gradients) -> Maps {
    let skipped = block.residual.then(|| g.clone());
    let mut g = back_unit(weights, &block.project, &tape.project, g, all);
    if let (Some(squeeze), Some(squeezed)) = (&block.squeeze, &tape.squeeze) {
        let found = squeeze::backward(&mut g, squeezed, excite(weights, &squeeze.name));
        for (name, values) in ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"].into_iter().zip(found) {
            all.insert(part(&squeeze.name, name), values);
        }
    }
    let mut g = back_unit(weights, &block.depthwise, &tape.depthwise, g, all);
    if let (Some(expand), Some(of_expand)) = (&block.expand, &tape.expand) {
        g = back_unit(weights, expand, of_expand, g, all);
    }
    if let Some(skipped) = skipped {
        g.add(&skipped);
    }
    g
}
