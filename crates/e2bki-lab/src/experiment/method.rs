//! Methods and their settings, as entrants of a comparison.

use std::collections::BTreeMap;

use anyhow::Result;
use e2bki::config::Update;
use e2bki::{ClassSet, Config, Mapper, SemanticMapper};
use e2bki_baselines::{Baseline, BuildOptions, ConvBki, ConvKernels};
use e2bki_eval::{Confidence, Entrant};
use e2bki_sim::Standard;

use super::disturb::{Displaced, PoseNoise};

/// A method with its settings.
#[derive(Clone)]
pub(super) struct Method {
    pub(super) name: String,
    pub(super) config: Config,
    pub(super) confidence: Confidence,
    /// Every so many frames one is mapped.
    pub(super) every: usize,
    /// Varied settings of this entrant, for its record.
    pub(super) parameters: BTreeMap<String, String>,
    /// Error of the poses it is given.
    pose_noise: Option<PoseNoise>,
    /// Whether a baseline has the context of the scan that is otherwise ours.
    in_context: bool,
    /// Kernel mass from which on a voxel of a baseline is occupied.
    occupied_mass: f32,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Ours,
    Baseline(Baseline),
    ConvBki(ConvKernels),
}

/// Name of our method in tables.
pub(super) const OURS: &str = "E2-BKI";
/// Our method with the paper's clustering and merging.
pub(super) const OURS_PAPER: &str = "E2-BKI, paper's settings";

/// The same with the paper's numbers of clusters read as totals of a frame.
pub(super) const OURS_TOTAL: &str = "E2-BKI, paper's settings, clusters in total";

/// Our method with how far the network can be trusted learned from ground truth.
pub(super) const OURS_CALIBRATED: &str = "E2-BKI, source calibrated";

impl Method {
    fn new(name: &str, config: Config, confidence: Confidence, every: usize, kind: Kind) -> Self {
        let (parameters, pose_noise, in_context, occupied_mass) = (BTreeMap::new(), None, false, 0.0);
        Self { name: name.into(), config, confidence, every, parameters, pose_noise, in_context, occupied_mass, kind }
    }

    /// E2-BKI in some configuration. Its voxels are brought up to date with every frame, as those of the other methods are:
    /// that changes no score, and times are of the same work.
    pub(super) fn ours(name: &str, config: Config, every: usize) -> Self {
        let config = config.with(|c| c.views.update = Update::EveryFrame);
        Self::new(name, config, Confidence::Decomposed, every, Kind::Ours)
    }

    /// A baseline. Dempster–Shafer maps carry an uncertainty of their own; the others have a variance only.
    pub(super) fn baseline(baseline: Baseline, config: Config, every: usize) -> Self {
        let confidence = if baseline == Baseline::Dst { Confidence::Decomposed } else { Confidence::Variance };
        Self::new(baseline.name(), config, confidence, every, Kind::Baseline(baseline))
    }

    /// ConvBKI with learned kernels.
    pub(super) fn conv_bki(name: &str, kernels: ConvKernels, config: Config, every: usize) -> Self {
        Self::new(name, config, Confidence::Variance, every, Kind::ConvBki(kernels))
    }

    /// With a note of what it varies.
    pub(super) fn with(mut self, key: &str, value: impl ToString) -> Self {
        self.parameters.insert(key.into(), value.to_string());
        self
    }

    /// The same, given poses that are wrong.
    pub(super) fn displaced(mut self, noise: PoseNoise) -> Self {
        self.pose_noise = Some(noise);
        self
    }

    /// A baseline that is given the context of the scan that our default takes.
    pub(super) fn in_context_of(mut self, default: &Config) -> Self {
        self.config.input.context = default.input.context;
        self.config.input.class_trust = default.input.class_trust;
        self.in_context = true;
        self.name = with_context(&self.name);
        self
    }

    /// A baseline whose voxels are occupied from some kernel mass on.
    pub(super) fn occupied_from(mut self, mass: f32) -> Self {
        self.occupied_mass = mass;
        self.name = format!("{}{mass}", occupied_from(&self.name));
        self
    }

    /// Whether this is E2-BKI, which answers between its voxels.
    pub(super) fn is_continuous(&self) -> bool {
        matches!(self.kind, Kind::Ours)
    }

    /// Everything its results depend on but the frames. Threads change times only.
    pub(super) fn identity(&self) -> String {
        let config = self.config.clone().with(|c| c.run.threads = 0).to_toml();
        let kind = match &self.kind {
            Kind::Ours => "ours".into(),
            Kind::Baseline(baseline) => baseline.name().into(),
            Kind::ConvBki(kernels) => format!("{:?} {:?}", kernels.horizontal, kernels.vertical),
        };
        let mut noise = self.pose_noise.map(|noise| format!("{noise:?}")).unwrap_or_default();
        noise += if self.in_context { "in context" } else { "" };
        if self.occupied_mass > 0.0 {
            noise += &format!("occupied from {} ", self.occupied_mass);
        }
        format!("{} {kind} {:?} {:?} {} {noise}{config}", self.name, self.confidence, self.parameters, self.every)
    }

    /// An empty map.
    pub(super) fn build(&self, classes: &ClassSet, bev: bool) -> Result<Box<dyn SemanticMapper>> {
        let options = BuildOptions {
            bev,
            context: self.in_context,
            occupied_mass: self.occupied_mass,
            ..BuildOptions::default()
        };
        let (classes, config) = (classes.clone(), &self.config);
        let map: Box<dyn SemanticMapper> = match &self.kind {
            Kind::Ours => Box::new(Mapper::new(classes, config.clone())?),
            Kind::Baseline(baseline) => baseline.build_with(classes, config, options)?,
            Kind::ConvBki(kernels) => {
                Box::new(ConvBki::with_kernels_and_options(classes, config, kernels.clone(), options)?)
            }
        };
        Ok(match self.pose_noise {
            Some(noise) => Box::new(Displaced { map, noise, frames: 0 }),
            None => map,
        })
    }

    pub(super) fn entrant(&self, classes: &ClassSet, bev: bool) -> Result<Entrant> {
        Ok(Entrant::new(&self.name, self.build(classes, bev)?, self.every, self.confidence))
    }
}

/// Name of a baseline that has our context.
pub(super) fn with_context(name: &str) -> String {
    format!("{name}, with neighbour context")
}

/// Name of a baseline with another rule of occupancy, but for the mass.
pub(super) fn occupied_from(name: &str) -> String {
    format!("{name}, occupied from mass ")
}

/// The paper's settings for a dataset: 256 clusters of every class in a frame of RELLIS-3D, 1024 elsewhere.
pub(super) fn paper_config(stands_for: Option<Standard>, threads: usize) -> Result<Config> {
    let mut config = match stands_for {
        Some(Standard::RellisLike) => Config::preset("paper-rellis")?,
        _ => Config::preset("paper-urban")?,
    };
    config.run.threads = threads;
    Ok(config)
}
