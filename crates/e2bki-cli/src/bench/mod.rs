//! `e2bki bench`: what the engine takes, per stage, on inputs of known size.

mod accuracy;
mod inputs;
pub(crate) mod line;
mod measure;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::{Value, json};

use crate::table;
pub(crate) use measure::median;

/// Measure the engine: time per stage, scaling, queries, memory
#[derive(Args)]
#[command(after_help = "Examples:\n  e2bki bench\n  e2bki bench --only scan --data semantickitti/sequences/08\n  \
    e2bki bench --only line --frames 25000 --json bench.json\n\n\
    Benchmarks: scan (a full LiDAR scan, default configuration), queries (continuous, near surfaces), accuracy (a few\n\
    configurations, even scans mapped and odd ones asked about), camera (27k points, 1024 clusters), rellis (7.6k points,\n\
    256 clusters), line (a straight drive without end).")]
pub(crate) struct Options {
    /// Run one benchmark only: scan, queries, accuracy, camera, rellis or line
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// A dataset folder (or SemanticKITTI sequence) for `scan`, `queries` and `accuracy`; simulated HDL-64E scans without it
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Frames of the straight drive
    #[arg(long, default_value_t = 25_000)]
    frames: usize,
    /// Threads [default: one per core]
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Times each input is repeated; the median counts
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// Write the numbers as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const NAMES: [&str; 6] = ["scan", "queries", "accuracy", "camera", "rellis", "line"];

pub(crate) fn run(options: &Options) -> Result<()> {
    if let Some(name) = options.only.as_deref().filter(|name| !NAMES.contains(name)) {
        bail!("unknown benchmark `{name}`; known: {}", NAMES.join(", "));
    }
    let wanted = |name: &str| options.only.as_deref().is_none_or(|only| only == name);
    let mut results: Vec<Value> = Vec::new();
    if wanted("scan") || wanted("queries") || wanted("accuracy") {
        let (input, classes) = inputs::scans(options.data.as_deref())?;
        if wanted("scan") {
            results.push(measure::frames("scan", &input, &classes, "default", options.threads, options.repeats)?);
        }
        if wanted("queries") {
            results.push(measure::queries(&input, &classes, options.threads, options.repeats)?);
        }
        if wanted("accuracy") {
            results.push(accuracy::run(&input, &classes, options.threads)?);
        }
    }
    for (name, standard, points, preset) in [
        ("camera", e2bki_sim::Standard::KittiLike, 27_000, "paper-urban"),
        ("rellis", e2bki_sim::Standard::RellisLike, 7_600, "paper-rellis"),
    ] {
        if wanted(name) {
            let (input, classes) = inputs::camera_views(standard, points)?;
            results.push(measure::frames(name, &input, &classes, preset, options.threads, options.repeats)?);
        }
    }
    if wanted("line") {
        results.push(line::run(options.frames, options.threads)?);
    }
    if let Some(path) = &options.json {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let value = json!({"version": env!("CARGO_PKG_VERSION"), "cores": cores, "threads": options.threads, "results": results});
        table::write_json(path, &value)?;
    }
    Ok(())
}
