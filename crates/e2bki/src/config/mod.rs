//! Every parameter of the mapper, as run-time data with the paper's symbols, ranges and defaults.
//!
//! One table (`fields.rs`) drives reading, checking, printing and documentation, so that they cannot disagree.

mod choices;
mod confusion;
mod fields;
mod presets;
mod text;

pub use choices::{ClusterCount, Clustering, Distance, Doubt, Gate, Gated, Posterior, Refinement, Shape, Sparsity};
pub use confusion::Confusion;
pub use fields::{Field, fields};
pub use presets::PRESETS;

use crate::error::{Error, Result};

/// Tens of metres of range beyond which the reach grows no more.
pub(crate) const MOST_SPREAD: f64 = 5.0;

/// Parameters of a mapper. Read one with [`Config::from_toml`], or start from [`Config::default`] or [`Config::preset`].
///
/// ```
/// let config = e2bki::Config::from_toml("resolution = 0.1\nclustering = \"kmeans++\"")?;
/// assert_eq!(config.resolution, 0.1);
/// let wrong = e2bki::Config::from_toml("resolutoin = 0.1").unwrap_err();
/// assert!(wrong.to_string().contains("did you mean `resolution`"));
/// # Ok::<(), e2bki::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Side of a voxel of the live view, metres (paper: r).
    pub resolution: f64,
    /// Kernel length, metres (paper: ℓ).
    pub length_scale: f64,
    /// Dirichlet prior per class (paper: α0).
    pub prior: f64,
    /// Scale of the kernel's reach ℓβe^{1−u} (paper: β).
    pub uncertainty_sensitivity: f64,
    /// How much farther the kernel reaches for every 10 m of range, up to 50 m: the beams spread.
    pub reach_growth: f64,
    /// Correlation ρ between the errors of a primitive's points: w points are w/(1 + ρ(w−1)) independent witnesses.
    pub correlation: f64,
    /// The same for a primitive's weight in the posterior: 1 counts every primitive once, 0 every point.
    pub vote_correlation: f64,
    /// What the semantic part of the uncertainty is.
    pub doubt: Doubt,
    /// Independent witnesses that all primitives at a place are worth, with [`Doubt::Conflict`].
    pub agreement: f64,
    /// Which primitives of a frame are too uncertain to keep.
    pub gate: Gate,
    /// Share of a frame's most uncertain primitives that the dynamic gate drops (paper: ũ).
    pub drop_uncertain: f64,
    /// Largest uncertainty that the static gate lets through.
    pub max_uncertainty: f64,
    /// What happens to a primitive that the gate stops.
    pub gated: Gated,
    /// Whether distant primitives that nearer ones contradict are removed.
    pub prune: bool,
    /// Whether agreeing neighbours become one primitive.
    pub merge: bool,
    /// How many times farther the pruned primitive was seen from (paper: ε).
    pub prune_ratio: f64,
    /// Radius within which neighbours must agree before they merge, metres (paper: d_L).
    pub consistency_radius: f64,
    /// Radius within which agreeing neighbours merge, metres (paper: d_S).
    pub merge_radius: f64,
    /// Order of pruning and merging within a frame.
    pub refinement: Refinement,
    /// Share of a Gaussian's mass inside its ellipsoid (paper: τ̃).
    pub ellipsoid_mass: f64,
    /// Form of a primitive's ellipsoid.
    pub shape: Shape,
    /// Length that the kernel takes for the distance to an ellipsoid.
    pub distance: Distance,
    /// How a frame's points become primitives.
    pub clustering: Clustering,
    /// What the number of clusters means.
    pub cluster_count: ClusterCount,
    /// Number of clusters of a frame, or of a class in it.
    pub clusters: usize,
    /// Mean points per cluster.
    pub points_per_cluster: usize,
    /// Largest side of a cluster's bounding box, metres; what is wider, or bridges a gap, is split.
    pub max_extent: f64,
    /// Most Lloyd iterations of K-means.
    pub kmeans_iterations: usize,
    /// Side of the world-anchored cubes of `cells`, metres.
    pub cell_size: f64,
    /// Whether a new primitive of `cells` is added to the one of its class already in its cube.
    pub merge_same_cell: bool,
    /// Whether the posterior comes from the refined set or is accumulated frame by frame.
    pub posterior: Posterior,
    /// Form of the evidence-sparsity part of the uncertainty.
    pub sparsity: Sparsity,
    /// Returns nearer than this are dropped, metres.
    pub min_range: f64,
    /// Returns farther than this are dropped, metres.
    pub max_range: f64,
    /// How much surer of itself the source of soft semantics is than it is right: probabilities and softmax logits
    /// become p^(1/T), evidence and opinions e/T. Hard labels have `label_strength` instead.
    pub temperature: f64,
    /// For every class that the source says, the shares of its evidence that go to each class; empty: it means what it
    /// says. `e2bki calibrate` learns it.
    pub confusion: Confusion,
    /// Belief-to-ignorance ratio b/u that a hard label gets when all its neighbours agree.
    pub label_strength: f64,
    /// Side of the cubes in which a point's neighbours are counted, metres.
    pub label_neighbourhood: f64,
    /// Share of a point's opinion that comes from its neighbours in the scan.
    pub context: f64,
    /// How much less classes count whose points stand alone among others; 0: all the same.
    pub class_trust: f64,
    /// Whether the voxel view is kept up to date with every frame.
    pub live_voxels: bool,
    /// Seed of the random choices in clustering.
    pub seed: u64,
    /// Threads to use; 0 means one per core.
    pub threads: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            resolution: 0.2,
            length_scale: 0.2,
            prior: 0.001,
            uncertainty_sensitivity: 0.7,
            reach_growth: 0.1,
            correlation: 0.2,
            vote_correlation: 0.1,
            doubt: Doubt::Conflict,
            agreement: 1.5,
            gate: Gate::Dynamic,
            drop_uncertain: 0.05,
            max_uncertainty: 0.9,
            gated: Gated::Drop,
            prune: true,
            merge: false,
            prune_ratio: 2.5,
            consistency_radius: 1.0,
            merge_radius: 0.2,
            refinement: Refinement::PruneThenMerge,
            ellipsoid_mass: 0.1,
            shape: Shape::Ellipsoid,
            distance: Distance::Euclidean,
            clustering: Clustering::Cells,
            cluster_count: ClusterCount::Points,
            clusters: 1024,
            points_per_cluster: 27,
            max_extent: 20.0,
            kmeans_iterations: 10,
            cell_size: 0.25,
            merge_same_cell: true,
            posterior: Posterior::Refined,
            sparsity: Sparsity::Literal,
            min_range: 0.0,
            max_range: f64::INFINITY,
            temperature: 1.0,
            confusion: Confusion::default(),
            label_strength: 2.0,
            label_neighbourhood: 0.4,
            context: 0.8,
            class_trust: 1.0,
            live_voxels: true,
            seed: 0,
            threads: 0,
        }
    }
}

impl Config {
    /// Checks every value against its range. Called by everything that takes a configuration.
    pub fn check(&self) -> Result<()> {
        for field in fields() {
            field.check(self)?;
        }
        if self.merge_radius > self.consistency_radius {
            return Err(Error::BadValue {
                key: "merge_radius".into(),
                found: self.merge_radius.to_string(),
                allowed: format!("at most consistency_radius, which is {}", self.consistency_radius),
            });
        }
        if self.min_range >= self.max_range {
            return Err(Error::BadValue {
                key: "min_range".into(),
                found: self.min_range.to_string(),
                allowed: format!("less than max_range, which is {}", self.max_range),
            });
        }
        Ok(())
    }

    /// Checks what depends on the number of classes.
    pub(crate) fn check_classes(&self, classes: usize) -> Result<()> {
        let rows = self.confusion.rows().len();
        if rows == 0 || rows == classes {
            return Ok(());
        }
        Err(Error::BadValue {
            key: "confusion".into(),
            found: format!("{rows} × {rows}"),
            allowed: format!("[], or {classes} × {classes} for these {classes} classes"),
        })
    }

    /// Longest reach that the kernel of any primitive has, metres.
    pub fn longest_reach(&self) -> f64 {
        self.reach(0.0) * self.spread(f64::INFINITY)
    }

    /// How many times farther the kernel of a primitive reaches that was seen from `range` metres: the beams spread.
    pub fn spread(&self, range: f64) -> f64 {
        1.0 + self.reach_growth * (0.1 * range).min(MOST_SPREAD)
    }

    /// The kernel's reach ℓβe^{1−u} for a primitive of uncertainty `u` seen from nearby, metres.
    pub fn reach(&self, u: f64) -> f64 {
        self.length_scale * self.uncertainty_sensitivity * crate::maths::exp(1.0 - u)
    }
}
