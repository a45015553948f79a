//! Evaluation on held-out images: IoU, accuracy, calibration.

use e2bki_eval::{Calibration, Tally};
use serde::{Deserialize, Serialize};

use super::samples::{Samples, class_of};
use crate::error::Result;
use crate::evidence::opinion;
use crate::infer::{Output, decode_cell};
use crate::network::{InferenceNetwork, Tensor, Weights};

/// Images per batch.
const BATCH: usize = 8;

/// Scores in percent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Scores {
    /// Mean IoU over the classes that occur.
    pub miou: Option<f64>,
    /// IoU by class.
    pub iou: Vec<Option<f64>>,
    /// Pixel accuracy.
    pub accuracy: Option<f64>,
    /// Share of the labelled pixels that got the most frequently predicted class.
    #[serde(default)]
    pub commonest: Option<f64>,
    /// Calibration error of the confidence 1 − u.
    pub ece: Option<f64>,
    /// Calibration error of the probability of the chosen class.
    pub ece_probability: Option<f64>,
    /// Negative log-likelihood: the mean of −ln p of the true class.
    pub surprise: Option<f64>,
    /// Mean uncertainty of labelled pixels.
    pub uncertainty: Option<f64>,
    /// Mean uncertainty of pixels without a class.
    pub uncertainty_of_void: Option<f64>,
}

/// Runs a network on samples, batch by batch: `take` gets outputs and labels.
pub(super) fn outputs(weights: &Weights, samples: &Samples, mut take: impl FnMut(&Tensor, &[u16])) -> Result<()> {
    let network = InferenceNetwork::new(weights)?;
    let mut logits = Tensor::new(0, 0, 0, 0);
    let all: Vec<usize> = (0..samples.len()).collect();
    for which in all.chunks(BATCH) {
        let (images, labels) = samples.batch(which, &weights.metadata().description.input, None);
        network.forward_into(&images, &mut logits);
        take(&logits, &labels);
    }
    Ok(())
}

/// Scores of a network, its outputs decoded by its description.
pub fn score(weights: &Weights, samples: &Samples) -> Result<Scores> {
    let output = weights.metadata().description.output.clone();
    let mut sums = ScoreAccumulator::new(weights.metadata().architecture.classes);
    outputs(weights, samples, |outputs, labels| sums.add(outputs, labels, &output))?;
    Ok(sums.scores())
}

/// Accumulates scores.
pub(super) struct ScoreAccumulator {
    tally: Tally,
    /// Predictions by class.
    predicted: Vec<u64>,
    confidence: Calibration,
    probability: Calibration,
    surprise: f64,
    labelled: u64,
    void: u64,
    uncertainty: [f64; 2],
}

impl ScoreAccumulator {
    pub(super) fn new(classes: usize) -> Self {
        Self {
            tally: Tally::new(classes),
            predicted: vec![0; classes],
            confidence: Calibration::default(),
            probability: Calibration::default(),
            surprise: 0.0,
            labelled: 0,
            void: 0,
            uncertainty: [0.0; 2],
        }
    }

    pub(super) fn add(&mut self, outputs: &Tensor, labels: &[u16], output: &Output) {
        let (classes, plane) = (outputs.channels, outputs.plane());
        let (mut cell, mut p) = (vec![0.0; classes], vec![0.0; classes]);
        for (at, label) in labels.iter().enumerate() {
            for (c, value) in cell.iter_mut().enumerate() {
                *value = outputs.values[c * plane + at];
            }
            decode_cell(&mut cell, output);
            let u = f64::from(opinion(&cell, &mut p));
            let Some(truth) = class_of(*label, classes) else {
                self.void += 1;
                self.uncertainty[1] += u;
                continue;
            };
            let answer = e2bki::maths::argmax(&p);
            self.labelled += 1;
            self.uncertainty[0] += u;
            self.tally.add(truth, Some(answer));
            self.predicted[answer] += 1;
            self.confidence.add(answer == truth, 1.0 - u);
            self.probability.add(answer == truth, f64::from(p[answer]));
            self.surprise -= e2bki::maths::ln(f64::from(p[truth]).max(1e-30));
        }
    }

    pub(super) fn scores(&self) -> Scores {
        let score = self.tally.score();
        let mean = |sum: f64, count: u64| (count > 0).then(|| sum / count as f64);
        Scores {
            miou: score.miou,
            iou: score.iou,
            accuracy: score.acc,
            commonest: self.predicted.iter().max().and_then(|most| mean(100.0 * *most as f64, self.labelled)),
            ece: self.confidence.ece(),
            ece_probability: self.probability.ece(),
            surprise: mean(self.surprise, self.labelled),
            uncertainty: mean(100.0 * self.uncertainty[0], self.labelled),
            uncertainty_of_void: mean(100.0 * self.uncertainty[1], self.void),
        }
    }
}
