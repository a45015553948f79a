//! Every parameter of the mapper, in records, as run-time data with units, ranges, defaults and the paper's symbols.
//!
//! One table (`fields.rs`) declares the records and drives reading, checking, printing and documentation, so that they
//! cannot disagree.

mod choices;
mod confusion;
mod factors;
mod field;
mod fields;
mod presets;
mod sum;
mod text;

pub use choices::{
    ClusterCount, Clustering, Correlated, Distance, Doubt, Gate, Gated, Growth, LidarModel, Posterior, Profile, Reach,
    Refinement, Shape, Sparsity, Update,
};
pub use confusion::Confusion;
pub use factors::ClassFactors;
pub use field::{Field, Record};
pub use fields::{
    ClusteringConfig, Config, FreeSpaceConfig, FusionConfig, InputConfig, KernelConfig, RefinementConfig, RunConfig,
    ViewsConfig, fields, records,
};
pub use presets::PRESETS;

use crate::error::{Error, Result};

/// Tens of metres of range beyond which the reach grows no more.
pub(crate) const MOST_SPREAD: f64 = 5.0;

/// Where the reach grows on planes only, growth takes it no farther than this, metres: kernels of the default then stay within
/// the cubic metres beside their own, and beams farther apart than that do not see one surface.
pub(crate) const MOST_GROWN_M: f64 = 0.95;

/// Widest cluster, metres: along any direction its points then spread by less than the 50 m that a map holds (`state.rs`).
const WIDEST_M: f64 = 50.0;

/// Along each axis, the distance between primitives up to which one can count for the surface of the other, metres.
pub(crate) const POOLED_M: f64 = 1.0;

impl Config {
    /// The same configuration with some values changed: `config.with(|c| c.run.threads = 4)`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Checks every value against its range. Called by everything that takes a configuration.
    pub fn check(&self) -> Result<()> {
        for field in fields() {
            field.check(self)?;
        }
        let (near, far) = (self.refinement.merge_radius, self.refinement.consistency_radius);
        if near > far {
            return Err(Error::BadValue {
                key: "refinement.merge_radius".into(),
                found: near.to_string(),
                allowed: format!("at most refinement.consistency_radius, which is {far}"),
            });
        }
        if self.input.min_range >= self.input.max_range {
            return Err(Error::BadValue {
                key: "input.min_range".into(),
                found: self.input.min_range.to_string(),
                allowed: format!("less than input.max_range, which is {}", self.input.max_range),
            });
        }
        Ok(())
    }

    /// Checks what depends on the number of classes.
    pub(crate) fn check_classes(&self, classes: usize) -> Result<()> {
        let bad = |key: &str, found: String, allowed: String| Err(Error::BadValue { key: key.into(), found, allowed });
        let rows = self.input.confusion.rows().len();
        if rows != 0 && rows != classes {
            let allowed = format!("[], or {classes} × {classes} for these {classes} classes");
            return bad("input.confusion", format!("{rows} × {rows}"), allowed);
        }
        for (key, factors) in
            [("input.class_weights", &self.input.class_weights), ("kernel.class_reach", &self.kernel.class_reach)]
        {
            let found = factors.of_classes().len();
            if found != 0 && found != classes {
                let allowed = format!("[], or a factor for each of these {classes} classes");
                return bad(key, format!("a list of {found}"), allowed);
            }
        }
        Ok(())
    }

    /// Correlation between all points that a primitive ever had, as its sums are read; 0 where it was taken account of
    /// frame by frame.
    pub fn lifetime_correlation(&self) -> f64 {
        if self.fusion.correlated == Correlated::Lifetime { self.fusion.correlation } else { 0.0 }
    }

    /// Largest side of a cluster's bounding box, metres.
    pub(crate) fn widest_cluster(&self) -> f64 {
        self.clustering.max_extent.min(WIDEST_M)
    }

    /// Longest reach that the kernel of any primitive has, metres.
    pub fn longest_reach(&self) -> f64 {
        let (plain, of_class) = (self.reach(0.0), f64::from(self.kernel.class_reach.largest()));
        let grown = plain * self.spread(f64::INFINITY);
        of_class * if self.grows_on_planes() { grown.min(plain.max(MOST_GROWN_M)) } else { grown }
    }

    /// How far from the ellipsoid of a primitive beliefs can depend on it, metres: its kernel reaches there, or it helps
    /// to tell how the surface runs on which another kernel reaches there.
    pub fn longest_influence(&self) -> f64 {
        if self.kernel.reach == Reach::Uniform {
            return self.longest_reach();
        }
        let cubes = self.clustering.method == Clustering::Cells && !self.refinement.merge;
        let side = if cubes { self.clustering.cell_size } else { self.widest_cluster() };
        // Points in a cube have at most a quarter of the square of its side as variance along each axis.
        let tau = crate::maths::mahalanobis_threshold_3d(self.kernel.ellipsoid_mass);
        self.longest_reach() + POOLED_M + side * (0.75 * tau).sqrt()
    }

    /// Whether the reach grows with range on planes only: where kernels follow surfaces, and it is not to grow everywhere.
    pub fn grows_on_planes(&self) -> bool {
        self.kernel.reach == Reach::Surface && self.kernel.growth == Growth::Planes
    }

    /// How many times farther the kernel of a primitive reaches that was seen from `range` metres, on a plane or everywhere:
    /// the beams spread.
    pub fn spread(&self, range: f64) -> f64 {
        1.0 + self.kernel.reach_growth * (0.1 * range).min(MOST_SPREAD)
    }

    /// The kernel's reach ℓβe^{1−u} for a primitive of uncertainty `u` seen from nearby, metres.
    pub fn reach(&self, u: f64) -> f64 {
        self.kernel.length_scale * self.kernel.uncertainty_sensitivity * crate::maths::exp(1.0 - u)
    }
}
