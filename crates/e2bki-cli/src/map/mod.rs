//! `e2bki map`: a dataset folder in, a map out.

mod html;
mod keep;
pub(crate) mod live;
mod method;
mod report;
mod write;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Args;
use e2bki::config::{Field, fields};
use e2bki::{ClassSet, Config};
use e2bki_data::{GroundTruth, LoadedFrame, read_ahead};

use crate::config::Parameters;
use crate::data::{DataArguments, range};
use crate::view::ServeArguments;
use crate::{network, table};
use report::Account;

/// Frames read ahead of the mapper.
const AHEAD: usize = 3;

/// Build a map from a dataset folder
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    e2bki map semantickitti/sequences/08 --semantics labels:predictions -o map.e2bki\n  \
    e2bki map kitti360 --semantics logits:espnetv2_pred --frames 3000..3025 -o map.ply\n  \
    e2bki map drive-2 --onto map.e2bki -o map.e2bki --save-every 1000\n  \
    e2bki map rellis3d --every 5 --max-range 30 --json map.json\n  \
    e2bki map kitti360 --view --report map.html\n  \
    e2bki map kitti360 --view --beside s-bki\n  \
    e2bki map kitti360 --rerun kitti360.rrd\n  \
    e2bki map drive --semantics ground-truth --method s-bki --resolution 0.1\n\n\
    Sources of semantics: ground-truth (labels of points, else of pixels), ground-truth-2d, ground-truth-3d,\n\
    labels:FOLDER (.label, .npy or .png), logits:FOLDER, evidential-logits:FOLDER, evidence:FOLDER, dirichlet:FOLDER,\n\
    probabilities:FOLDER (.npy of points×channels or channels×height×width, or …_CxHxW_f16.bin). FOLDER is a path, or\n\
    the name of a folder in the sequence or the dataset. In builds with the feature `segment` also a network that looks\n\
    at the images: model.onnx (described by model.toml beside it), or our own network.safetensors.\n\n\
    A plain folder holds frames/*.bin|pcd|ply|npy|las, poses.txt (KITTI, TUM, or with frame numbers) and e2bki.toml\n\
    with its classes.")]
pub(crate) struct Options {
    #[command(flatten)]
    data: DataArguments,
    /// File to write the map to: .e2bki to go on with, .ply to look at. It is written whatever stops the run
    #[arg(short, long, value_name = "MAP")]
    out: Option<PathBuf>,
    /// Save the map after every N frames too
    #[arg(long, value_name = "N", requires = "out", value_parser = clap::value_parser!(u64).range(1..))]
    save_every: Option<u64>,
    /// Go on with a saved map, under its own parameters
    #[arg(long, value_name = "MAP.e2bki")]
    onto: Option<PathBuf>,
    /// Frame numbers: A..B (without B), A.., ..B or A [default: all]
    #[arg(long, value_name = "RANGE")]
    frames: Option<String>,
    /// Map one of every K of these frames
    #[arg(long, default_value_t = 1, value_name = "K")]
    every: usize,
    /// Leave out points farther than this from the sensor, metres
    #[arg(long, value_name = "M")]
    max_range: Option<f64>,
    /// What says which class a point is of (see below)
    #[arg(long, default_value = "ground-truth", value_name = "SOURCE")]
    semantics: String,
    /// Method: e2bki, or one to compare with
    #[arg(long, default_value = "e2bki", value_name = "NAME")]
    method: String,
    /// Side of a voxel, metres
    #[arg(long, value_name = "M")]
    resolution: Option<f64>,
    /// Decode the camera images too (they are not needed for the map)
    #[arg(long)]
    pictures: bool,
    /// Write the numbers as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a report to look at: one HTML file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Show the map in the browser: while it is built (e2bki alone), and afterwards
    #[arg(long)]
    view: bool,
    /// Map with another method too, and show both side by side
    #[arg(long, value_name = "METHOD", requires = "view", conflicts_with = "rerun")]
    beside: Option<String>,
    #[command(flatten)]
    serve: ServeArguments,
    #[command(flatten)]
    parameters: Parameters,
}

impl Options {
    /// The map to begin with, and the names of the drives in it.
    fn begin(&self, classes: &ClassSet, config: &Config) -> Result<(method::Map, Vec<String>)> {
        let Some(path) = &self.onto else {
            return Ok((method::build(&self.method, classes.clone(), config)?, Vec::new()));
        };
        if !method::is_ours(&self.method) {
            bail!("--onto goes on with a map of E2-BKI; leave --method out");
        }
        let (map, sources) = keep::load(path, classes, config.run.threads)?;
        let asked = self.parameters.any() || self.max_range.is_some() || self.resolution.is_some();
        let differs = |field: &&Field| field.key != "run.threads" && field.value(map.config()) != field.value(config);
        if let Some(field) = fields().iter().find(differs).filter(|_| asked) {
            bail!(
                "{}: it was made with {} = {} and goes on so, not with {}; leave the parameters out",
                path.display(),
                field.key,
                field.value(map.config()),
                field.value(config)
            );
        }
        Ok((method::Map::Primitives(Box::new(map)), sources))
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut config = options.parameters.read()?;
    for (key, value) in [("input.max_range", options.max_range), ("views.resolution", options.resolution)] {
        if let Some(value) = value {
            config.set_text(key, &value.to_string())?;
        }
    }
    if let Some(path) = &options.out {
        write::check(path)?;
    }
    let (semantics, network) = network::source(&options.semantics)?;
    let ids = options.frames.as_deref().map(range).transpose()?;
    let mut open = options.data.options(semantics, GroundTruth::Off)?;
    open.pictures = options.pictures;
    open.network = network;
    let dataset = Arc::new(options.data.open(&open)?);
    let chosen = dataset.select(ids, options.every);
    if chosen.is_empty() {
        bail!(
            "no frame of {} is in --frames {}; there are {} from {} to {}",
            options.data.dir.display(),
            options.frames.as_deref().unwrap_or(""),
            dataset.len(),
            dataset.id(0).unwrap_or(0),
            dataset.id(dataset.len() - 1).unwrap_or(0)
        );
    }
    let (mut map, sources) = options.begin(dataset.classes(), &config)?;
    let config = map.config().cloned().unwrap_or(config);
    let mut keeper = keep::Keeper::new(options.out.as_deref(), options.save_every.map(|n| n as usize), sources);
    for note in dataset.notes() {
        eprintln!("note: {note}");
    }

    let mut beside = options.beside.as_deref().map(|name| live::Beside::new(name, &map)).transpose()?;
    let mut live = match &map {
        method::Map::Primitives(map) if options.serve.rerun.is_some() || options.view && beside.is_none() => {
            let name = format!("{} {}", dataset.format().name(), dataset.sequence());
            Some(live::Live::start(name, map, &options.serve)?)
        }
        _ if options.serve.rerun.is_some() => bail!("--rerun shows the primitives of E2-BKI; leave --method out"),
        _ => None,
    };
    let mut trajectory = Vec::new();
    let mut account = Account::new(chosen.len());
    let bar = report::bar(chosen.len());
    let start = Instant::now();
    let mut waiting = Instant::now();
    let mut frames = read_ahead(dataset.clone(), chosen.clone(), AHEAD).peekable();
    let mut prepared = None;
    let interruptible = keep::Interruptible::new();
    let mut stopped = None;
    while let Some(frame) = frames.next() {
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => {
                stopped = Some(Some(error.into()));
                break;
            }
        };
        let next = frames.peek().and_then(|next| next.as_ref().ok()).map(LoadedFrame::frame);
        account.waited += waiting.elapsed();
        let report = match map.insert_ahead(&frame.frame(), next.as_ref(), &mut prepared) {
            Ok(report) => report,
            Err(error) => {
                stopped = Some(Some(anyhow::Error::new(error).context(format!("frame {}", frame.id))));
                break;
            }
        };
        account.add(&frame, &report);
        trajectory.push(frame.frame().world_from_sensor.translation());
        if let (Some(live), method::Map::Primitives(map)) = (&mut live, &map) {
            live.frame(map, &frame.frame());
        }
        if let Some(beside) = &mut beside {
            beside.insert(&frame.frame())?;
        }
        bar.set_message(account.live());
        bar.inc(1);
        keeper.frame(&map)?;
        if interruptible.asked_to_stop() && frames.peek().is_some() {
            stopped = Some(None);
            break;
        }
        waiting = Instant::now();
    }
    drop(interruptible);
    account.elapsed = start.elapsed();
    bar.finish_and_clear();
    if let Some(reason) = stopped {
        return Err(keeper.stopped(&map, &dataset, (&chosen, account.mapped()), reason));
    }

    account.print(&dataset, &map, &options.method)?;
    if let Some(path) = keeper.write(&map)? {
        table::line(&format!("wrote {}", path.display()))?;
    }
    if let Some(path) = &options.report {
        html::write(&account, &dataset, &map, (&options.method, &config), &trajectory, path)?;
    }
    if let Some(path) = &options.json {
        table::write_json(path, &account.to_json(&dataset, &map, &options.method))?;
    }
    match (live, map) {
        (Some(live), method::Map::Primitives(map)) => live.finish(&map),
        (_, map) if options.view => live::show(&options.method, map, beside, &trajectory, &options.serve),
        _ => Ok(()),
    }
}
