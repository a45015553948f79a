//! From sums to everything that is derived from them.

use super::slots::Core;
use crate::config::{Config, Distance, Shape};
use crate::kernel::Form;
use crate::maths::{exp, mahalanobis_threshold_2d, mahalanobis_threshold_3d};
use crate::primitive::{Ellipsoid, opinion_of, witnesses_per_point};

/// How sums become an ellipsoid, an opinion and a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Recipe {
    /// Mahalanobis threshold of the ellipsoid (paper: τ).
    tau: f64,
    shape: Shape,
    distance: Distance,
    /// ℓβ, metres.
    reach: f64,
    /// Correlation between the errors of a primitive's points.
    pub(crate) correlation: f64,
    /// The same for its weight in the posterior.
    vote_correlation: f64,
    /// Growth of the reach for every 10 m of range.
    growth: f64,
}

impl Recipe {
    pub(crate) fn solid(config: &Config) -> Self {
        Self {
            tau: mahalanobis_threshold_3d(config.kernel.ellipsoid_mass),
            shape: config.kernel.shape,
            distance: config.kernel.distance,
            reach: config.kernel.length_scale * config.kernel.uncertainty_sensitivity,
            correlation: config.fusion.correlation,
            vote_correlation: config.kernel.vote_correlation,
            growth: config.kernel.reach_growth,
        }
    }

    pub(crate) fn planar(config: &Config) -> Self {
        Self { tau: mahalanobis_threshold_2d(config.kernel.ellipsoid_mass), ..Self::solid(config) }
    }

    pub(crate) fn ellipsoid(&self, core: &Core) -> Ellipsoid {
        Ellipsoid::of_gaussian(core.mean, core.sums.covariance(), self.tau, self.shape)
    }

    /// How much a primitive counts in the posterior: 1 for one point, and as many as it has independent witnesses.
    #[inline(always)]
    pub(crate) fn votes(&self, core: &Core) -> f32 {
        let weight = core.sums.weight;
        (weight * witnesses_per_point(weight, self.vote_correlation)) as f32
    }

    /// The kernel of a judged primitive.
    pub(crate) fn form_of(&self, core: &Core) -> Form {
        let spread = 1.0 + self.growth * (0.1 * core.sums.mean_range()).min(crate::config::MOST_SPREAD);
        let reach = if core.muted { 0.0 } else { self.reach * exp(1.0 - f64::from(core.uncertainty)) * spread };
        Form::new(&self.ellipsoid(core), reach, self.distance)
    }
}

impl Core {
    /// Derives mean and opinion from the sums, for a correlation between the errors of its points; the kernel is a
    /// matter of the recipe.
    pub(crate) fn judge(&mut self, log_evidence: &[i64], correlation: f64, probability: &mut [f32]) {
        self.mean = self.sums.mean();
        let factor = witnesses_per_point(self.sums.weight, correlation);
        let opinion = opinion_of(log_evidence, factor, probability);
        self.label = opinion.label as u16;
        self.plausible = plausible(probability);
        self.uncertainty = opinion.uncertainty as f32;
        self.ln_uncertainty = opinion.ln_uncertainty as f32;
    }
}

/// Classes that can be the most likely one where this primitive reaches: the winner of a mixture has at least 1/C of
/// it, so a class below 1/C in every part cannot win.
fn plausible(probability: &[f32]) -> u64 {
    if probability.len() > 64 {
        return u64::MAX;
    }
    let least = 0.99 / probability.len() as f32;
    probability.iter().enumerate().fold(0, |bits, (class, p)| bits | u64::from(*p >= least) << class)
}
