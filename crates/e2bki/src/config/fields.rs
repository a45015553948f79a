//! The table of parameters: key, symbol, meaning, range. Everything that reads or prints a configuration uses it.

use super::{
    ClusterCount, Clustering, Config, Confusion, Distance, Doubt, Gate, Gated, Posterior, Refinement, Shape, Sparsity,
};
use crate::error::{Error, Result};

/// One parameter of [`Config`].
pub struct Field {
    /// Name in configuration files, Python and Rust alike.
    pub key: &'static str,
    /// The paper's symbol, or nothing.
    pub symbol: &'static str,
    /// One line of meaning, with the unit.
    pub about: &'static str,
    pub(super) kind: Kind,
}

/// Type, range and access of a parameter.
pub(super) enum Kind {
    Float { min: f64, max: f64, get: fn(&Config) -> f64, set: fn(&mut Config, f64) },
    Integer { min: u64, max: u64, get: fn(&Config) -> u64, set: fn(&mut Config, u64) },
    Flag { get: fn(&Config) -> bool, set: fn(&mut Config, bool) },
    Choice { names: &'static [&'static str], get: fn(&Config) -> &'static str, set: fn(&mut Config, &str) -> bool },
    Shares { get: fn(&Config) -> &Confusion, set: fn(&mut Config, Confusion) },
}

impl Field {
    /// The values this parameter may take, in words.
    pub fn allowed(&self) -> String {
        match &self.kind {
            Kind::Float { min, max, .. } if *max == f64::INFINITY => format!("a number of at least {min}, or inf"),
            Kind::Float { min, max, .. } => format!("a number from {min} to {max}"),
            Kind::Integer { min, max, .. } => format!("a whole number from {min} to {max}"),
            Kind::Flag { .. } => "true or false".into(),
            Kind::Shares { .. } => "[], or a row per class whose shares add up to 1".into(),
            Kind::Choice { names, .. } => names.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", "),
        }
    }

    /// The value as it is written in a configuration file.
    pub fn value(&self, config: &Config) -> String {
        match &self.kind {
            Kind::Float { get, .. } => format!("{:?}", get(config)),
            Kind::Integer { get, .. } => get(config).to_string(),
            Kind::Flag { get, .. } => get(config).to_string(),
            Kind::Choice { get, .. } => format!("\"{}\"", get(config)),
            Kind::Shares { get, .. } => get(config).to_string(),
        }
    }

    pub(super) fn check(&self, config: &Config) -> Result<()> {
        let fits = match &self.kind {
            Kind::Float { min, max, get, .. } => (*min..=*max).contains(&get(config)),
            Kind::Integer { min, max, get, .. } => (*min..=*max).contains(&get(config)),
            Kind::Shares { get, .. } => get(config).is_proper(),
            Kind::Flag { .. } | Kind::Choice { .. } => true,
        };
        if fits { Ok(()) } else { Err(self.bad(self.value(config))) }
    }

    pub(super) fn bad(&self, found: String) -> Error {
        Error::BadValue { key: self.key.into(), found, allowed: self.allowed() }
    }
}

macro_rules! field {
    ($key:ident, $symbol:literal, float $min:literal .. $max:expr, $about:literal) => {
        Field {
            key: stringify!($key),
            symbol: $symbol,
            about: $about,
            kind: Kind::Float { min: $min, max: $max, get: |c| c.$key, set: |c, v| c.$key = v },
        }
    };
    ($key:ident, $symbol:literal, integer $min:literal .. $max:expr, $about:literal) => {
        Field {
            key: stringify!($key),
            symbol: $symbol,
            about: $about,
            kind: Kind::Integer { min: $min, max: $max, get: |c| c.$key as u64, set: |c, v| c.$key = v as _ },
        }
    };
    ($key:ident, $symbol:literal, flag, $about:literal) => {
        Field {
            key: stringify!($key),
            symbol: $symbol,
            about: $about,
            kind: Kind::Flag { get: |c| c.$key, set: |c, v| c.$key = v },
        }
    };
    ($key:ident, $symbol:literal, choice $kind:ident, $about:literal) => {
        Field {
            key: stringify!($key),
            symbol: $symbol,
            about: $about,
            kind: Kind::Choice {
                names: $kind::NAMES,
                get: |c| c.$key.name(),
                set: |c, v| $kind::from_name(v).map(|v| c.$key = v).is_some(),
            },
        }
    };
}

static FIELDS: &[Field] = &[
    field!(resolution, "r", float 0.005 .. 10.0, "side of a voxel of the live view, metres"),
    field!(length_scale, "ℓ", float 0.01 .. 10.0, "kernel length, metres"),
    field!(prior, "α0", float 1e-9 .. 10.0, "Dirichlet prior per class"),
    field!(uncertainty_sensitivity, "β", float 0.05 .. 5.0, "scale of the kernel's reach ℓβe^(1-u)"),
    field!(reach_growth, "", float 0.0 .. 1.0, "how much farther the kernel reaches for every 10 m of range, up to 50 m: the beams spread"),
    field!(correlation, "", float 0.0 .. 1.0, "correlation between the errors of a primitive's points: w points are w/(1+ρ(w-1)) witnesses"),
    field!(vote_correlation, "", float 0.0 .. 1.0, "the same for a primitive's weight in the posterior: 1 counts every primitive once, 0 every point"),
    field!(doubt, "u_sem", choice Doubt, "what the semantic part of the uncertainty is"),
    field!(agreement, "", float 0.1 .. 10.0, "independent witnesses that all primitives at a place are worth, for doubt = conflict"),
    field!(gate, "U_thr", choice Gate, "which primitives of a frame are too uncertain to keep"),
    field!(drop_uncertain, "ũ", float 0.0 .. 0.99, "share of a frame's most uncertain primitives dropped by the dynamic gate"),
    field!(max_uncertainty, "", float 0.0 .. 1.0, "largest uncertainty let through by the static gate"),
    field!(gated, "", choice Gated, "what happens to a primitive that the gate stops"),
    field!(prune, "", flag, "remove distant primitives that nearer ones contradict"),
    field!(merge, "", flag, "make agreeing neighbours one primitive"),
    field!(prune_ratio, "ε", float 1.0 .. 1000.0, "how many times farther the pruned primitive was seen from"),
    field!(consistency_radius, "d_L", float 0.01 .. 20.0, "neighbours within this radius must agree before they merge, metres"),
    field!(merge_radius, "d_S", float 0.0 .. 20.0, "agreeing neighbours within this radius merge, metres"),
    field!(refinement, "", choice Refinement, "order of pruning and merging within a frame"),
    field!(ellipsoid_mass, "τ̃", float 0.001 .. 0.99, "share of a Gaussian's mass inside its ellipsoid"),
    field!(shape, "", choice Shape, "form of a primitive's ellipsoid"),
    field!(distance, "d*", choice Distance, "length that the kernel takes for the distance to an ellipsoid"),
    field!(clustering, "", choice Clustering, "how a frame's points become primitives"),
    field!(cluster_count, "", choice ClusterCount, "what the number of clusters means"),
    field!(clusters, "J", integer 1 .. 10_000_000, "clusters of a frame (total) or of each class (per-class)"),
    field!(points_per_cluster, "", integer 1 .. 1_000_000, "mean points per cluster (points)"),
    field!(max_extent, "", float 0.05 .. 50.0, "largest side of a cluster's bounding box, metres; wider ones and those that bridge a gap are split"),
    field!(kmeans_iterations, "", integer 0 .. 1000, "most Lloyd iterations of K-means"),
    field!(cell_size, "", float 0.02 .. 10.0, "side of the world-anchored cubes of `cells`, metres"),
    field!(merge_same_cell, "", flag, "add a new primitive of `cells` to the one of its class already in its cube"),
    field!(posterior, "", choice Posterior, "posterior from the refined set, or accumulated frame by frame"),
    field!(sparsity, "u_spa", choice Sparsity, "form of the evidence-sparsity part of the uncertainty"),
    field!(min_range, "", float 0.0 .. 1000.0, "nearer returns are dropped, metres"),
    field!(max_range, "", float 0.01 .. f64::INFINITY, "farther returns are dropped, metres"),
    field!(temperature, "T", float 0.01 .. 100.0, "how much surer of itself the source is than it is right: p becomes p^(1/T), evidence becomes evidence/T"),
    Field {
        key: "confusion",
        symbol: "",
        about: "for every class that the source says, the shares of its evidence that go to each class",
        kind: Kind::Shares { get: |c| &c.confusion, set: |c, v| c.confusion = v },
    },
    field!(label_strength, "", float 0.001 .. 1e6, "belief-to-ignorance ratio of a hard label when all its neighbours agree"),
    field!(label_neighbourhood, "", float 0.02 .. 10.0, "side of the cubes in which a point's neighbours are counted, metres"),
    field!(context, "", float 0.0 .. 1.0, "share of a point's opinion that comes from its neighbours in the scan"),
    field!(class_trust, "", float 0.0 .. 10.0, "how much less classes count whose points stand alone among others; 0: all the same"),
    field!(live_voxels, "", flag, "keep the voxel view up to date with every frame"),
    field!(seed, "", integer 0 .. i64::MAX as u64, "seed of the random choices in clustering"),
    field!(threads, "", integer 0 .. 1024, "threads to use; 0 = one per core"),
];

/// All parameters, in the order in which they are printed.
pub fn fields() -> &'static [Field] {
    FIELDS
}
