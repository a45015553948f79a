//! What free space does to the scores of a map: asked where nothing moves, and where something moved.
//!
//! A score that asks what was seen at a place at some moment counts a map as wrong that knows it is gone. So the places
//! of moving things are asked about by themselves: there the fewer answers the better.

use anyhow::Result;
use e2bki::{ClassSet, Pose};
use e2bki_eval::{
    Asked, Entrant, GroundTruth, LabelledFrame, NearReturns, Questions, Record, Said, Table, View, assess,
};
use e2bki_sim::{Drive, DriveOptions, ErrorModel, Sensor as Simulated, WorldKind};

use super::super::classes::{by_class, scores};
use super::super::context::Context;
use super::super::leaderboard;
use super::super::means::{Mean, shown};
use super::super::method::{Method, OURS};
use crate::table;

/// No setting was chosen on these.
const SEEDS: [u64; 4] = [401, 402, 403, 404];
const FRAMES: usize = 60;
const COLUMNS: usize = 512;
/// Every so many frames one is mapped; the others are asked about.
const EVERY: usize = 2;
/// Where a simulated point has no class that is asked about.
const NO_CLASS: u32 = u32::MAX;
const WITH: &str = "E2-BKI, free space known";

/// A frame, and which of its points move, where that is known.
type Seen = (LabelledFrame, Vec<bool>);

/// What a map makes of a drive: scores where nothing moves, and the share of places of moving things that it says are
/// of a class that moves.
struct Outcome {
    record: Record,
    ghosts: Option<f64>,
    ms: f64,
}

pub(super) fn table(context: &mut Context) -> Result<()> {
    context.only_one_network("its labels come from the simulated network")?;
    let methods = [
        Method::ours(OURS, context.config().with(|c| c.free_space.enabled = false), EVERY),
        Method::ours(WITH, context.config().with(|c| c.free_space.enabled = true), EVERY),
    ];
    let (frames, columns) = (context.options.frames.unwrap_or(FRAMES), context.options.columns.unwrap_or(COLUMNS));
    let mut drives = Vec::new();
    let mut classes = None;
    for seed in SEEDS {
        let name = format!("town {seed}");
        let (drive, errors) = open(seed, columns)?;
        let names = ClassSet::new(drive.classes().iter().map(|class| (class.name, class.color)))?;
        let all = (0..frames).map(|index| simulated(&drive, &errors, index));
        drives.push(compare(&name, &names, &methods, frames, all, f64::INFINITY)?);
        classes = Some(names);
    }
    if let Some(classes) = &classes {
        context.note(&format!(
            "Simulated drives through a town, seeds {SEEDS:?}, {frames} frames of {columns} columns, every second one mapped and the \
             others asked about: mean ± standard error. Places of things that move are in no score but `ghosts`: the share of \
             them that the map says are of a class that can move. `near %`: claimed places next to returns. ms and MB are of \
             full frames with live voxels, on a machine that may be busy."
        ))?;
        show(context, classes, &drives)?;
    }
    for dataset in leaderboard::recordings(context)? {
        let seen = |frame: e2bki_eval::Result<LabelledFrame>| -> Result<Seen> {
            let frame = frame?;
            let still = vec![false; frame.points.len()];
            Ok((frame, still))
        };
        let outcomes = compare(
            &dataset.name,
            &dataset.classes,
            &methods,
            dataset.frames,
            dataset.iter().map(seen),
            dataset.max_range_m,
        )?;
        context.note(&format!("{}: {} scans, semantics {}.", dataset.name, dataset.frames, dataset.semantics))?;
        show(context, &dataset.classes, &[outcomes])?;
    }
    Ok(())
}

fn show(context: &mut Context, classes: &ClassSet, drives: &[Vec<Outcome>]) -> Result<()> {
    let records: Vec<Vec<Record>> = drives.iter().map(|of| of.iter().map(|o| o.record.clone()).collect()).collect();
    context.table(&scores(&records))?;
    let mut cost = Table::new(["", "ghosts", "ms", "MB"]);
    for method in 0..drives.first().map_or(0, Vec::len) {
        let mean =
            |value: &dyn Fn(&Outcome) -> Option<f64>| shown(Mean::of(drives.iter().map(|of| value(&of[method]))));
        let name = drives[0][method].record.method.clone();
        let bytes = |o: &Outcome| o.record.bytes.map(|bytes| bytes as f64 / 1e6);
        cost.row([name, mean(&|o| o.ghosts), mean(&|o| Some(o.ms)), mean(&bytes)]);
    }
    context.table(&cost)?;
    if records.iter().flatten().any(|record| record.queries > 0) {
        context.note("IoU by class over the places that a map answers, and with the others as missed:")?;
        context.table(&by_class(classes.names(), &records, |r| &r.iou))?;
        context.table(&by_class(classes.names(), &records, |r| &r.iou_strict))?;
    }
    context.keep(&records.concat());
    Ok(())
}

fn open(seed: u64, columns: usize) -> Result<(Drive, ErrorModel)> {
    let mut options = DriveOptions::new(WorldKind::Urban, seed, Simulated::Hdl64e);
    options.columns = Some(columns);
    let drive = Drive::new(options)?;
    let errors = ErrorModel::for_drive(&drive, 0.3)?;
    Ok((drive, errors))
}

/// A whole scan, as a robot has it.
fn simulated(drive: &Drive, errors: &ErrorModel, index: usize) -> Result<Seen> {
    let frame = drive.frame(index);
    let labelled = LabelledFrame {
        said: Said::Evidence(errors.evidence(&frame)),
        world_from_sensor: Pose::from_matrix(frame.world_from_sensor)?,
        truth: frame.labels.iter().map(|label| u32::from(*label)).collect(),
        points: frame.points,
    };
    Ok((labelled, frame.moving))
}

/// Maps every second frame with every method, and asks at the points of the others.
fn compare(
    name: &str,
    classes: &ClassSet,
    methods: &[Method],
    count: usize,
    frames: impl Iterator<Item = Result<Seen>>,
    max_range_m: f64,
) -> Result<Vec<Outcome>> {
    let mut entrants = methods.iter().map(|m| m.entrant(classes, false)).collect::<Result<Vec<Entrant>>>()?;
    let asked = || GroundTruth::new(classes.len(), Asked::Points, max_range_m, &[View::Voxel]);
    let (mut still, mut moved, mut near) = (asked(), asked(), NearReturns::new(0));
    let bar = table::progress(count, name);
    for (index, seen) in frames.enumerate() {
        let (frame, moving) = seen?;
        if index % EVERY == 0 {
            entrants.iter_mut().try_for_each(|entrant| entrant.insert(&frame))?;
        } else {
            still.add(&only(&frame, &moving, false));
            moved.add(&only(&frame, &moving, true));
        }
        near.add(&frame);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let (still, moved, near) = (still.into_questions(), moved.into_questions(), near.places());
    entrants.iter().map(|entrant| outcome(name, entrant, &still, &moved, &near)).collect()
}

/// The frame with the classes of those points only that move, or do not.
fn only(frame: &LabelledFrame, moving: &[bool], wanted: bool) -> LabelledFrame {
    let mut frame = frame.clone();
    for (truth, moves) in frame.truth.iter_mut().zip(moving) {
        if *moves != wanted {
            *truth = NO_CLASS;
        }
    }
    frame
}

fn outcome(name: &str, entrant: &Entrant, still: &Questions, moved: &Questions, near: &[[f64; 3]]) -> Result<Outcome> {
    let (mut record, _) = assess(name, entrant, View::Voxel, still)?;
    let claimed = entrant.map.query_voxels(near)?.iter().filter(|belief| belief.observed()).count();
    record.before_hits_claimed = (!near.is_empty()).then(|| 100.0 * claimed as f64 / near.len() as f64);
    let beliefs = entrant.map.query_voxels(moved.volume.places())?;
    let classes = entrant.map.classes();
    let ghosts = beliefs.iter().filter(|b| b.label().is_some_and(|label| classes.is_movable(label))).count();
    let ghosts = (!moved.volume.is_empty()).then(|| 100.0 * ghosts as f64 / moved.volume.len() as f64);
    let ms = 1e3 * entrant.seconds.iter().sum::<f64>() / entrant.mapped.max(1) as f64;
    Ok(Outcome { record, ghosts, ms })
}
