//! Signs that training learns nothing although its numbers are still numbers.

use serde::{Deserialize, Serialize};

use super::score::Scores;

/// Share of the pixels, in percent, from which on one class counts as given to all.
const ALL: f64 = 99.9;
/// How many times its first value the data term must be to have risen: epochs of a few steps go up and down by a percent.
const RISEN: f64 = 1.1;

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
}

impl std::fmt::Display for Concern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OneClass => f.write_str("every pixel of the images held back is given one and the same class"),
            Self::Risen { first, now } => {
                write!(f, "the loss has risen: its data term was {first:.3} in epoch 1 and is {now:.3}")
            }
        }
    }
}

impl Concern {
    /// What there is to say of an epoch with this data term and these scores, after one whose data term was `first`.
    pub(super) fn of(data: f64, scores: &Scores, first: Option<f64>) -> Option<Self> {
        let several = scores.iou.iter().flatten().count() > 1;
        if several && scores.commonest.is_some_and(|share| share >= ALL) {
            return Some(Self::OneClass);
        }
        first.filter(|first| data > RISEN * first).map(|first| Self::Risen { first, now: data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_learns_nothing_is_a_concern() {
        let scores = |iou: &[Option<f64>], commonest| Scores { iou: iou.to_vec(), commonest, ..Scores::default() };
        let (two, one) = ([Some(40.0), None, Some(0.0)], [Some(100.0), None, None]);
        assert_eq!(Concern::of(1.0, &scores(&two, Some(100.0)), None), Some(Concern::OneClass));
        assert_eq!(Concern::of(1.0, &scores(&two, Some(80.0)), None), None);
        // Images that have one class only are given it rightly; without images nothing is known.
        assert_eq!(Concern::of(1.0, &scores(&one, Some(100.0)), Some(2.0)), None);
        assert_eq!(Concern::of(1.0, &scores(&[], None), Some(2.0)), None);
        let risen = Concern::of(2.0, &scores(&two, Some(80.0)), Some(1.5)).unwrap();
        assert!(risen.to_string().contains("1.500") && risen.to_string().contains("2.000"), "{risen}");
    }
}
