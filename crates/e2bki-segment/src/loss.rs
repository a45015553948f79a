//! Evidential losses of one pixel and their gradients with respect to the network's outputs, in closed form.
//!
//! A data term (log, digamma or mean square) rewards evidence for the true class y; the divergence of the other classes'
//! Dirichlet from the uniform one (KL) penalises wrong evidence. Everything is computed in double precision.

use serde::{Deserialize, Serialize};

use crate::evidence::EvidenceFunction;
use crate::special::gamma;

/// The data term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataTerm {
    /// ln S − ln α_y, as in the paper.
    #[default]
    Log,
    /// ψ(S) − ψ(α_y): the expected cross-entropy.
    Digamma,
    /// Σ (y − p)² + p(1 − p)/(S + 1): the expected square error.
    Mse,
}

impl DataTerm {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Log, Self::Digamma, Self::Mse];

    /// Its name in files and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Digamma => "digamma",
            Self::Mse => "mse",
        }
    }
}

impl std::str::FromStr for DataTerm {
    type Err = crate::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|term| term.name() == name)
            .ok_or_else(|| crate::Error::Request(format!("`{name}` is not a loss; known: log, digamma, mse")))
    }
}

/// Weight λ of the divergence in an epoch, counted from 1: epoch / 120 (paper).
pub fn annealed(epoch: usize) -> f64 {
    epoch as f64 / 120.0
}

/// A loss.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Loss {
    /// The data term.
    pub data: DataTerm,
    /// The evidence function.
    pub activation: EvidenceFunction,
}

/// Loss of one pixel.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PixelLoss {
    /// The data term; 0 for a pixel without a class.
    pub data: f64,
    /// The KL divergence, unweighted.
    pub divergence: f64,
}

impl Loss {
    /// Loss of a pixel with these outputs; `gradient` receives the derivative of data + `weight` · divergence.
    /// A pixel without a class (void, sky) has no data term, and all of its evidence counts as wrong.
    pub fn pixel(&self, outputs: &[f32], class: Option<usize>, weight: f64, gradient: &mut [f64]) -> PixelLoss {
        let mut total = outputs.len() as f64;
        for (slot, x) in gradient.iter_mut().zip(outputs) {
            let (e, _) = self.activation.evidence(f64::from(*x));
            total += e;
            *slot = e + 1.0;
        }
        // `gradient` holds α until it is overwritten class by class.
        let data = class.map_or(0.0, |y| self.data_term(gradient, total, y));
        let wrong = (weight > 0.0).then(|| KlDivergence::of(gradient, total, class));
        let mut divergence = wrong.as_ref().map_or(0.0, |wrong| wrong.start);
        let squares: f64 = match self.data {
            DataTerm::Mse => gradient.iter().map(|alpha| (alpha / total) * (alpha / total)).sum(),
            _ => 0.0,
        };
        let of_total = match self.data {
            DataTerm::Digamma if class.is_some() => gamma(total).trigamma,
            _ => 0.0,
        };
        let true_share = class.map_or(0.0, |y| gradient[y] / total);
        for (c, (slot, x)) in gradient.iter_mut().zip(outputs).enumerate() {
            let alpha = *slot;
            let is_class = class == Some(c);
            let mut grad_alpha = 0.0;
            if class.is_some() {
                grad_alpha = match self.data {
                    DataTerm::Log => 1.0 / total - if is_class { 1.0 / alpha } else { 0.0 },
                    DataTerm::Digamma => of_total - if is_class { gamma(alpha).trigamma } else { 0.0 },
                    DataTerm::Mse => {
                        let (y, p) = (if is_class { 1.0 } else { 0.0 }, alpha / total);
                        let miss = -2.0 / total * ((y - p) - (true_share - squares));
                        let spread = -2.0 * (p - squares) / (total * (total + 1.0))
                            - (1.0 - squares) / ((total + 1.0) * (total + 1.0));
                        miss + spread
                    }
                };
            }
            if let Some(wrong) = wrong.as_ref().filter(|_| !is_class) {
                let (value, slope) = wrong.term(alpha);
                divergence += value;
                grad_alpha += weight * slope;
            }
            *slot = grad_alpha * self.activation.slope(f64::from(*x), alpha - 1.0);
        }
        PixelLoss { data, divergence }
    }

    fn data_term(&self, alpha: &[f64], total: f64, y: usize) -> f64 {
        match self.data {
            DataTerm::Log => e2bki::maths::ln(total) - e2bki::maths::ln(alpha[y]),
            DataTerm::Digamma => gamma(total).digamma - gamma(alpha[y]).digamma,
            DataTerm::Mse => {
                let term = |(c, alpha): (usize, &f64)| {
                    let (target, p) = (if c == y { 1.0 } else { 0.0 }, alpha / total);
                    (target - p) * (target - p) + p * (1.0 - p) / (total + 1.0)
                };
                alpha.iter().enumerate().map(term).sum()
            }
        }
    }
}

/// KL(Dir(α̂) ‖ Dir(1)) with α̂ = α, but 1 for the true class: the terms shared by all classes.
struct KlDivergence {
    /// lnΓ(Â) − lnΓ(C).
    start: f64,
    /// ψ(Â).
    digamma: f64,
    /// ψ′(Â)(Â − C).
    of_total: f64,
}

impl KlDivergence {
    fn of(alpha: &[f64], total: f64, class: Option<usize>) -> Self {
        let classes = alpha.len() as f64;
        let total = total - class.map_or(0.0, |y| alpha[y] - 1.0);
        let all = gamma(total);
        Self { start: all.ln - gamma(classes).ln, digamma: all.digamma, of_total: all.trigamma * (total - classes) }
    }

    /// The term of one wrong class, and the derivative of the whole divergence with respect to its α.
    fn term(&self, alpha: f64) -> (f64, f64) {
        let one = gamma(alpha);
        ((alpha - 1.0) * (one.digamma - self.digamma) - one.ln, (alpha - 1.0) * one.trigamma - self.of_total)
    }
}
