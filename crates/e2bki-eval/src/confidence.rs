//! Ways to read a confidence from a belief (docs/method.md#confidence).

use e2bki::Belief;
use serde::{Deserialize, Serialize};

/// A way to read a confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// 1 − (u_sem + u_spa): the uncertainty as the map decomposes it.
    Decomposed,
    /// 1 − Var/0.25: the Dirichlet variance of the label over its largest possible value.
    Variance,
    /// 1 − (Var − min)/(max − min), over the occupied voxels of the map.
    MinMax,
}

impl Confidence {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::Decomposed, Self::Variance, Self::MinMax];

    /// Its name in tables and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Decomposed => "decomposed",
            Self::Variance => "variance",
            Self::MinMax => "min-max",
        }
    }

    /// The confidence of a belief.
    pub fn of(self, belief: &Belief, range: VarianceRange) -> f64 {
        match self {
            Self::Decomposed => 1.0 - belief.uncertainty(),
            Self::Variance => 1.0 - (belief.variance() / 0.25).clamp(0.0, 1.0),
            Self::MinMax => 1.0 - range.scale(belief.variance()),
        }
    }
}

/// Smallest and largest variance over the occupied places of a map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VarianceRange {
    low: f64,
    high: f64,
}

impl VarianceRange {
    /// The range over beliefs; those that hold nothing are left out.
    pub fn of(beliefs: impl Iterator<Item = Belief>) -> Self {
        let nothing = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };
        beliefs
            .filter(Belief::observed)
            .map(|belief| belief.variance())
            .fold(nothing, |range, v| Self { low: range.low.min(v), high: range.high.max(v) })
    }

    /// Where a variance lies in the range, 0 to 1; 0 where the range is a single value or empty.
    pub fn scale(self, variance: f64) -> f64 {
        let width = self.high - self.low;
        if width > 0.0 { ((variance - self.low) / width).clamp(0.0, 1.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::Beliefs;
    use e2bki::config::Sparsity;

    #[test]
    fn each_reading_matches_its_formula() {
        // Two classes, no prior: (3, 1), (1, 1) and nothing; Σ k and Σ k u follow.
        let sums = vec![3.0, 1.0, 4.0, 1.0, 1.0, 1.0, 2.0, 1.0, 0.0, 0.0, 0.0, 0.0];
        let beliefs = Beliefs::from_sums(2, 0.0, Sparsity::Literal, sums);
        let range = VarianceRange::of(beliefs.iter());
        let belief = beliefs.get(0);
        let variance = 0.75 * 0.25 / 5.0;
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        close(Confidence::Variance.of(&belief, range), 1.0 - 4.0 * variance);
        close(Confidence::Decomposed.of(&belief, range), 1.0 - 0.25 - 1.0 / (4.0 * 5.0));
        // The other belief has variance 0.25/3, the largest; this one has the smallest.
        close(Confidence::MinMax.of(&belief, range), 1.0);
        close(Confidence::MinMax.of(&beliefs.get(1), range), 0.0);
        let nothing = VarianceRange::of(std::iter::empty());
        close(Confidence::MinMax.of(&belief, nothing), 1.0);
    }
}
