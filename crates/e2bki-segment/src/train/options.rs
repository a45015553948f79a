//! Training options.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::loss::Loss;

/// The divergence at pixels without a class (void, sky). The data term ignores them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Void {
    /// Penalises all evidence there: the network learns to be uncertain.
    #[default]
    Unsure,
    /// Not applied: outputs there are arbitrary.
    Ignored,
}

/// Settings of a training run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainOptions {
    /// Width and height of the training images.
    pub size: [usize; 2],
    /// Width multiplier of MobileNetV3-Large.
    pub width: f64,
    /// Number of epochs.
    pub epochs: usize,
    /// Batch size; an incomplete last batch is dropped.
    pub batch: usize,
    /// Initial learning rate; × 0.8 every 5 epochs.
    pub learning_rate: f64,
    /// The loss.
    pub loss: Loss,
    /// Treatment of pixels without a class.
    pub void: Void,
    /// Flip half of the images horizontally (the paper does not).
    pub mirror: bool,
    /// Seed of the initial weights and of the order of the images.
    pub seed: u64,
}

/// Names and descriptions of the presets.
pub const PRESETS: [(&str, &str); 4] = [
    ("small", "a narrow network at low resolution, for two cores"),
    ("paper-rellis", "the paper's settings for RELLIS-3D: 15 epochs, batch 16, 2e-4, 960×600"),
    ("paper-offroad", "the paper's settings for OffRoad: 15 epochs, batch 16, 2e-4, 960×600"),
    ("paper-kitti360", "the paper's settings for KITTI-360: 10 epochs, batch 24, 4e-5, 1408×376"),
];

impl TrainOptions {
    /// The preset of that name.
    pub fn preset(name: &str) -> Result<Self> {
        let paper = Self {
            size: [960, 600],
            width: 1.0,
            epochs: 15,
            batch: 16,
            learning_rate: 2e-4,
            loss: Loss::default(),
            void: Void::Unsure,
            mirror: false,
            seed: 1,
        };
        match name {
            "small" => Ok(Self {
                size: [192, 120],
                width: 0.35,
                epochs: 17,
                batch: 8,
                learning_rate: 3e-3,
                mirror: true,
                ..paper
            }),
            "paper-rellis" | "paper-offroad" => Ok(paper),
            "paper-kitti360" => Ok(Self { size: [1408, 376], epochs: 10, batch: 24, learning_rate: 4e-5, ..paper }),
            _ => {
                let known: Vec<&str> = PRESETS.iter().map(|(name, _)| *name).collect();
                Err(Error::Request(format!("unknown preset `{name}`; known: {}", known.join(", "))))
            }
        }
    }

    /// Learning rate in an epoch, counted from 1.
    pub fn learning_rate_in(&self, epoch: usize) -> f64 {
        self.learning_rate * 0.8_f64.powi(((epoch.max(1) - 1) / 5) as i32)
    }

    /// Checks the ranges.
    pub fn check(&self) -> Result<()> {
        let within = |what: &str, value: f64, low: f64, high: f64| {
            let message = || Error::Request(format!("{what} is {value}; it must be between {low} and {high}"));
            if (low..=high).contains(&value) { Ok(()) } else { Err(message()) }
        };
        within("the width of the images", self.size[0] as f64, 32.0, 4096.0)?;
        within("the height of the images", self.size[1] as f64, 32.0, 4096.0)?;
        within("the number of epochs", self.epochs as f64, 1.0, 10_000.0)?;
        within("the batch size", self.batch as f64, 1.0, 512.0)?;
        within("the learning rate", self.learning_rate, 1e-9, 10.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_the_paper_s_and_the_learning_rate_decays_every_five_epochs() {
        for (name, _) in PRESETS {
            TrainOptions::preset(name).unwrap().check().unwrap();
        }
        let kitti = TrainOptions::preset("paper-kitti360").unwrap();
        assert_eq!((kitti.epochs, kitti.batch, kitti.learning_rate), (10, 24, 4e-5));
        assert_eq!(kitti.learning_rate_in(5), 4e-5);
        assert!((kitti.learning_rate_in(6) - 3.2e-5).abs() < 1e-18);
        assert!((kitti.learning_rate_in(11) - 2.56e-5).abs() < 1e-18);
        assert!(TrainOptions::preset("huge").unwrap_err().to_string().contains("paper-rellis"));
        assert!(TrainOptions { learning_rate: f64::NAN, ..kitti.clone() }.check().is_err());
        assert!(TrainOptions { batch: 0, ..kitti }.check().is_err());
    }
}
