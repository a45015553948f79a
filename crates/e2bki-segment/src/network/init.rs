//! Weight initialisation.

use std::collections::BTreeMap;

use e2bki::random::{SPLIT_MIX_STEP, split_mix64};

use super::plan::Plan;
use super::weights::{Metadata, Weights};
use crate::error::{Error, Result};

/// Pseudo-random number generator (SplitMix64), the same on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        let value = split_mix64(self.0);
        self.0 = self.0.wrapping_add(SPLIT_MIX_STEP);
        value
    }

    /// Uniform in [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Approximately normal, mean 0 and variance 1: the sum of twelve uniform numbers.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// A random permutation of `0..count`.
    pub(crate) fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..count).collect();
        for i in (1..count).rev() {
            all.swap(i, (self.next() % (i as u64 + 1)) as usize);
        }
        all
    }
}

impl Weights {
    /// Weights given by a function of each parameter's name and shape.
    pub fn from_fn(metadata: Metadata, mut values: impl FnMut(&str, &[usize]) -> Vec<f32>) -> Result<Self> {
        let plan = Plan::new(metadata.architecture)?;
        let mut all = BTreeMap::new();
        for (name, shape) in plan.parameters() {
            let (given, expected) = (values(&name, &shape), shape.iter().product::<usize>());
            if given.len() != expected {
                return Err(Error::Request(format!("`{name}` has {} values, not {expected}", given.len())));
            }
            all.insert(name, given);
        }
        Ok(Self::from_values(metadata, all))
    }

    /// Randomly initialised weights: Kaiming (fan-out) for convolutions, identity for batch normalisation.
    pub fn random(metadata: Metadata, seed: u64) -> Result<Self> {
        let mut rng = Rng::new(seed);
        Self::from_fn(metadata, |name, shape| {
            let count: usize = shape.iter().product();
            match shape {
                [outputs, inputs, height, width] => {
                    // A depthwise convolution has one output for each of its inputs.
                    let fan_out = if *inputs == 1 { height * width } else { outputs * height * width };
                    let last = name.contains("_classifier");
                    let deviation = if last { 0.01 } else { (2.0 / fan_out as f64).sqrt() };
                    (0..count).map(|_| (deviation * rng.normal()) as f32).collect()
                }
                // One axis: scale and running variance of a normalisation.
                _ if name.ends_with("running_var") || name.ends_with("weight") => vec![1.0; count],
                _ => vec![0.0; count],
            }
        })
    }
}
