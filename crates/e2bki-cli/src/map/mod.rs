//! `e2bki map`: a dataset folder in, a map out.

pub(crate) mod budget;
mod html;
pub(crate) mod keep;
pub(crate) mod live;
mod method;
mod pace;
mod record;
mod report;
mod source;
pub(crate) mod submaps;
pub(crate) mod write;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::Args;
use e2bki::config::{Field, fields};
use e2bki::submaps::SubmapRule;
use e2bki::{ClassSet, Config};
use e2bki_data::{GroundTruth, LoadedFrame};
use e2bki_store::{MapFile, WriteLock};

use crate::config::Parameters;
use crate::data::{DataArguments, range};
use crate::interrupt::Interruptible;
use crate::view::ServeArguments;
use crate::{network, outputs, table};
use report::Account;
use source::Source;

/// Frames read ahead of the mapper.
const AHEAD: usize = 3;

/// Build a map from a dataset folder
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    e2bki map semantickitti/sequences/08 --semantics labels:predictions -o map.e2bki\n  \
    e2bki map kitti360 --semantics logits:espnetv2_pred --frames 3000..3025 -o map.ply\n  \
    e2bki map drive-2 --onto map.e2bki -o map.e2bki --save-every 1000\n  \
    e2bki map drive --submaps 20 --source monday -o map.e2bki
  \
    e2bki map rellis3d --every 5 --max-range 30 --json map.json\n  \
    e2bki map kitti360 --view --report map.html\n  \
    e2bki map kitti360 --view --beside s-bki\n  \
    e2bki map kitti360 --rerun kitti360.rrd\n  \
    e2bki map drive --semantics ground-truth --method s-bki --resolution 0.1\n  \
    e2bki map drive.mcap --classes urban11 --semantics labels:/segmentation/labels -o map.e2bki\n  \
    e2bki map drive.mcap --record map.mcap --record-every 50\n  \
    e2bki map sim:urban -o town.e2bki --memory 500MB --save-every 1000 --view\n  \
    e2bki map drive.mcap --rate 10 --view\n\n\
    Sources of semantics: ground-truth (labels of points, else of pixels), ground-truth-2d, ground-truth-3d,\n\
    labels:FOLDER (.label, .npy or .png), logits:FOLDER, evidential-logits:FOLDER, evidence:FOLDER, dirichlet:FOLDER,\n\
    probabilities:FOLDER (.npy of points×channels or channels×height×width, or …_CxHxW_f16.bin). FOLDER is a path, or\n\
    the name of a folder in the sequence or the dataset. In builds with the feature `segment` also a network that looks\n\
    at the images: model.onnx (described by model.toml beside it), or our own network.safetensors. In recordings FOLDER may be a\n\
    topic: labels:/TOPIC of PointCloud2 or Image, logits:/TOPIC and the like of Image with encoding 32FCn; ground-truth is the field\n\
    `label` of the clouds, or a topic of label images.\n\n\
    sim:urban and sim:offroad are simulated drives; they go on until --frames or Ctrl-C ends them.\n\n\
    Ctrl-C, SIGTERM and SIGHUP stop after the frame and keep the map (exit code 1); a second one ends at once.\n\n\
    A plain folder holds frames/*.bin|pcd|ply|npy|las, poses.txt (KITTI, TUM, or with frame numbers) and e2bki.toml\n\
    with its classes.")]
pub(crate) struct Options {
    #[command(flatten)]
    data: DataArguments,
    /// Map file to write: .e2bki to continue with, .ply for viewers. It is written even when the run is interrupted
    #[arg(short, long, value_name = "MAP")]
    out: Option<PathBuf>,
    /// Keep at most this much of the map in memory, as in 500MB or 2GiB; the rest waits in a folder beside MAP. The map is
    /// the same
    #[arg(long, value_name = "SIZE", requires = "out", conflicts_with = "beside", value_parser = budget::parse_bytes)]
    memory: Option<usize>,
    /// Also save the map after every N frames; a save that fails is tried again later
    #[arg(long, value_name = "N", requires = "out", value_parser = clap::value_parser!(u64).range(1..))]
    save_every: Option<u64>,
    /// Continue a saved map, with its own parameters
    #[arg(long, value_name = "MAP.e2bki")]
    onto: Option<PathBuf>,
    /// Keep what every stretch of the drive adds, to take it out (`remove`) or move it (`correct`): its length in metres
    /// (20), seconds (10s) or frames (50f)
    #[arg(long, value_name = "LENGTH", value_parser = submaps::rule, requires = "out")]
    submaps: Option<SubmapRule>,
    /// Name of this drive in the map [default: a hash of the map; for submaps the name of the sequence]
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Frame numbers: A..B (B excluded), A.., ..B or A [default: all]
    #[arg(long, value_name = "RANGE")]
    frames: Option<String>,
    /// Map every K-th of these frames
    #[arg(long, default_value_t = 1, value_name = "K", value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// At most so many frames per second, as a robot brings them [default: as fast as can be]
    #[arg(long, value_name = "HZ", value_parser = pace::parse_rate)]
    rate: Option<f64>,
    /// Drop points farther than this from the sensor, metres
    #[arg(long, value_name = "M")]
    max_range: Option<f64>,
    /// Source of the semantics (see below)
    #[arg(long, default_value = "ground-truth", value_name = "SOURCE")]
    semantics: String,
    /// Method: e2bki or a baseline
    #[arg(long, default_value = "e2bki", value_name = "NAME")]
    method: String,
    /// Voxel size, metres
    #[arg(long, value_name = "M")]
    resolution: Option<f64>,
    /// Decode the camera images too (they are not needed for the map)
    #[arg(long)]
    pictures: bool,
    /// Write the numbers as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a report: one HTML file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Record the map as ROS 2 messages in an MCAP file: clouds of voxels and primitives with class, p and u, occupancy
    /// grid, grid_map layers, ellipsoids, transforms, diagnostics
    #[arg(long, value_name = "FILE.mcap")]
    record: Option<PathBuf>,
    /// Record the whole map after every N frames too, not only at the end
    #[arg(long, value_name = "N", requires = "record", value_parser = clap::value_parser!(u64).range(1..))]
    record_every: Option<u64>,
    /// Show the map in the browser: while it is built (e2bki alone), and afterwards
    #[arg(long)]
    view: bool,
    /// Also map with another method, and show both side by side
    #[arg(long, value_name = "METHOD", requires = "view", conflicts_with = "rerun")]
    beside: Option<String>,
    #[command(flatten)]
    serve: ServeArguments,
    #[command(flatten)]
    parameters: Parameters,
    /// The file is only on its way to a place that whoever asked for the map names; it does not outlive an error
    #[arg(skip)]
    pub(crate) in_passing: bool,
}

impl Options {
    /// Where the frames come from.
    fn source(&self) -> Result<Source> {
        if let Some(drive) = Source::simulated(&self.data.dir.to_string_lossy(), &self.semantics)? {
            if let Some(option) = self.data.of_reading() {
                bail!("a simulated drive has its own classes, poses and scans; leave {option} out");
            }
            return Ok(drive);
        }
        let (semantics, network) = network::source(&self.semantics, &self.data.runtime)?;
        let mut open = self.data.options(semantics, GroundTruth::Off)?;
        open.pictures = self.pictures;
        open.network = network;
        Ok(Source::Dataset(Arc::new(self.data.open(&open)?)))
    }

    /// The map to begin with, and the names of the drives in it.
    fn begin(&self, classes: &ClassSet, config: &Config) -> Result<(method::Map, Vec<String>)> {
        let Some(path) = &self.onto else {
            if let (Some(bytes), Some(out)) = (self.memory, &self.out) {
                let map = budget::Budgeted::new(classes.clone(), config, out, bytes)?;
                return Ok((method::Map::Budgeted(Box::new(map)), Vec::new()));
            }
            return Ok((method::build(&self.method, classes.clone(), config)?, Vec::new()));
        };
        if !method::is_ours(&self.method) {
            bail!("--onto continues a map of E2-BKI; remove --method");
        }
        let header = keep::header(path, classes)?;
        let asked = self.parameters.any() || self.max_range.is_some() || self.resolution.is_some();
        // What a map holds does not depend on these, and its file may not tell them.
        let mut of_this_run = vec!["run.threads", "views.live_voxels"];
        if !self.parameters.say_free_space()? {
            of_this_run.push("free_space.enabled");
        }
        let differs =
            |field: &&Field| !of_this_run.contains(&field.key) && field.value(&header.config) != field.value(config);
        if let Some(field) = fields().iter().find(differs).filter(|_| asked) {
            bail!(
                "{}: the map was made with {} = {}, not {}; remove the parameters",
                path.display(),
                field.key,
                field.value(&header.config),
                field.value(config)
            );
        }
        let threads = config.run.threads;
        let map = match (self.memory, &self.out) {
            (Some(bytes), Some(out)) => {
                method::Map::Budgeted(Box::new(budget::Budgeted::of_file(path, threads, out, bytes)?))
            }
            _ => {
                let config = header.config.with(|c| {
                    c.run.threads = threads;
                    c.views.live_voxels &= config.views.live_voxels;
                });
                method::Map::Primitives(Box::new(MapFile::open(path)?.load_as_kept(config)?))
            }
        };
        Ok((map, header.sources))
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut config = options.parameters.read_for_scans()?;
    for (key, value) in [("input.max_range", options.max_range), ("views.resolution", options.resolution)] {
        if let Some(value) = value {
            config.set_text(key, &value.to_string())?;
        }
    }
    if options.memory.is_some() && !method::is_ours(&options.method) {
        bail!("--memory is for maps of E2-BKI; leave --method out");
    }
    // Before hours of mapping: that everything can be written, and that nobody else writes the same map.
    if let Some(path) = &options.out {
        write::check(path, options.memory.is_some())?;
    }
    outputs::check_files([&options.json, &options.report, &options.record])?;
    let lock = options.out.as_ref().map(WriteLock::of_file).transpose()?;
    let ids = options.frames.as_deref().map(range).transpose()?;
    let dataset = options.source()?;
    let chosen = dataset.select(ids, options.every as usize);
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
    let (mut map, mut sources) = options.begin(dataset.classes(), &config)?;
    // A drive that is gone on with is named once.
    sources.extend(options.source.clone().filter(|source| !sources.contains(source)));
    let places = options.out.as_deref().map(|out| (out, options.onto.as_deref()));
    submaps::begin(&mut map, options.submaps, options.source.as_deref().unwrap_or(dataset.sequence()), places)?;
    let config = map.config().cloned().unwrap_or(config);
    let out = (options.out.as_deref(), lock);
    let mut keeper = keep::Keeper::new(out, options.save_every.map(|n| n as usize), sources, options.in_passing);
    for note in dataset.notes() {
        table::say(&format!("note: {note}"));
    }

    let mut beside = options.beside.as_deref().map(|name| live::Beside::new(name, &map)).transpose()?;
    let mut live = match map.primitives() {
        Some(map) if options.serve.rerun.is_some() || options.view && beside.is_none() => {
            let name = format!("{} {}", dataset.format(), dataset.sequence());
            Some(live::Live::start(name, map, &options.serve)?)
        }
        _ if options.serve.rerun.is_some() => bail!("--rerun shows the primitives of E2-BKI; leave --method out"),
        _ => None,
    };
    if options.record.is_some() && map.primitives().is_none() {
        bail!("--record writes the primitives of E2-BKI; leave --method out");
    }
    let mut recorder = match &options.record {
        Some(path) => Some(record::Recorder::create(path, options.record_every)?),
        None => None,
    };
    let mut trajectory = Vec::new();
    let mut account = Account::new(chosen.len());
    let bar = report::bar(chosen.len());
    let start = Instant::now();
    let mut pace = pace::Pace::new(options.rate, start);
    let mut waiting = Instant::now();
    let mut frames = dataset.frames(chosen.clone(), AHEAD)?.peekable();
    let mut prepared = None;
    let interruptible = Interruptible::new();
    let (mut stopped, mut failed) = (None, None::<anyhow::Error>);
    while let Some(frame) = frames.next() {
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => {
                stopped = Some(Some(error));
                break;
            }
        };
        let next = frames.peek().and_then(|next| next.as_ref().ok()).map(LoadedFrame::frame);
        account.waited += waiting.elapsed();
        if pace.stops(&interruptible) {
            stopped = Some(None);
            break;
        }
        let named = submaps::name_frame(&mut map, &frame);
        let report = match named.and_then(|()| map.insert_ahead(&frame.frame(), next.as_ref(), &mut prepared)) {
            Ok(report) => report,
            Err(error) => {
                stopped = Some(Some(error.context(format!("frame {}", frame.id))));
                break;
            }
        };
        account.add(&frame, &report);
        trajectory.push(frame.frame().world_from_sensor.translation());
        match (&mut live, &mut map) {
            (Some(live), method::Map::Primitives(map)) => live.frame(map, &frame.frame()),
            (Some(live), method::Map::Budgeted(map)) => drop(map.show(live, &frame.frame())),
            _ => {}
        }
        // What cannot be recorded or shown beside is no reason to lose the map: it is done without, and said at the end.
        if let (Some(at_work), Some(map)) = (&mut recorder, map.primitives())
            && let Err(error) = at_work.frame(map, &frame, &report)
        {
            (recorder, failed) = (None, Some(error));
        }
        if let Some(at_work) = &mut beside
            && let Err(error) = at_work.insert(&frame.frame())
        {
            (beside, failed) = (None, Some(error));
        }
        bar.set_message(account.live());
        bar.inc(1);
        if let Some(warning) = keeper.frame(&mut map) {
            bar.suspend(|| table::say(&warning));
        }
        waiting = Instant::now();
    }
    drop(interruptible);
    account.elapsed = start.elapsed();
    bar.finish_and_clear();
    drop(frames);
    let recorded = match (recorder, map.primitives()) {
        (Some(recorder), Some(map)) => recorder.finish(map).map_err(|error| failed = Some(error)).ok(),
        _ => None,
    };
    if let Some(reason) = stopped {
        return Err(keeper.stopped(&mut map, &dataset, (&chosen, account.mapped()), reason));
    }

    // First the map: what is printed may go to a terminal that is no longer there.
    let written = keeper.write(&mut map)?;
    if let Some(error) = failed {
        let kept = match written {
            Some(_) if options.in_passing => keep::NOTHING_KEPT.into(),
            Some(path) => format!("the map is in {}", path.display()),
            None => "the map was to be written nowhere".into(),
        };
        return Err(error.context(kept));
    }
    account.print(&dataset, &map, &options.method)?;
    if let Some(path) = written.filter(|_| !options.in_passing) {
        table::line(&format!("wrote {}", path.display()))?;
    }
    if let Some(path) = recorded {
        table::line(&format!("wrote {}", path.display()))?;
    }
    if let Some(path) = &options.report {
        html::write(&account, &dataset, &map, (&options.method, &config), &trajectory, path)?;
    }
    if let Some(path) = &options.json {
        table::write_json(path, &account.to_json(&dataset, &map, &options.method))?;
    }
    // Others may write the map while this one is looked at.
    drop(keeper);
    match (live, map) {
        (Some(live), method::Map::Primitives(map)) => live.finish(&map),
        (live, method::Map::Budgeted(mut map)) => {
            map.release();
            live.map_or(Ok(()), |live| live.finish(map.resident()))
        }
        (_, map) if options.view => live::show(&options.method, map, beside, &trajectory, &options.serve),
        _ => Ok(()),
    }
}
