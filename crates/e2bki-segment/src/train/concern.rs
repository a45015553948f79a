//! Signs that training learns nothing although its numbers are still numbers.

use serde::{Deserialize, Serialize};

use super::score::Scores;

/// Share of the pixels, in percent, from which on one class counts as given to all.
const ALL: f64 = 99.9;
/// How many times its first value the data term must be to have risen: epochs of a few steps go up and down by a percent.
const RISEN: f64 = 1.1;
/// How many times its first value the data term still is, after so many epochs, when nothing has been learned.
const STUCK: f64 = 0.98;
const PATIENCE: usize = 5;

/// Why an epoch is worth a warning.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Concern {
    /// All pixels of the images held back are given one class, although they have several.
    OneClass,
    /// The data term is clearly higher than it was in the first epoch.
    Risen {
        /// What it was then.
        first: f64,
        /// What it is.
        now: f64,
    },
    /// The data term is what it was in the first epoch.
    Stuck {
        /// What it was then.
        first: f64,
        /// How many epochs there were.
        epochs: usize,
    },
}

impl std::fmt::Display for Concern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OneClass => f.write_str("every pixel of the images held back is given one and the same class"),
            Self::Risen { first, now } => {
                write!(f, "the loss has risen: its data term was {first:.3} in epoch 1 and is {now:.3}")
            }
            Self::Stuck { first, epochs } => {
                write!(f, "the loss does not fall: its data term was {first:.3} in epoch 1 and still is after {epochs}")
            }
        }
    }
}

impl Concern {
    /// What there is to say of epoch `number` with this data term and these scores, after one whose data term was `first`.
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

    /// Whether shorter steps are the first thing to try.
    pub fn wants_shorter_steps(&self) -> bool {
        !matches!(self, Self::Stuck { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_learns_nothing_is_a_concern() {
        let scores = |iou: &[Option<f64>], commonest| Scores { iou: iou.to_vec(), commonest, ..Scores::default() };
        let (two, one) = ([Some(40.0), None, Some(0.0)], [Some(100.0), None, None]);
        assert_eq!(Concern::of(2, 1.0, &scores(&two, Some(100.0)), None), Some(Concern::OneClass));
        assert_eq!(Concern::of(2, 1.0, &scores(&two, Some(80.0)), None), None);
        // Images that have one class only are given it rightly; without images nothing is known.
        assert_eq!(Concern::of(2, 1.0, &scores(&one, Some(100.0)), Some(2.0)), None);
        assert_eq!(Concern::of(2, 1.0, &scores(&[], None), Some(2.0)), None);
        // Epochs go up and down: only after some of them a loss that stays the same says something.
        let learns = scores(&two, Some(80.0));
        assert_eq!(Concern::of(4, 1.0, &learns, Some(1.0)), None);
        assert_eq!(Concern::of(5, 1.0, &learns, Some(1.0)), Some(Concern::Stuck { first: 1.0, epochs: 5 }));
        assert_eq!(Concern::of(5, 0.9, &learns, Some(1.0)), None);
        let risen = Concern::of(2, 2.0, &scores(&two, Some(80.0)), Some(1.5)).unwrap();
        assert!(risen.to_string().contains("1.500") && risen.to_string().contains("2.000"), "{risen}");
    }
}
