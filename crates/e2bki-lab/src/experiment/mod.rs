//! `e2bki experiment`: each table and figure of the paper as a command.

mod ablation;
mod cache;
mod claims;
mod classes;
mod clustering;
mod context;
mod conv;
mod dataset;
mod disturb;
mod dynamic;
mod evidence;
mod folds;
mod leaderboard;
mod learned;
mod levels;
mod look;
mod maps;
mod means;
mod method;
mod paper;
mod parameters;
mod parts;
mod planning;
mod readings;
mod registry;
mod robustness;
mod scale;
mod shared;
mod show;
mod speed;
mod state;
mod study;
mod tables;
mod uncertainty;
mod volume;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use e2bki_eval::Table;
use e2bki_sim::Generation;

use crate::real::Eye;
use crate::{OpenSource, OwnNetworks, table};
use context::Context;
use registry::{EXPERIMENTS, Experiment};

/// Reproduce a table or figure of the paper, all methods side by side
#[derive(Args, Clone)]
#[command(after_help = "Examples:\n  e2bki experiment list\n  e2bki experiment table-full\n  \
    e2bki experiment figure-sparsity --out results --json sparsity.json\n  \
    e2bki experiment table-full --data semantickitti/sequences/08 --held-out\n  \
    e2bki experiment table-offroad --data Rellis_3D --semantics evidence:predictions\n  \
    e2bki experiment table-urban --data KITTI-360 --sequence 10 --semantics network.safetensors\n\n\
    Without --data, experiments run on simulated drives of fixed seeds that stand in for the paper's datasets. What is\n\
    finished is kept in the folder --out: an interrupted experiment continues where it was.")]
pub struct Options {
    /// Experiment; `list` shows them all
    name: String,
    /// Dataset folder to use instead of simulated drives
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// With --data: source of the semantics, as in `e2bki map`; `ground-truth` maps the true labels, `{sequence}` stands for
    /// the sequence that is tested [default: labels:predictions]
    #[arg(long, value_name = "SOURCE", requires = "data")]
    semantics: Option<String>,
    /// With --data: the sequence [default: every one of RELLIS-3D in turn, 10 of KITTI-360]
    #[arg(long, value_name = "NAME", requires = "data")]
    sequence: Option<String>,
    /// With --data: `camera` takes the points in the camera's view and labels of pixels, as the paper does; `scan` full
    /// scans within 50 m [default: camera for RELLIS-3D and KITTI-360]
    #[arg(long, value_name = "WHICH", requires = "data", value_parser = eye)]
    points: Option<Eye>,
    /// With --data: map every second frame and query at the points of the others
    #[arg(long, requires = "data")]
    held_out: bool,
    /// Long drives (900 frames, more than 300 m) and fine steps: hours instead of minutes
    #[arg(long)]
    full: bool,
    /// Frames of a drive [default: 100, or 900 with --full]
    #[arg(long, value_name = "N")]
    frames: Option<usize>,
    /// Simulated drives of each set, with other seeds: tables then have means and standard errors
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// Simulated drives: `matched` to real recordings, or the `first` ones, whose LiDAR sees farther
    #[arg(long, value_name = "WHICH", default_value = "matched")]
    drives: Generation,
    /// With table-classes and table-learned: the drives and frames that settings are chosen on, not those that test them
    #[arg(long)]
    validation: bool,
    /// LiDAR columns per turn of simulated drives [default: the sensor's own]
    #[arg(long, value_name = "N")]
    columns: Option<usize>,
    /// What names the classes of simulated drives: a trained network (.safetensors, .onnx; for figure-weak-network also a
    /// folder of them), or a simulated one by its share of the training data, 0.02 to 1 [default: the networks of this
    /// program, trained on each set of matched drives; 0.3 where it was built without `--features segment`]
    #[arg(long, value_name = "FRACTION|FILE")]
    network: Option<look::Look>,
    /// Folder for figures, tables, records and intermediate results
    #[arg(long, value_name = "DIR", default_value = "experiments-out")]
    out: PathBuf,
    /// Threads [default: one per core]
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Write a report: one HTML file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Write the records as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Frames of a drive that may be asked for.
const MOST_FRAMES: usize = 100_000;

/// Experiments that have drives for choosing as well as for testing.
const VALIDATED: [&str; 2] = ["table-classes", "table-learned"];

/// Runs an experiment: prints its tables and writes its figures, tables and records to the folder `--out`.
pub fn run(options: &Options, open_source: OpenSource, own: OwnNetworks) -> Result<()> {
    if options.name == "list" {
        return list();
    }
    let experiment = find(&options.name)?;
    e2bki_output::outputs::check_files([&options.report, &options.json])?;
    if options.frames == Some(0) {
        bail!("--frames is 0; give at least 1");
    }
    if let Some(frames) = options.frames.filter(|frames| *frames > MOST_FRAMES) {
        bail!("--frames is {frames}; give at most {MOST_FRAMES}, which takes days");
    }
    if options.validation && !VALIDATED.contains(&experiment.name) {
        bail!("--validation is for {}; leave it out", VALIDATED.join(" and "));
    }
    let mut context = Context::open(options, open_source, own, experiment.name, experiment.about)?;
    (experiment.run)(&mut context)?;
    context.finish()
}

/// Reads `camera` or `scan`.
fn eye(text: &str) -> Result<Eye, String> {
    match text {
        "camera" => Ok(Eye::Camera),
        "scan" => Ok(Eye::Scan),
        _ => Err("known: camera, scan".into()),
    }
}

fn list() -> Result<()> {
    let mut rows = Table::new(["experiment", ""]);
    for experiment in EXPERIMENTS {
        rows.row([experiment.name, experiment.about]);
    }
    table::print_left(&rows.rows)
}

/// The experiment of that name, or a suggestion.
fn find(name: &str) -> Result<&'static Experiment> {
    if let Some(experiment) = EXPERIMENTS.iter().find(|experiment| experiment.name == name) {
        return Ok(experiment);
    }
    let distance = |experiment: &&Experiment| strsim::damerau_levenshtein(experiment.name, name);
    let nearest = EXPERIMENTS.iter().min_by_key(distance).map_or("", |experiment| experiment.name);
    bail!("unknown experiment `{name}`; did you mean `{nearest}`? `e2bki experiment list` shows them all")
}
