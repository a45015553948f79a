//! How well confidence predicts being right: Brier score, expected calibration error, reliability diagram.

use serde::{Deserialize, Serialize};

/// Number of bins of the expected calibration error; the last is closed at 1 (docs/method.md#calibration-bins).
pub const BINS: usize = 15;

/// Answers of similar confidence.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bin {
    /// Number of answers.
    pub count: u64,
    /// Number of right answers.
    pub right: u64,
    /// Sum of their confidence.
    pub confidence: f64,
}

/// A point of a reliability diagram, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// Mean confidence of the bin's answers.
    pub confidence: f64,
    /// Share of them that is right.
    pub accuracy: f64,
    /// Their share of all answers.
    pub share: f64,
}

/// Confidences of right and wrong answers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calibration {
    bins: [Bin; BINS],
    squares: f64,
}

impl Calibration {
    /// One answer: whether it is right, and its confidence, which is clamped to [0, 1]; NaN counts as 0.
    pub fn add(&mut self, right: bool, confidence: f64) {
        let confidence = if confidence.is_nan() { 0.0 } else { confidence.clamp(0.0, 1.0) };
        let outcome = f64::from(u8::from(right));
        self.squares += (outcome - confidence) * (outcome - confidence);
        let bin = &mut self.bins[((confidence * BINS as f64) as usize).min(BINS - 1)];
        bin.count += 1;
        bin.right += u64::from(right);
        bin.confidence += confidence;
    }

    /// Adds the answers of another.
    pub fn merge(&mut self, other: &Self) {
        for (bin, other) in self.bins.iter_mut().zip(&other.bins) {
            bin.count += other.count;
            bin.right += other.right;
            bin.confidence += other.confidence;
        }
        self.squares += other.squares;
    }

    /// Number of answers.
    pub fn count(&self) -> u64 {
        self.bins.iter().map(|bin| bin.count).sum()
    }

    /// Brier score in percent: mean of (\[right\] − confidence)².
    pub fn brier(&self) -> Option<f64> {
        (self.count() > 0).then(|| 100.0 * self.squares / self.count() as f64)
    }

    /// Expected calibration error in percent: mean distance of confidence and accuracy, bin by bin.
    pub fn ece(&self) -> Option<f64> {
        let gap: f64 = self.bins.iter().map(|bin| (bin.right as f64 - bin.confidence).abs()).sum();
        (self.count() > 0).then(|| 100.0 * gap / self.count() as f64)
    }

    /// The bins that hold answers, by ascending confidence.
    pub fn reliability(&self) -> Vec<ReliabilityBin> {
        let all = self.count() as f64;
        let filled = self.bins.iter().filter(|bin| bin.count > 0);
        filled
            .map(|bin| ReliabilityBin {
                confidence: 100.0 * bin.confidence / bin.count as f64,
                accuracy: 100.0 * bin.right as f64 / bin.count as f64,
                share: 100.0 * bin.count as f64 / all,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_match_a_calculation_by_hand() {
        let mut calibration = Calibration::default();
        for (right, confidence) in [(true, 1.0), (true, 1.0), (false, 0.5), (true, 0.8), (true, 0.8)] {
            calibration.add(right, confidence);
        }
        let close = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-9;
        assert!(close(calibration.brier(), 100.0 * (0.25 + 2.0 * 0.04) / 5.0));
        assert!(close(calibration.ece(), 100.0 * (0.5 + 0.4) / 5.0));
        let curve = calibration.reliability();
        assert_eq!(curve.len(), 3);
        assert_eq!((curve[2].confidence, curve[2].accuracy, curve[2].share), (100.0, 100.0, 40.0));
    }

    #[test]
    fn edges_belong_to_the_bin_above_and_one_to_the_last() {
        let mut calibration = Calibration::default();
        calibration.add(true, 1.0);
        calibration.add(true, 14.0 / 15.0 + 1e-12);
        calibration.add(true, 0.0);
        calibration.add(false, f64::NAN);
        calibration.add(false, -3.0);
        assert_eq!(calibration.bins[14].count, 2);
        assert_eq!(calibration.bins[0].count, 3);
        let nothing = Calibration::default();
        assert!(nothing.brier().is_none() && nothing.ece().is_none() && nothing.reliability().is_empty());
    }
}
