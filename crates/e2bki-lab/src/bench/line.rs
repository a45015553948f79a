//! The paper's scalability stress: a straight drive that never sees the same place twice.

use std::time::Instant;

use anyhow::Result;
use e2bki::cluster::Rng;
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
use serde_json::{Value, json};

use super::measure::{every_frame, median};
use crate::table;

/// Classes of the drive.
pub(crate) const CLASSES: usize = 7;
/// Points of a frame.
pub(crate) const POINTS: usize = 2000;

/// Drives `frames` metres. The last stretch alternates, frame by frame, with the early stretch of a second, young map, so
/// that a machine whose speed drifts does not spoil the comparison.
pub(crate) fn run(frames: usize, threads: usize) -> Result<Value> {
    let stretch = (frames / 5).clamp(1, 1000);
    let mut old = map(threads)?;
    let mut young = map(threads)?;
    let bar = table::progress(frames + stretch, "driving");
    for i in 0..frames - stretch {
        insert(&mut old, i)?;
        bar.inc(1);
    }
    for i in 0..stretch {
        insert(&mut young, i)?;
        bar.inc(1);
    }
    let (mut early, mut late) = (Vec::new(), Vec::new());
    for i in 0..stretch {
        early.push(insert(&mut young, stretch + i)?);
        late.push(insert(&mut old, frames - stretch + i)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let (early, late) = (median(&mut early), median(&mut late));
    let bytes = old.byte_size();
    let per = |part: usize| part as f64 / old.len().max(1) as f64;
    table::print(&[
        vec![format!("line: {frames} frames of {POINTS} points"), String::new()],
        vec![format!("median ms per frame, frames {stretch} to {}", 2 * stretch), format!("{early:.3}")],
        vec![format!("median ms per frame, last {stretch}"), format!("{late:.3}")],
        vec!["ratio".into(), format!("{:.3}", late / early)],
        vec!["primitives".into(), old.len().to_string()],
        vec![
            "bytes per primitive, with index".into(),
            format!("{:.0}", per(bytes.primitives + bytes.derived + bytes.index)),
        ],
        vec!["bytes of voxels per primitive".into(), format!("{:.0}", per(bytes.voxels))],
    ])?;
    table::line("")?;
    Ok(json!({
        "name": "line", "frames": frames, "early_ms": early, "late_ms": late, "ratio": late / early,
        "primitives": old.len(),
        "bytes": {"primitives": bytes.primitives, "derived": bytes.derived, "index": bytes.index, "voxels": bytes.voxels},
    }))
}

pub(super) fn map(threads: usize) -> Result<Mapper> {
    let classes = ClassSet::from_names((0..CLASSES).map(|c| format!("class {c}")))?;
    Ok(Mapper::new(classes, every_frame(&Config::default(), threads))?)
}

/// Inserts the frame of one metre; returns the milliseconds it took.
fn insert(map: &mut Mapper, metre: usize) -> Result<f64> {
    let (points, evidence) = strip(metre as u64);
    let pose = pose(metre)?;
    let start = Instant::now();
    map.insert(&Frame {
        points: &points,
        semantics: Semantics::Evidence(&evidence),
        world_from_sensor: pose,
        scan: None,
    })?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

/// Where the sensor is at a metre of the drive.
pub(crate) fn pose(metre: usize) -> Result<Pose> {
    Ok(Pose::from_translation([metre as f64, 0.0, 1.5])?)
}

/// A strip of ground with walls on both sides, three metres around the sensor, of seven classes in patches.
pub(crate) fn strip(metre: u64) -> (Vec<[f32; 3]>, Vec<f32>) {
    strip_of(metre, metre)
}

/// The strip at a metre as one of many frames sees it.
pub(super) fn strip_of(metre: u64, frame: u64) -> (Vec<[f32; 3]>, Vec<f32>) {
    let mut rng = Rng::new(frame + 1);
    let mut points = Vec::with_capacity(POINTS);
    let mut evidence = Vec::with_capacity(POINTS * CLASSES);
    for _ in 0..POINTS {
        let x = 3.0 * (2.0 * rng.uniform() - 1.0);
        let y = 6.0 * (2.0 * rng.uniform() - 1.0);
        let wall = y.abs() > 4.0;
        let (y, z) = if wall { (4.0 * y.signum(), 3.0 * rng.uniform()) } else { (y, 0.02 * rng.uniform()) };
        points.push([x as f32, y as f32, (z - 1.5) as f32]);
        let world_x = metre as f64 + x;
        let patch =
            if wall { 5 + usize::from(y > 0.0) } else { ((world_x / 7.0).floor() as i64).rem_euclid(5) as usize };
        evidence.extend((0..CLASSES).map(|c| if c == patch { 12.0 } else { 0.3 * rng.uniform() as f32 }));
    }
    (points, evidence)
}
