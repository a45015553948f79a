//! How far a source is trusted: a factor of its log-evidence.

use super::part::Part;
use crate::error::{Error, Result};

/// Parts of the factor.
const STEPS: f64 = 256.0;

/// A factor of log-evidence, in steps of 1/256 from 1/256 to 16: half the log-evidence is half as many witnesses.
///
/// A product is rounded down to the quantum of log-evidence, 2⁻³². It is made once for each cube and class of a submap,
/// from the sums as they were inserted, and what is added to the map is the product: a map of trusted submaps is a sum
/// like any other, and a submap is taken out of it exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trust(u16);

impl Trust {
    /// Every observation counts in full.
    pub const FULL: Self = Self(256);

    /// The nearest factor there is. Fails for what is not from 1/256 to 16.
    pub fn new(factor: f64) -> Result<Self> {
        let steps = (factor * STEPS).round();
        if !(1.0..=16.0 * STEPS).contains(&steps) {
            let allowed = "1/256 to 16 (to ignore a source, leave it out or take it out)".into();
            return Err(Error::Argument { name: "trust", found: factor.to_string(), allowed });
        }
        Ok(Self(steps as u16))
    }

    /// The factor.
    pub fn factor(self) -> f64 {
        f64::from(self.0) / STEPS
    }

    /// The product with log-evidence in quanta, rounded down.
    fn of_evidence(self, quanta: i64) -> i64 {
        let product = i128::from(quanta) * i128::from(self.0) / i128::from(Self::FULL.0);
        // Beyond what any sum may be it is refused.
        i64::try_from(product).unwrap_or(i64::MAX)
    }
}

impl Part {
    /// The part with its log-evidence times a factor; nothing if the factor is 1.
    pub(super) fn trusted(&self, trust: Trust) -> Option<Self> {
        (trust != Trust::FULL).then(|| self.with_evidence(|value| trust.of_evidence(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_exact_steps_and_products_exact_log_evidence() {
        assert_eq!(Trust::new(0.5).unwrap().factor(), 0.5);
        assert_eq!(Trust::new(1.0).unwrap(), Trust::FULL);
        assert_eq!(Trust::new(0.3).unwrap().factor(), 77.0 / 256.0);
        for bad in [0.0, -1.0, 17.0, 0.001, f64::NAN, f64::INFINITY] {
            assert!(Trust::new(bad).is_err(), "{bad}");
        }
        let third = Trust::new(1.0 / 3.0).unwrap();
        for value in [0, 1, 7 << 30, 1_234 << 32, 1 << 61] {
            let scaled = third.of_evidence(value);
            let exact = value / 256 * 85 + value % 256 * 85 / 256;
            assert_eq!((scaled, Trust::FULL.of_evidence(value)), (exact, value));
        }
        assert_eq!(Trust::new(16.0).unwrap().of_evidence(1 << 61), i64::MAX);
    }
}
