//! `e2bki demo`: the whole job on a simulated drive, with nothing to download.

mod drive;
mod write;

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use e2bki::{ClassSet, Mapper, Timings};
use e2bki_eval::{Asked, Confidence, GroundTruth, Record, View, assess_map, assess_network, percent};
use e2bki_view::Report;

use crate::config::Parameters;
use crate::interrupt::Interruptible;
use crate::map::live::Live;
use crate::view::ServeArguments;
use crate::{Finding, outputs, report, score, table};

/// Simulate a drive, map it, score the map and write pictures
#[derive(Args)]
#[command(after_help = "Examples:\n  e2bki demo\n  e2bki demo --world offroad --frames 100 --network 0.1\n  \
    e2bki demo --set cell_size=0.4 --json demo.json\n  \
    e2bki demo --report demo.html\n  e2bki demo --view")]
pub(crate) struct Options {
    /// World: urban or offroad
    #[arg(long, default_value = "urban")]
    world: String,
    /// Frames of the drive; every fifth is mapped, all are queried
    #[arg(long, default_value_t = 60)]
    frames: usize,
    /// Share of the training data that the simulated network had, 0.02 to 1
    #[arg(long, default_value_t = 0.3, value_name = "FRACTION")]
    network: f64,
    /// Folder for pictures and the map
    #[arg(long, default_value = "demo-out", value_name = "DIR")]
    out: PathBuf,
    /// Write the results as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a report: one HTML file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Show the map in the browser while it is built, and afterwards
    #[arg(long)]
    view: bool,
    #[command(flatten)]
    serve: ServeArguments,
    #[command(flatten)]
    parameters: Parameters,
}

/// Every so many frames one is mapped; the map is asked about all of them (the paper's protocol).
const EVERY: usize = 5;
/// Points beyond this are not asked about: a simulated HDL-64E sees little there, and so does a map.
const MAX_RANGE_M: f64 = 50.0;

pub(crate) fn run(options: &Options) -> Result<()> {
    outputs::check_files([&options.report, &options.json])?;
    if options.frames == 0 {
        bail!("--frames is 0; give at least 1");
    }
    let config = options.parameters.read()?;
    outputs::make_folder(&options.out)?;
    let drive = drive::Simulated::new(&options.world, options.network)?;
    let classes = ClassSet::new(drive.classes().iter().map(|class| (class.name, class.color)))?;
    let mut map = Mapper::new(classes, config)?;

    let mut truth = GroundTruth::new(map.classes().len(), Asked::Cells, MAX_RANGE_M, &[View::Voxel, View::Continuous]);
    let mut timings = Timings::default();
    let (mut mapped, mut received, mut kept) = (0, 0, 0);
    let mut became = [0; 5];
    let mut trajectory = Vec::new();
    let mut live = (options.view || options.serve.rerun.is_some())
        .then(|| Live::start(options.world.clone(), &map, &options.serve))
        .transpose()?;
    let bar = table::progress(options.frames, "driving");
    // A demo that is stopped is a shorter one.
    let interruptible = Interruptible::new();
    for i in 0..options.frames {
        if i > 0 && interruptible.asked_to_stop() {
            break;
        }
        let frame = drive.frame(i)?;
        trajectory.push(frame.world_from_sensor.translation());
        if i % EVERY == 0 {
            let report = map.insert(&frame.borrow())?;
            if let Some(live) = &mut live {
                live.frame(&map, &frame.borrow());
            }
            timings.add(&report.timings);
            mapped += 1;
            received += report.received;
            kept += report.kept;
            let these = [report.clusters, report.gated, report.folded, report.pruned, report.merged];
            (0..5).for_each(|i| became[i] += these[i]);
        }
        truth.add(&frame);
        bar.inc(1);
    }
    let stopped = interruptible.asked_to_stop();
    drop(interruptible);
    bar.finish_and_clear();

    let questions = truth.into_questions();
    let named = |name: String, record: Record| Record { method: name, ..record };
    let of_map = |name: String, view: View| -> Result<Record> {
        Ok(named(name, assess_map(&options.world, &map, Confidence::Decomposed, view, &questions)?.0))
    };
    let records = [
        named("network at first sight".into(), assess_network(&options.world, map.classes(), View::Voxel, &questions)),
        of_map(format!("map, {} m voxels", map.config().views.resolution), View::Voxel)?,
        of_map("map, continuous".into(), View::Continuous)?,
    ];

    table::line(&format!(
        "{} frames simulated, {mapped} mapped; {kept} of {received} points kept; {} primitives, {} voxels, {:.1} MB\n",
        trajectory.len(),
        map.len(),
        map.live_voxel_count(),
        map.byte_size().total() as f64 / 1e6,
    ))?;
    table::print(&score::rows(&records, map.classes()))?;
    let frames_per_second = mapped as f64 / timings.total().as_secs_f64();
    let mut stages: Vec<Vec<String>> = vec![vec!["stage".into(), "ms per frame".into()]];
    for (stage, time) in timings.by_stage() {
        stages.push(vec![stage.into(), format!("{:.1}", time.as_secs_f64() * 1e3 / mapped as f64)]);
    }
    stages.push(vec!["all".into(), format!("{:.1}", timings.total().as_secs_f64() * 1e3 / mapped as f64)]);
    table::print(&stages)?;
    table::line(&format!("{frames_per_second:.1} frames mapped per second\n"))?;

    for file in write::all(&map, &trajectory, &options.out)? {
        table::line(&format!("wrote {}", file.display()))?;
    }
    if let Some(path) = &options.report {
        let about = format!("{} world, network trained on {} of the data", options.world, options.network);
        let mut page = Report::new("e2bki demo: a simulated drive, mapped and scored", &about);
        page.figures(&[
            ("mIoU, %", percent(records[1].miou)),
            ("accuracy, %", percent(records[1].acc)),
            ("calibration error, %", percent(records[1].ece)),
            ("frames mapped", format!("{mapped} of {}", trajectory.len())),
            ("frames per second", format!("{frames_per_second:.1}")),
            ("primitives", map.len().to_string()),
            ("voxels", map.live_voxel_count().to_string()),
        ]);
        page.section("Scores");
        page.table(&score::rows(&records, map.classes()));
        report::from_above(&mut page, &map, &trajectory)?;
        page.picture("Primitives as ellipsoids", &crate::pictures::primitives(&map, &trajectory), None, None)?;
        report::scores(&mut page, &records, map.classes())?;
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3 / mapped as f64;
        let times: Vec<(String, f64)> =
            timings.by_stage().iter().map(|(stage, time)| (stage.to_string(), ms(*time))).collect();
        report::stages(&mut page, &times);
        report::memory(&mut page, &map);
        page.section("What became of the points");
        let names = ["primitives made", "stopped by the gate", "added to known cubes", "pruned", "merged"];
        let mut rows = vec![vec!["of all frames".into(), "count".into()]];
        rows.push(vec!["points received".into(), received.to_string()]);
        rows.push(vec!["points kept".into(), kept.to_string()]);
        rows.extend(names.iter().zip(became).map(|(name, count)| vec![name.to_string(), count.to_string()]));
        page.table(&rows);
        report::again(&mut page, Some(map.config()));
        report::write(&page, path)?;
    }
    if let Some(path) = &options.json {
        let stage_ms: serde_json::Map<String, serde_json::Value> = timings
            .by_stage()
            .iter()
            .map(|(stage, time)| (stage.to_string(), (time.as_secs_f64() * 1e3 / mapped as f64).into()))
            .collect();
        let value = serde_json::json!({
            "world": options.world, "frames": trajectory.len(), "mapped": mapped, "network": options.network,
            "points": {"received": received, "kept": kept}, "primitives": map.len(),
            "voxels": map.live_voxel_count(), "bytes": map.byte_size().total(),
            "frames_per_second": frames_per_second, "stage_ms": stage_ms,
            "scores": records,
        });
        table::write_json(path, &value)?;
    }
    if stopped {
        return Err(Finding(format!(
            "stopped after {} of {} frames; all of the above is of those",
            trajectory.len(),
            options.frames
        ))
        .into());
    }
    live.map_or(Ok(()), |live| live.finish(&map))
}
