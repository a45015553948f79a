//! `e2bki bench`: what the engine takes, per stage, on inputs of known size.

mod accuracy;
mod against;
mod files;
mod inputs;
pub(crate) mod line;
mod machine;
mod measure;
mod methods;
mod micro;
mod roofline;
mod scaling;
mod worst;

use std::cell::OnceCell;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use e2bki::ClassSet;
use e2bki_eval::LabelledFrame;
use e2bki_sim::Standard;
use serde_json::{Value, json};

use crate::real::PREDICTIONS;
use crate::{OpenSource, table};
pub(crate) use measure::median;

/// Benchmark the engine: time per stage, scaling, queries, memory
#[derive(Args)]
#[command(
    after_help = "Examples:\n  e2bki bench\n  e2bki bench --only scan,queries --data semantickitti/sequences/08\n  \
    e2bki bench --only line --frames 25000 --json bench.json\n  e2bki bench --only scan --against bench.json\n\n\
    Benchmarks:\n  scan          a full LiDAR scan, default configuration, time per stage\n  \
    camera        27k points, 1024 clusters\n  rellis        7.6k points, 256 clusters\n  \
    queries       continuous, near surfaces\n  methods       E2-BKI and every baseline on the same scans\n  \
    accuracy      a few configurations, even scans mapped and odd ones asked about\n  \
    store         save, open, read and load a map of a million primitives\n  decode        frames of --data\n  \
    project       points into an image\n  points        10,000 to 1,000,000 points a frame\n  \
    resolution    voxels of 0.4 m to 0.01 m\n  classes       2 to 64 classes\n  threads       1 to all cores\n  \
    line          a straight drive without end\n  \
    worst         standing still, a loop driven 50 times, a million points, one class, noise\n  \
    roofline      every stage against the machine's bandwidth and arithmetic\n  \
    instructions  counted with valgrind on small fixed workloads\n\n\
    Without --only: scan, camera, rellis, queries, project, threads."
)]
pub struct Options {
    /// Benchmarks to run, separated by commas, or `all`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// A dataset folder (or SemanticKITTI sequence) for what needs full scans; simulated HDL-64E scans without it
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// With --data: source of the semantics, as in `e2bki map`; `ground-truth` maps the true labels
    /// [default: labels:predictions]
    #[arg(long, value_name = "SOURCE", requires = "data")]
    semantics: Option<String>,
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
    /// Compare with the JSON of an earlier run; exit code 1 if instruction counts rose
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Percent by which instruction counts may rise
    #[arg(long, default_value_t = 10.0)]
    limit: f64,
    /// Do one of the small workloads and nothing else (what `instructions` counts)
    #[arg(long, hide = true)]
    workload: Option<String>,
}

impl Options {
    fn semantics(&self) -> &str {
        self.semantics.as_deref().unwrap_or(PREDICTIONS)
    }

    /// Source of the scans and of their semantics.
    fn input(&self) -> Value {
        match &self.data {
            Some(folder) => json!({"data": folder, "semantics": self.semantics()}),
            None => json!({"data": "simulated", "semantics": inputs::SIMULATED}),
        }
    }
}

const NAMES: [&str; 17] = [
    "scan",
    "camera",
    "rellis",
    "queries",
    "methods",
    "accuracy",
    "store",
    "decode",
    "project",
    "points",
    "resolution",
    "classes",
    "threads",
    "line",
    "worst",
    "roofline",
    "instructions",
];
const USUAL: [&str; 6] = ["scan", "camera", "rellis", "queries", "project", "threads"];

/// Primitives of the map that is saved.
const STORED: usize = 1_000_000;

type Inputs = (Vec<LabelledFrame>, ClassSet);

/// Runs the benchmarks that were asked for, prints their numbers and compares them with an earlier run's.
pub fn run(options: &Options, open_source: OpenSource) -> Result<()> {
    e2bki_output::outputs::check_files([&options.json])?;
    if let Some(name) = &options.workload {
        return micro::run(name);
    }
    if let Some(name) = options.only.iter().find(|name| !NAMES.contains(&name.as_str()) && *name != "all") {
        bail!("unknown benchmark `{name}`; known: {}, all", NAMES.join(", "));
    }
    let wanted = |name: &&str| match options.only.as_slice() {
        [] => USUAL.contains(name),
        only => only.iter().any(|wanted| wanted == name || wanted == "all"),
    };
    table::line(&machine::line(options.threads))?;
    let bench = Bench { options, open_source, scans: OnceCell::new(), rellis: OnceCell::new() };
    let results = NAMES.into_iter().filter(wanted).map(|name| bench.run(name)).collect::<Result<Vec<Value>>>()?;
    let record = json!({"machine": machine::describe(options.threads), "input": options.input(), "results": results});
    if let Some(path) = &options.json {
        table::write_json(path, &record)?;
    }
    match &options.against {
        Some(path) => against::compare(path, &record, options.limit),
        None => Ok(()),
    }
}

/// Inputs that several benchmarks share, made when the first asks for them.
struct Bench<'a> {
    options: &'a Options,
    open_source: OpenSource,
    scans: OnceCell<Inputs>,
    rellis: OnceCell<Inputs>,
}

impl Bench<'_> {
    fn scans(&self) -> Result<&Inputs> {
        kept(&self.scans, || inputs::scans(self.options.data.as_deref(), self.options.semantics(), self.open_source))
    }

    fn rellis(&self) -> Result<&Inputs> {
        kept(&self.rellis, || inputs::camera_views(Standard::RellisLike, 7_600))
    }

    fn run(&self, name: &str) -> Result<Value> {
        let Options { threads, repeats, frames, data, .. } = self.options;
        let (threads, repeats) = (*threads, *repeats);
        match name {
            "camera" => {
                let (input, classes) = inputs::camera_views(Standard::KittiLike, 27_000)?;
                measure::frames(name, &input, &classes, ("paper-urban", threads), repeats)
            }
            "rellis" => {
                let (input, classes) = self.rellis()?;
                measure::frames(name, input, classes, ("paper-rellis", threads), repeats)
            }
            "resolution" => {
                let (input, classes) = self.rellis()?;
                scaling::resolution(input, classes, threads)
            }
            "line" => line::run(*frames, threads),
            "instructions" => micro::count(),
            "decode" => match data {
                Some(folder) => files::decode(folder, repeats),
                None if self.options.only.iter().any(|only| only == name) => bail!("`decode` needs --data DIR"),
                None => {
                    table::line("decode: left out, it needs --data DIR\n")?;
                    Ok(json!({"name": name, "left_out": "no --data"}))
                }
            },
            _ => {
                let (input, classes) = self.scans()?;
                match name {
                    "scan" => measure::frames(name, input, classes, ("default", threads), repeats),
                    "queries" => measure::queries(input, classes, threads, repeats),
                    "methods" => methods::run(input, classes, threads, repeats),
                    "accuracy" => accuracy::run(input, classes, threads),
                    "store" => files::store(input, classes, STORED, repeats),
                    "project" => files::project(input, repeats),
                    "points" => scaling::points(input, classes, threads, repeats),
                    "classes" => scaling::classes(input, threads, repeats),
                    "threads" => scaling::threads(input, classes, repeats),
                    "worst" => worst::run(input, classes, threads),
                    "roofline" => roofline::run(input, classes, threads, repeats),
                    _ => bail!("unknown benchmark `{name}`"),
                }
            }
        }
    }
}

fn kept<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if cell.get().is_none() {
        cell.set(make()?).ok();
    }
    cell.get().ok_or_else(|| anyhow::anyhow!("an input could not be kept"))
}
