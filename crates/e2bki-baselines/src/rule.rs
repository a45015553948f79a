//! The update rules, one name each: what points say, how they reach voxels, and how a voxel's sums are read.

use e2bki::config::Sparsity;
use e2bki::{Config, Error, Result};

use crate::conv::ConvKernels;
use crate::grid::Grid;
use crate::lattice::Place;
use crate::rules::{self, Filters};
use crate::scan::{Says, Scan};

/// Largest reach of a kernel in voxels: one point then touches at most 137 000 of them.
const MOST_REACH: f64 = 32.0;

/// How a method turns a frame into evidence of voxels.
#[derive(Debug, Clone)]
pub(crate) enum Rule {
    /// S-CSM.
    Count,
    /// S-BKI, with the kernel's length in voxels.
    Kernel { reach: f32 },
    /// SEE-CSOM.
    SharpEdge,
    /// ConvBKI.
    Convolution(Filters),
    /// EBS, with the reach of a point of uncertainty 0 in voxels.
    Evidential { reach: f32 },
    /// DST mapping, likewise.
    Dempster { reach: f32 },
}

impl Rule {
    /// S-BKI with the configured length.
    pub(crate) fn kernel(config: &Config) -> Result<Self> {
        Ok(Self::Kernel { reach: in_voxels(config.kernel.length_scale, "kernel.length_scale", 1.0, config)? })
    }

    /// EBS with the configured length and sensitivity.
    pub(crate) fn evidential(config: &Config) -> Result<Self> {
        Ok(Self::Evidential {
            reach: in_voxels(config.reach(0.0), "kernel.length_scale", reach_factor(config), config)?,
        })
    }

    /// DST mapping with the configured length and sensitivity.
    pub(crate) fn dempster(config: &Config) -> Result<Self> {
        Ok(Self::Dempster { reach: in_voxels(config.reach(0.0), "kernel.length_scale", reach_factor(config), config)? })
    }

    /// ConvBKI with the given kernels.
    pub(crate) fn convolution(kernels: &ConvKernels, config: &Config) -> Self {
        Self::Convolution(Filters::new(kernels, config.views.resolution))
    }

    /// Opinion of a point under this rule.
    pub(crate) fn says(&self) -> Says {
        match self {
            Self::Count | Self::Kernel { .. } | Self::SharpEdge => Says::Label,
            Self::Convolution(_) | Self::Evidential { .. } => Says::Opinion,
            Self::Dempster { .. } => Says::Belief,
        }
    }

    /// Whether the most uncertain points are dropped.
    pub(crate) fn is_gated(&self) -> bool {
        matches!(self, Self::Evidential { .. } | Self::Dempster { .. })
    }

    /// Added to voxel indices, so that blocks begin at the borders of the rule's own cells.
    pub(crate) fn shift(&self) -> i32 {
        i32::from(matches!(self, Self::SharpEdge))
    }

    /// Form of the sparsity part of the uncertainty: Dempster's rule has its own uncertainty and needs none.
    pub(crate) fn sparsity(&self, config: &Config) -> Sparsity {
        if matches!(self, Self::Dempster { .. }) { Sparsity::None } else { config.views.sparsity }
    }

    /// Adds a frame to a grid; `places` are the scan's, or those with their height dropped. Returns the voxels updated.
    pub(crate) fn update(&self, grid: &mut Grid, scan: &Scan, places: &[Place]) -> usize {
        match self {
            Self::Count => rules::add_points(grid, scan, places, |_| 0.0),
            Self::Kernel { reach } => rules::add_points(grid, scan, places, |_| *reach),
            Self::SharpEdge => rules::add_sharp_edge(grid, scan, places),
            Self::Convolution(filters) => rules::add_convolution(grid, scan, places, filters),
            Self::Evidential { reach } => rules::add_points(grid, scan, places, |u| reach * rules::exp_minus(u)),
            Self::Dempster { reach } => rules::add_opinions(grid, scan, places, |u| reach * rules::exp_minus(u)),
        }
    }

    /// Writes what a voxel's sums mean: Σ k p of every class, Σ k, Σ k u.
    pub(crate) fn belief(&self, channels: &[u16], sums: &[f32], row: &mut [f32]) {
        match self {
            Self::Dempster { .. } => rules::combined(channels, sums, row),
            _ => linear(channels, sums, row),
        }
    }
}

/// Sums of a rule that adds weights: the uncertain share is spread over all classes.
fn linear(channels: &[u16], sums: &[f32], row: &mut [f32]) {
    let classes = row.len() - 2;
    let (mut mass, mut uncertain) = (0.0, 0.0);
    for (channel, sum) in channels.iter().zip(sums) {
        mass += sum;
        match row[..classes].get_mut(usize::from(*channel)) {
            Some(value) => *value = *sum,
            None => uncertain = *sum,
        }
    }
    let share = uncertain / classes as f32;
    row[..classes].iter_mut().for_each(|value| *value += share);
    (row[classes], row[classes + 1]) = (mass, uncertain);
}

/// A length in voxels, if it is not too long; `factor` times the configured value gave it.
fn in_voxels(length: f64, key: &str, factor: f64, config: &Config) -> Result<f32> {
    let reach = length / config.views.resolution;
    if reach <= MOST_REACH {
        return Ok(reach as f32);
    }
    let most = MOST_REACH * config.views.resolution / factor;
    Err(Error::BadValue {
        key: key.into(),
        found: config.kernel.length_scale.to_string(),
        allowed: format!(
            "at most {most:.3} with voxels of {} m: a kernel may reach {MOST_REACH} voxels",
            config.views.resolution
        ),
    })
}

fn reach_factor(config: &Config) -> f64 {
    config.reach(0.0) / config.kernel.length_scale
}
