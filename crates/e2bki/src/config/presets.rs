//! Named starting points.

use super::{ClusterCount, Clustering, Config, Doubt, Growth, Profile, Reach};
use crate::error::{Error, Result};

/// Names of the presets, with what they are for.
pub const PRESETS: &[(&str, &str)] = &[
    ("default", "what we recommend: one primitive per class and cube"),
    ("paper-rellis", "the paper's settings for RELLIS-3D: 256 K-means++ clusters of every class in a frame"),
    (
        "paper-urban",
        "the paper's settings for OffRoad and KITTI-360: 1024 K-means++ clusters of every class in a frame",
    ),
];

impl Config {
    /// The default for a robot's own scans, as the program uses it: what the beams passed through is counted too.
    /// [`Self::default`] leaves that out, since frames that are no whole scans say little about it and pay for it.
    pub fn for_scans() -> Self {
        Self::default().with(|c| c.free_space.enabled = true)
    }

    /// The preset of that name for a robot's own scans: the default is [`Self::for_scans`], the paper's presets are as they are.
    pub fn preset_for_scans(name: &str) -> Result<Self> {
        if name == "default" { Ok(Self::for_scans()) } else { Self::preset(name) }
    }

    /// The preset of that name; see [`PRESETS`].
    pub fn preset(name: &str) -> Result<Self> {
        let paper = |clusters| {
            Self::default().with(|c| {
                c.input.label_strength = 3.0;
                c.input.context = 0.0;
                c.input.class_trust = 0.0;
                c.clustering.method = Clustering::KMeans;
                c.clustering.count = ClusterCount::PerClass;
                c.clustering.clusters = clusters;
                c.clustering.min_points_per_cluster = 1;
                c.clustering.max_extent = f64::INFINITY;
                c.fusion.correlation = 0.0;
                c.fusion.drop_uncertain = 0.1;
                c.refinement.prune = true;
                c.refinement.merge = true;
                c.kernel.uncertainty_sensitivity = 0.75;
                c.kernel.reach = Reach::Uniform;
                c.kernel.reach_growth = 0.0;
                c.kernel.growth = Growth::Everywhere;
                c.kernel.profile = Profile::Sparse;
                c.kernel.vote_correlation = 1.0;
                c.views.doubt = Doubt::Ignorance;
            })
        };
        match name {
            "default" => Ok(Self::default()),
            "paper-rellis" => Ok(paper(256)),
            "paper-urban" => Ok(paper(1024)),
            _ => Err(Error::UnknownPreset {
                name: name.into(),
                known: PRESETS.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(", "),
            }),
        }
    }
}
