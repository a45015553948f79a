//! Frames and queries, measured: warm-up, repeats, medians.

use std::time::Instant;

use anyhow::Result;
use e2bki::{ClassSet, Config, Mapper, Timings};
use e2bki_eval::LabelledFrame;
use serde_json::{Value, json};

use crate::table;

/// Middle value; the order of the values is changed.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn mapper(classes: &ClassSet, preset: &str, threads: usize) -> Result<Mapper> {
    Ok(Mapper::new(classes.clone(), Config { threads, ..Config::preset(preset)? })?)
}

/// Inserts the frames into a fresh map, several times; prints and returns per-stage medians over all frames.
pub(crate) fn frames(
    name: &str,
    input: &[LabelledFrame],
    classes: &ClassSet,
    preset: &str,
    threads: usize,
    repeats: usize,
) -> Result<Value> {
    let mut times: Vec<Timings> = Vec::new();
    let mut updated: Vec<f64> = Vec::new();
    let mut map = mapper(classes, preset, threads)?;
    // One unmeasured pass first: threads start, memory is mapped.
    for repeat in 0..=repeats.max(1) {
        map = mapper(classes, preset, threads)?;
        for frame in input {
            let report = map.insert(&frame.borrow())?;
            if repeat > 0 {
                times.push(report.timings);
                updated.push(report.voxels_updated as f64);
            }
        }
    }
    let points = input.iter().map(|frame| frame.points.len()).sum::<usize>() / input.len().max(1);
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    let mut rows =
        vec![vec![format!("{name}: {points} points, {} classes, {preset}", classes.len()), "median ms".into()]];
    let mut stages = serde_json::Map::new();
    for (i, (stage, _)) in Timings::default().by_stage().iter().enumerate() {
        let middle = median(&mut times.iter().map(|t| ms(t.by_stage()[i].1)).collect::<Vec<_>>());
        stages.insert(stage.to_string(), middle.into());
        rows.push(vec![stage.to_string(), format!("{middle:.2}")]);
    }
    let mut totals: Vec<f64> = times.iter().map(|t| ms(t.total())).collect();
    let total = median(&mut totals);
    let (fastest, slowest) = (totals[0], totals[totals.len() - 1]);
    rows.push(vec!["frame".into(), format!("{total:.2}")]);
    table::print(&rows)?;
    let bytes = map.byte_size();
    let per = |part: usize| part as f64 / map.len().max(1) as f64;
    table::line(&format!(
        "{:.1} frames/s, {:.0} voxels computed anew per frame (frames took {fastest:.1} to {slowest:.1} ms); after {} frames {} primitives, \
         {:.0} bytes each with index, and {} voxels ({:.0} bytes per primitive)\n",
        1e3 / total,
        median(&mut updated),
        input.len(),
        map.len(),
        per(bytes.primitives + bytes.index),
        map.live_voxel_count(),
        per(bytes.voxels),
    ))?;
    Ok(json!({
        "name": name, "points": points, "classes": classes.len(), "preset": preset, "frames": input.len(),
        "hz": 1e3 / total, "median_ms": total, "min_ms": fastest, "max_ms": slowest, "stage_ms": stages,
        "voxels_updated": median(&mut updated), "primitives": map.len(), "voxels": map.live_voxel_count(),
        "bytes": {"primitives": bytes.primitives, "index": bytes.index, "voxels": bytes.voxels},
    }))
}

/// A million continuous queries within 0.2 m of mapped points.
pub(crate) fn queries(input: &[LabelledFrame], classes: &ClassSet, threads: usize, repeats: usize) -> Result<Value> {
    let mut map = mapper(classes, "default", threads)?;
    for frame in input.iter().take(5) {
        map.insert(&frame.borrow())?;
    }
    let mut rng = e2bki::cluster::Rng::new(1);
    let frame = &input[0];
    let points: Vec<[f64; 3]> = (0..1_000_000)
        .map(|_| {
            let p = frame.world_from_sensor.apply(frame.points[rng.below(frame.points.len())].map(f64::from));
            p.map(|v| v + 0.4 * (rng.uniform() - 0.5))
        })
        .collect();
    let mut observed = 0;
    let mut times: Vec<f64> = Vec::new();
    for _ in 0..=repeats.max(1) {
        let start = Instant::now();
        let beliefs = map.query(&points);
        times.push(start.elapsed().as_secs_f64());
        observed = beliefs.iter().filter(|belief| belief.observed()).count();
    }
    let rate = points.len() as f64 / median(&mut times[1..]);
    table::line(&format!(
        "queries: {:.2} million/s near surfaces, {} primitives, {:.0} % of the places observed\n",
        rate / 1e6,
        map.len(),
        100.0 * observed as f64 / points.len() as f64
    ))?;
    Ok(json!({"name": "queries", "per_second": rate, "primitives": map.len(), "observed": observed}))
}
