//! Warnings: signs that training is not working although the loss is finite.

use serde::{Deserialize, Serialize};

use super::score::Scores;

/// Share of the pixels, in percent, from which one class counts as predicted everywhere.
const ALL: f64 = 99.9;
/// The data term has risen when it is this many times its first value: short epochs fluctuate by a percent.
const RISEN: f64 = 1.1;
/// The data term is stuck when it is still this many times its first value after [`PATIENCE`] epochs.
const STUCK: f64 = 0.98;
const PATIENCE: usize = 5;

/// A warning about an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Warning {
    /// One class is predicted for all pixels of the validation images, although they have several.
    OneClass,
    /// The data term is clearly higher than it was in the first epoch.
    Risen {
        /// Its value then.
        first: f64,
        /// Its value now.
        now: f64,
    },
    /// The data term has not fallen since the first epoch.
    Stuck {
        /// Its value then.
        first: f64,
        /// Epochs so far.
        epochs: usize,
    },
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OneClass => f.write_str("the same class is predicted for every pixel of the validation images"),
            Self::Risen { first, now } => {
                write!(f, "the loss has risen: its data term was {first:.3} in epoch 1 and is now {now:.3}")
            }
            Self::Stuck { first, epochs } => {
                write!(
                    f,
                    "the loss is not falling: its data term was {first:.3} in epoch 1 and still is after {epochs} epochs"
                )
            }
        }
    }
}

impl Warning {
    /// The warning for epoch `number` with this data term and these scores; `first` is the data term of epoch 1.
    pub(super) fn of(number: usize, data: f64, scores: &Scores, first: Option<f64>) -> Option<Self> {
        let several = scores.iou.iter().flatten().count() > 1;
        if several && scores.commonest.is_some_and(|share| share >= ALL) {
            return Some(Self::OneClass);
        }
        match first? {
            first if data > RISEN * first => Some(Self::Risen { first, now: data }),
            first if data > STUCK * first && number >= PATIENCE => Some(Self::Stuck { first, epochs: number }),
            _ => None,
        }
    }

    /// Whether a lower learning rate is the first thing to try.
    pub fn suggests_lower_learning_rate(&self) -> bool {
        !matches!(self, Self::Stuck { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_training_that_does_not_work_is_warned_of() {
        let scores = |iou: &[Option<f64>], commonest| Scores { iou: iou.to_vec(), commonest, ..Scores::default() };
        let (two, one) = ([Some(40.0), None, Some(0.0)], [Some(100.0), None, None]);
        assert_eq!(Warning::of(2, 1.0, &scores(&two, Some(100.0)), None), Some(Warning::OneClass));
        assert_eq!(Warning::of(2, 1.0, &scores(&two, Some(80.0)), None), None);
        // Images of a single class may be predicted so; without images nothing is known.
        assert_eq!(Warning::of(2, 1.0, &scores(&one, Some(100.0)), Some(2.0)), None);
        assert_eq!(Warning::of(2, 1.0, &scores(&[], None), Some(2.0)), None);
        // Epochs fluctuate: a constant loss means something only after a few of them.
        let falling = scores(&two, Some(80.0));
        assert_eq!(Warning::of(4, 1.0, &falling, Some(1.0)), None);
        assert_eq!(Warning::of(5, 1.0, &falling, Some(1.0)), Some(Warning::Stuck { first: 1.0, epochs: 5 }));
        assert_eq!(Warning::of(5, 0.9, &falling, Some(1.0)), None);
        let risen = Warning::of(2, 2.0, &scores(&two, Some(80.0)), Some(1.5)).unwrap();
        assert!(risen.to_string().contains("1.500") && risen.to_string().contains("2.000"), "{risen}");
    }
}
