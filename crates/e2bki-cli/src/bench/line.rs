//! The paper's scalability stress: a straight drive that never sees the same place twice.

use std::time::Instant;

use anyhow::Result;
use e2bki::cluster::Rng;
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
use serde_json::{Value, json};

use crate::table;

const CLASSES: usize = 7;
const POINTS: usize = 2000;

/// Drives `frames` metres; prints time per frame and memory along the way.
pub(crate) fn run(frames: usize, threads: usize) -> Result<Value> {
    let classes = ClassSet::from_names((0..CLASSES).map(|c| format!("class {c}")))?;
    let mut map = Mapper::new(classes, Config { threads, ..Config::default() })?;
    let bar = table::progress(frames, "driving");
    let mut times = Vec::with_capacity(frames);
    for i in 0..frames {
        let (points, evidence) = strip(i as u64);
        let pose = Pose::from_translation([i as f64, 0.0, 1.5])?;
        let start = Instant::now();
        map.insert(&Frame { points: &points, semantics: Semantics::Evidence(&evidence), world_from_sensor: pose })?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mean = |from: usize, to: usize| {
        let window = &times[from.min(frames)..to.min(frames)];
        window.iter().sum::<f64>() / window.len().max(1) as f64
    };
    let window = (frames / 5).clamp(1, 1000);
    let (early, late) = (mean(window, 2 * window), mean(frames - window, frames));
    let bytes = map.byte_size();
    let per = |part: usize| part as f64 / map.len().max(1) as f64;
    table::print(&[
        vec![format!("line: {frames} frames of {POINTS} points"), String::new()],
        vec![format!("ms per frame, frames {window} to {}", 2 * window), format!("{early:.3}")],
        vec![format!("ms per frame, last {window}"), format!("{late:.3}")],
        vec!["ratio".into(), format!("{:.3}", late / early)],
        vec!["primitives".into(), map.len().to_string()],
        vec!["bytes per primitive, with index".into(), format!("{:.0}", per(bytes.primitives + bytes.index))],
        vec!["bytes of voxels per primitive".into(), format!("{:.0}", per(bytes.voxels))],
    ])?;
    table::line("")?;
    Ok(json!({
        "name": "line", "frames": frames, "early_ms": early, "late_ms": late, "ratio": late / early,
        "primitives": map.len(),
        "bytes": {"primitives": bytes.primitives, "index": bytes.index, "voxels": bytes.voxels},
    }))
}

/// A strip of ground with walls on both sides, three metres around the sensor, of seven classes in patches.
fn strip(frame: u64) -> (Vec<[f32; 3]>, Vec<f32>) {
    let mut rng = Rng::new(frame + 1);
    let mut points = Vec::with_capacity(POINTS);
    let mut evidence = Vec::with_capacity(POINTS * CLASSES);
    for _ in 0..POINTS {
        let x = 3.0 * (2.0 * rng.uniform() - 1.0);
        let y = 6.0 * (2.0 * rng.uniform() - 1.0);
        let wall = y.abs() > 4.0;
        let (y, z) = if wall { (4.0 * y.signum(), 3.0 * rng.uniform()) } else { (y, 0.02 * rng.uniform()) };
        points.push([x as f32, y as f32, (z - 1.5) as f32]);
        let world_x = frame as f64 + x;
        let patch =
            if wall { 5 + usize::from(y > 0.0) } else { ((world_x / 7.0).floor() as i64).rem_euclid(5) as usize };
        evidence.extend((0..CLASSES).map(|c| if c == patch { 12.0 } else { 0.3 * rng.uniform() as f32 }));
    }
    (points, evidence)
}
