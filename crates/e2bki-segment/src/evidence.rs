//! Network outputs to evidence, and evidence to an opinion: α = e + 1, S = Σα, p = α/S, u = C/S.

use e2bki::maths::{exp, ln};
use serde::{Deserialize, Serialize};

/// Logits are clamped to ± this value by [`EvidenceFunction::Exp`]: e from 4.5e−5 to 22 026, which fits in half precision.
pub const LOGIT_LIMIT: f64 = 10.0;

/// The evidence function: maps a network output x to evidence e ≥ 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceFunction {
    /// e = exp(clamp(x, −10, 10)), as in the paper.
    #[default]
    Exp,
    /// e = ln(1 + exp x).
    Softplus,
    /// e = max(x, 0).
    Relu,
}

impl EvidenceFunction {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Exp, Self::Softplus, Self::Relu];

    /// Evidence and its derivative with respect to x.
    pub fn evidence(self, x: f64) -> (f64, f64) {
        match self {
            Self::Exp => {
                let e = exp(x.clamp(-LOGIT_LIMIT, LOGIT_LIMIT));
                (e, if x.abs() <= LOGIT_LIMIT { e } else { 0.0 })
            }
            Self::Softplus => {
                let small = exp(-x.abs());
                let sigmoid = if x >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) };
                (x.max(0.0) + ln(1.0 + small), sigmoid)
            }
            Self::Relu => (x.max(0.0), if x > 0.0 { 1.0 } else { 0.0 }),
        }
    }

    /// Derivative with respect to x, given the evidence.
    pub(crate) fn slope(self, x: f64, evidence: f64) -> f64 {
        match self {
            Self::Exp => {
                if x.abs() <= LOGIT_LIMIT {
                    evidence
                } else {
                    0.0
                }
            }
            // e = ln(1 + exp x), so the logistic function of x is 1 − exp(−e).
            Self::Softplus => 1.0 - exp(-evidence),
            Self::Relu => {
                if x > 0.0 {
                    1.0
                } else {
                    0.0
                }
            }
        }
    }

    /// Its name in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exp => "exp",
            Self::Softplus => "softplus",
            Self::Relu => "relu",
        }
    }
}

impl std::str::FromStr for EvidenceFunction {
    type Err = crate::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|a| a.name() == name).ok_or_else(|| {
            crate::Error::Request(format!("`{name}` is not an evidence function; known: exp, softplus, relu"))
        })
    }
}

/// Probabilities and uncertainty of one pixel's evidence; `p` is overwritten with α/S.
pub fn opinion(evidence: &[f32], p: &mut [f32]) -> f32 {
    let total: f32 = evidence.iter().map(|e| e + 1.0).sum();
    for (p, e) in p.iter_mut().zip(evidence) {
        *p = (e + 1.0) / total;
    }
    evidence.len() as f32 / total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_what_its_name_says_and_its_derivative_is_its_slope() {
        for activation in EvidenceFunction::ALL {
            for x in [-30.0_f64, -9.5, -2.0, -0.1, 0.2, 1.0, 5.0, 9.5, 30.0] {
                let (e, slope) = activation.evidence(x);
                let expected = match activation {
                    EvidenceFunction::Exp => x.clamp(-10.0, 10.0).exp(),
                    EvidenceFunction::Softplus => x.exp().ln_1p(),
                    EvidenceFunction::Relu => x.max(0.0),
                };
                assert!((e - expected).abs() <= 1e-12 * expected.max(1e-3), "{activation:?} {x}: {e}");
                let h = 1e-6;
                let difference = (activation.evidence(x + h).0 - activation.evidence(x - h).0) / (2.0 * h);
                assert!((slope - difference).abs() < 1e-6 * slope.max(1.0), "{activation:?} {x}: {slope} {difference}");
                assert!((activation.slope(x, e) - slope).abs() < 1e-12 * slope.max(1.0), "{activation:?} {x}");
            }
        }
    }

    #[test]
    fn an_opinion_is_normalised_and_no_evidence_is_no_opinion() {
        let mut p = [0.0; 3];
        assert_eq!(opinion(&[6.0, 2.0, 1.0], &mut p), 0.25);
        assert_eq!(p, [7.0 / 12.0, 3.0 / 12.0, 2.0 / 12.0]);
        assert_eq!(opinion(&[0.0; 3], &mut p), 1.0);
    }

    #[test]
    fn names_are_read_back() {
        for activation in EvidenceFunction::ALL {
            assert_eq!(activation.name().parse::<EvidenceFunction>().unwrap(), activation);
        }
        assert!("tanh".parse::<EvidenceFunction>().unwrap_err().to_string().contains("softplus"));
    }
}
