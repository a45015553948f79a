//! Adam with the paper's moments (0.5, 0.999), without weight decay.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::network::{Gradients, Weights};

const FIRST: f64 = 0.5;
const SECOND: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// Running moments of every parameter's gradient.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Adam {
    pub(super) step: u64,
    pub(super) first: BTreeMap<String, Vec<f32>>,
    pub(super) second: BTreeMap<String, Vec<f32>>,
}

impl Adam {
    /// One step.
    pub(super) fn step(&mut self, weights: &mut Weights, gradients: &Gradients, rate: f64) {
        self.step += 1;
        let correct = |moment: f64| 1.0 - moment.powi(i32::try_from(self.step).unwrap_or(i32::MAX));
        let (first_share, second_share) = (correct(FIRST), correct(SECOND));
        for (name, gradient) in gradients {
            let first = self.first.entry(name.clone()).or_insert_with(|| vec![0.0; gradient.len()]);
            let second = self.second.entry(name.clone()).or_insert_with(|| vec![0.0; gradient.len()]);
            let values = weights.get_mut(name).par_iter_mut().with_min_len(4096);
            values.zip(gradient).zip(first).zip(second).for_each(|(((value, g), first), second)| {
                let g = f64::from(*g);
                let m = FIRST * f64::from(*first) + (1.0 - FIRST) * g;
                let v = SECOND * f64::from(*second) + (1.0 - SECOND) * g * g;
                (*first, *second) = (m as f32, v as f32);
                *value -= (rate * (m / first_share) / ((v / second_share).sqrt() + EPSILON)) as f32;
            });
        }
    }
}
