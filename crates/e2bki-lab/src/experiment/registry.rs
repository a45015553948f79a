//! The experiments by name.

use anyhow::Result;

use super::context::Context;
use super::{
    ablation, claims, classes, clustering, dynamic, evidence, leaderboard, learned, maps, parameters, parts, planning,
    readings, robustness, scale, speed, tables, uncertainty, volume,
};

/// An experiment.
pub(super) struct Experiment {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) run: fn(&mut Context) -> Result<()>,
}

const fn experiment(name: &'static str, about: &'static str, run: fn(&mut Context) -> Result<()>) -> Experiment {
    Experiment { name, about, run }
}

pub(super) const EXPERIMENTS: &[Experiment] = &[
    experiment("table-offroad", "accuracy by class, off-road: RELLIS-3D and OffRoad stand-ins", tables::offroad),
    experiment("table-urban", "accuracy by class, urban: KITTI-360 stand-in", tables::urban),
    experiment("table-bev", "bird's-eye maps of all datasets", tables::bev),
    experiment("table-full", "all datasets and methods, voxels and continuous, with calibration", tables::full),
    experiment("leaderboard", "all methods on all available datasets, in every view", leaderboard::table),
    experiment("table-classes", "every class: thin and rare ones, misses, claimed empty space", classes::table),
    experiment(
        "table-learned",
        "what labels are worth: ConvBKI, and ours calibrated on the same frames",
        learned::table,
    ),
    experiment("table-claims", "the paper's claims one by one, on several drives, with intervals", claims::table),
    experiment("table-readings", "the paper's settings with one other reading at a time", readings::table),
    experiment("table-ablation", "ablation of E2-BKI", ablation::table),
    experiment("table-parts", "ablation of our default on the drives it was tuned on", parts::table),
    experiment("figure-sparsity", "fewer frames mapped: 20 % down to 4 %", robustness::sparsity),
    experiment("figure-weak-network", "networks with less training data: 100 % down to 2 %", robustness::weak_network),
    experiment("figure-pose-noise", "pose errors of up to 0.2 m and 1°", robustness::pose_noise),
    experiment(
        "figure-calibration",
        "a camera with an unnoticed calibration error of up to 2°",
        robustness::calibration,
    ),
    experiment("table-volume", "our map at the occupied volume of EBS's", volume::table),
    experiment("figure-uncertainty", "uncertainty of primitives before and after tempering", uncertainty::figure),
    experiment(
        "figure-evidence",
        "u, accuracy and calibration by the number of frames that saw a place",
        evidence::figure,
    ),
    experiment("figure-threshold", "dynamic, static and hybrid uncertainty thresholds", parameters::threshold),
    experiment("figure-sensitivity", "β, ε, d_L, d_S and τ̃, one at a time", parameters::sensitivity),
    experiment(
        "grid-search",
        "configurations from the grid of all five, on a validation drive",
        parameters::grid_search,
    ),
    experiment("figure-clustering", "clustering strategy by number of clusters", clustering::figure),
    experiment("table-runtime", "frames per second of every method", speed::table),
    experiment("figure-scalability", "time per frame of an endless straight drive", scale::drive),
    experiment("figure-resolution", "time by voxel size, 0.4 m down to 0.01 m", speed::resolution),
    experiment("figure-density", "time by number of points", speed::density),
    experiment(
        "table-planning",
        "ways planned on maps, against true obstacles; ground and traversability against the simulator's truth",
        planning::table,
    ),
    experiment("table-dynamic", "what moved and what stayed, by free space", dynamic::table),
    experiment(
        "table-free-space",
        "scores where nothing moves, and ghosts, with and without free space",
        dynamic::scores,
    ),
    experiment("figure-maps", "maps of all methods side by side, from above", maps::figure),
];
