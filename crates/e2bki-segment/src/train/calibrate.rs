//! Calibration of a trained network on held-out images: one temperature and one scale of evidence.

use super::samples::Samples;
use super::score::{ScoreAccumulator, Scores, outputs};
use crate::error::Result;
use crate::infer::Output;
use crate::network::Weights;

/// Candidate temperatures.
const TEMPERATURES: [f32; 9] = [0.5, 0.6, 0.75, 0.85, 1.0, 1.2, 1.4, 1.7, 2.0];
/// Candidate scales of evidence.
const SCALES: [f32; 11] = [0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5, 2.5, 5.0, 10.0];

/// Result of a calibration.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    /// Scores before calibration.
    pub before: Scores,
    /// Scores after calibration.
    pub after: Scores,
    /// Outputs are divided by this.
    pub temperature: f32,
    /// Evidence is multiplied by this.
    pub evidence_scale: f32,
}

/// Chooses the temperature and scale of evidence with the smallest sum of the calibration errors of 1 − u and of the
/// predicted class's probability, and stores them in the network's description. Predictions do not change: both are
/// monotone.
pub fn calibrate(weights: &mut Weights, samples: &Samples) -> Result<Calibrated> {
    let original = weights.metadata().description.output.clone();
    let classes = weights.metadata().architecture.classes;
    let candidates: Vec<Output> = std::iter::once(original.clone())
        .chain(TEMPERATURES.iter().flat_map(|t| {
            let original = &original;
            SCALES.iter().map(move |s| Output { temperature: *t, evidence_scale: *s, ..original.clone() })
        }))
        .collect();
    let mut sums: Vec<ScoreAccumulator> = candidates.iter().map(|_| ScoreAccumulator::new(classes)).collect();
    outputs(weights, samples, |outputs, labels| {
        use rayon::prelude::*;
        sums.par_iter_mut().zip(&candidates).for_each(|(sums, output)| sums.add(outputs, labels, output));
    })?;
    let scores: Vec<Scores> = sums.iter().map(ScoreAccumulator::scores).collect();
    let error = |s: &Scores| s.ece.unwrap_or(f64::INFINITY) + s.ece_probability.unwrap_or(f64::INFINITY);
    let mut best = 0;
    for (i, score) in scores.iter().enumerate() {
        if error(score) < error(&scores[best]) {
            best = i;
        }
    }
    let output = &mut weights.metadata_mut().description.output;
    (output.temperature, output.evidence_scale) = (candidates[best].temperature, candidates[best].evidence_scale);
    Ok(Calibrated {
        before: scores[0].clone(),
        after: scores[best].clone(),
        temperature: candidates[best].temperature,
        evidence_scale: candidates[best].evidence_scale,
    })
}
