//! From sums to everything that is derived from them.

use std::sync::Arc;

use super::slots::Core;
use super::surfaces::Surface;
use crate::config::{Config, Distance, MOST_GROWN_M, MOST_SPREAD, Profile, Reach, Shape};
use crate::kernel::{Form, quadratic_kernel, root_of_inverse, sparse_kernel};
use crate::maths::{exp, mahalanobis_threshold_2d, mahalanobis_threshold_3d};
use crate::primitive::{Ellipsoid, opinion_of, witnesses_per_point};

/// How sums become an ellipsoid, an opinion and a kernel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Recipe {
    /// Mahalanobis threshold of the ellipsoid (paper: τ).
    tau: f64,
    shape: Shape,
    /// Whether height is dropped: a mean over directions is one over two of them.
    planar: bool,
    distance: Distance,
    /// ℓβ, metres.
    reach: f64,
    /// How far the kernel reaches across a surface, metres, if it follows surfaces.
    across: Option<f64>,
    /// Correlation between the errors of a primitive's points.
    pub(crate) correlation: f64,
    /// The same for its weight in the posterior.
    vote_correlation: f64,
    /// Growth of the reach for every 10 m of range.
    growth: f64,
    /// Whether it grows on planes only.
    on_planes: bool,
    profile: Profile,
    /// How many times as far the kernels of each class reach; empty: all as far.
    of_class: Arc<[f32]>,
}

impl Recipe {
    pub(crate) fn solid(config: &Config) -> Self {
        Self {
            tau: mahalanobis_threshold_3d(config.kernel.ellipsoid_mass),
            shape: config.kernel.shape,
            planar: false,
            distance: config.kernel.distance,
            reach: config.kernel.length_scale * config.kernel.uncertainty_sensitivity,
            across: (config.kernel.reach == Reach::Surface).then_some(config.kernel.reach_across),
            correlation: config.lifetime_correlation(),
            vote_correlation: config.kernel.vote_correlation,
            growth: config.kernel.reach_growth,
            on_planes: config.grows_on_planes(),
            profile: config.kernel.profile,
            of_class: config.kernel.class_reach.of_classes().into(),
        }
    }

    pub(crate) fn planar(config: &Config) -> Self {
        Self { tau: mahalanobis_threshold_2d(config.kernel.ellipsoid_mass), planar: true, ..Self::solid(config) }
    }

    pub(crate) fn ellipsoid(&self, core: &Core) -> Ellipsoid {
        let of = if self.planar { Ellipsoid::of_flat_gaussian } else { Ellipsoid::of_gaussian };
        of(core.mean, core.sums.covariance(), self.tau, self.shape)
    }

    /// How much a primitive counts in the posterior: 1 for one point, and as many as it has independent witnesses.
    #[inline(always)]
    pub(crate) fn votes(&self, core: &Core) -> f32 {
        let weight = core.sums.weight;
        (weight * witnesses_per_point(weight, self.vote_correlation)) as f32
    }

    /// Whether kernels follow surfaces, so that they depend on the primitives around.
    pub(crate) fn follows(&self) -> bool {
        self.across.is_some()
    }

    /// ℓβe^{1−u}, longer for what was seen from afar, on planes or everywhere; 0 for a muted primitive.
    pub(crate) fn reach(&self, core: &Core, surface: Surface) -> f64 {
        if core.muted {
            return 0.0;
        }
        let of_class = self.of_class.get(usize::from(core.label)).map_or(1.0, |factor| f64::from(*factor));
        let plain = self.reach * exp(1.0 - f64::from(core.uncertainty));
        let tens = (0.1 * core.sums.mean_range()).min(MOST_SPREAD);
        let grown = if self.on_planes {
            (plain * (1.0 + self.growth * f64::from(surface.flatness) * tens)).min(plain.max(MOST_GROWN_M))
        } else {
            plain * (1.0 + self.growth * tens)
        };
        grown * of_class
    }

    /// The kernel that a judged primitive has on a surface.
    pub(crate) fn form_on(&self, core: &Core, surface: Surface) -> Form {
        let reach = self.reach(core, surface);
        match self.across.filter(|_| reach > 0.0) {
            Some(across) => {
                let (support, farthest) = self.support(core, surface, reach, across);
                Form::within(support, farthest, self.profile)
            }
            None => Form::new(&self.ellipsoid(core), reach, self.distance, self.profile),
        }
    }

    /// The kernel that a judged primitive has on a surface, at a place, in f64.
    pub(crate) fn kernel_at(&self, core: &Core, surface: Surface, x: [f64; 3]) -> f64 {
        let reach = self.reach(core, surface);
        let kernel = if self.profile == Profile::Quadratic { quadratic_kernel } else { sparse_kernel };
        let Some(across) = self.across.filter(|_| reach > 0.0) else {
            let d = self.ellipsoid(core).distance(x);
            let d = if self.distance == Distance::Squared { d * d } else { d };
            return if reach > 0.0 { kernel(d, reach) } else { 0.0 };
        };
        let u = root_of_inverse(self.support(core, surface, reach, across).0);
        let d: [f64; 3] = std::array::from_fn(|i| x[i] - core.mean[i]);
        let squared: f64 = u.iter().map(|row| (row[0] * d[0] + row[1] * d[1] + row[2] * d[2]).powi(2)).sum();
        kernel(squared.sqrt(), 1.0)
    }

    /// Support of a kernel that follows the surface: the primitive's own ellipsoid, widened by `across` everywhere and
    /// along the surface by what it takes to `reach`. Also how far it reaches at most, metres.
    fn support(&self, core: &Core, surface: Surface, reach: f64, across: f64) -> ([f64; 6], f64) {
        let across = across.min(reach);
        let (least, more) = (across * across, reach * reach - across * across);
        let own = match self.shape {
            Shape::Point => [0.0; 6],
            Shape::Ellipsoid | Shape::Sphere => core.sums.covariance().map(|v| self.tau * v),
        };
        let surface = surface.covariance.map(f64::from);
        let surface = match self.shape {
            Shape::Ellipsoid => surface,
            Shape::Sphere | Shape::Point => {
                let mean = (surface[0] + surface[1] + surface[2]) / if self.planar { 2.0 } else { 3.0 };
                [mean, mean, mean, 0.0, 0.0, 0.0]
            }
        };
        let support = std::array::from_fn(|i| own[i] + more * surface[i] + if i < 3 { least } else { 0.0 });
        (support, (reach * reach * (1.0 + 1e-5) + own[0] + own[1] + own[2]).sqrt())
    }
}

impl Core {
    /// Derives mean and opinion from the sums, for a correlation between the errors of its points; the kernel is a
    /// matter of the recipe.
    #[inline]
    pub(crate) fn judge(&mut self, log_evidence: &[i64], correlation: f64, probability: &mut [f32]) {
        self.mean = self.sums.mean();
        let factor = witnesses_per_point(self.sums.weight, correlation);
        let opinion = opinion_of(log_evidence, factor, probability);
        self.label = opinion.label as u16;
        self.uncertainty = opinion.uncertainty as f32;
        self.ln_uncertainty = opinion.ln_uncertainty as f32;
    }
}
