//! Adam with the paper's β₁ = 0.5 and β₂ = 0.999, without weight decay.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::network::{Gradients, Weights};

const BETA_1: f64 = 0.5;
const BETA_2: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// First and second moment of every parameter's gradient.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Adam {
    pub(super) step: u64,
    pub(super) first: BTreeMap<String, Vec<f32>>,
    pub(super) second: BTreeMap<String, Vec<f32>>,
}

impl Adam {
    /// One optimiser step.
    pub(super) fn step(&mut self, weights: &mut Weights, gradients: &Gradients, rate: f64) {
        self.step += 1;
        let correct = |moment: f64| 1.0 - moment.powi(i32::try_from(self.step).unwrap_or(i32::MAX));
        let (first_share, second_share) = (correct(BETA_1), correct(BETA_2));
        for (name, gradient) in gradients {
            let first = self.first.entry(name.clone()).or_insert_with(|| vec![0.0; gradient.len()]);
            let second = self.second.entry(name.clone()).or_insert_with(|| vec![0.0; gradient.len()]);
            let values = weights.get_mut(name).par_iter_mut().with_min_len(4096);
            values.zip(gradient).zip(first).zip(second).for_each(|(((value, g), first), second)| {
                let g = f64::from(*g);
                let m = BETA_1 * f64::from(*first) + (1.0 - BETA_1) * g;
                let v = BETA_2 * f64::from(*second) + (1.0 - BETA_2) * g * g;
                (*first, *second) = (m as f32, v as f32);
                *value -= (rate * (m / first_share) / ((v / second_share).sqrt() + EPSILON)) as f32;
            });
        }
    }
}
