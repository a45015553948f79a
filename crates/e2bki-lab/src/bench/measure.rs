//! Frames and queries, measured: warm-up, repeats, medians.

use std::time::{Duration, Instant};

use anyhow::Result;
use e2bki::config::{ClusterCount, Update};
use e2bki::{ClassSet, Config, FrameReport, Mapper, Timings};
use e2bki_eval::LabelledFrame;
use serde_json::{Value, json};

use crate::table;

/// Middle value; the order of the values is changed.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

pub(super) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A configuration whose voxels are kept up to date with every frame: what a frame costs is then all there is to pay.
pub(super) fn every_frame(config: &Config, threads: usize) -> Config {
    config.clone().with(|c| (c.run.threads, c.views.update) = (threads, Update::EveryFrame))
}

/// Frames that were inserted into a fresh map, several times.
pub(super) struct Measured {
    pub(super) reports: Vec<FrameReport>,
    /// Milliseconds from frame to frame when each is prepared while the one before it is added.
    stream: Vec<f64>,
    /// The map after the last time.
    pub(super) map: Mapper,
}

impl Measured {
    /// Inserts the frames: once unmeasured, so that threads are there and memory is mapped, then `repeats` times.
    pub(super) fn new(input: &[LabelledFrame], classes: &ClassSet, config: &Config, repeats: usize) -> Result<Self> {
        let fresh = || Mapper::new(classes.clone(), config.clone());
        let (mut reports, mut stream, mut map) = (Vec::new(), Vec::new(), fresh()?);
        for repeat in 0..=repeats.max(1) {
            map = fresh()?;
            for frame in input {
                let report = map.insert(&frame.borrow())?;
                if repeat > 0 {
                    reports.push(report);
                }
            }
            let periods = streamed(&mut fresh()?, input)?;
            if repeat > 0 {
                stream.extend(periods);
            }
        }
        Ok(Self { reports, stream, map })
    }

    /// Median of a value over all frames.
    pub(super) fn median(&self, value: impl Fn(&FrameReport) -> f64) -> f64 {
        median(&mut self.reports.iter().map(value).collect::<Vec<_>>())
    }

    /// Median, least and most milliseconds of a frame.
    pub(super) fn frame_ms(&self) -> (f64, f64, f64) {
        let mut totals: Vec<f64> = self.reports.iter().map(|report| ms(report.timings.total())).collect();
        let middle = median(&mut totals);
        (middle, totals.first().copied().unwrap_or(0.0), totals.last().copied().unwrap_or(0.0))
    }

    /// Stages with their median milliseconds.
    pub(super) fn stages(&self) -> Vec<(&'static str, f64)> {
        let names = Timings::default().by_stage().into_iter().enumerate();
        names.map(|(i, (name, _))| (name, self.median(|report| ms(report.timings.by_stage()[i].1)))).collect()
    }
}

/// Inserts frames, each prepared while the one before it is added; returns the milliseconds from one to the next.
fn streamed(map: &mut Mapper, input: &[LabelledFrame]) -> Result<Vec<f64>> {
    let mut periods = Vec::with_capacity(input.len());
    let mut prepared = input.first().map(|frame| map.prepare(&frame.borrow())).transpose()?;
    for next in input.iter().skip(1).map(Some).chain([None]) {
        let Some(ready) = prepared.take() else { break };
        let start = Instant::now();
        let report = match next {
            Some(next) => {
                let (report, ahead) = map.insert_and_prepare(ready, &next.borrow());
                prepared = Some(ahead?);
                report
            }
            None => map.insert_prepared(ready),
        };
        report?;
        if next.is_some() {
            periods.push(ms(start.elapsed()));
        }
    }
    Ok(periods)
}

/// A preset with its clusters in total: so many in a frame however many classes it has, as earlier runs had them.
pub(super) fn in_total(preset: &str) -> Result<Config> {
    Ok(Config::preset(preset)?.with(|c| c.clustering.count = ClusterCount::Total))
}

/// Time per stage of a kind of frame.
pub(super) fn frames(
    name: &str,
    input: &[LabelledFrame],
    classes: &ClassSet,
    (preset, threads): (&str, usize),
    repeats: usize,
) -> Result<Value> {
    let config = every_frame(&in_total(preset)?, threads);
    let measured = Measured::new(input, classes, &config, repeats)?;
    let points = input.iter().map(|frame| frame.points.len()).sum::<usize>() / input.len().max(1);
    let mut rows = vec![vec![
        format!("{name}: {points} points, {} classes, {preset}, clusters in total", classes.len()),
        "median ms".into(),
    ]];
    let mut stages = serde_json::Map::new();
    for (stage, middle) in measured.stages() {
        stages.insert(stage.to_string(), middle.into());
        rows.push(vec![stage.to_string(), format!("{middle:.2}")]);
    }
    let (total, fastest, slowest) = measured.frame_ms();
    rows.push(vec!["frame".into(), format!("{total:.2}")]);
    let stream = median(&mut measured.stream.clone());
    rows.push(vec!["from frame to frame in a stream".into(), format!("{stream:.2}")]);
    // And where nobody looks at the voxels.
    let late = Measured::new(input, classes, &config.clone().with(|c| c.views.update = Update::OnDemand), repeats)?;
    let (late_total, late_stream) = (late.frame_ms().0, median(&mut late.stream.clone()));
    rows.push(vec!["frame, views on demand".into(), format!("{late_total:.2}")]);
    rows.push(vec!["in a stream, views on demand".into(), format!("{late_stream:.2}")]);
    table::print(&rows)?;
    let map = &measured.map;
    let bytes = map.byte_size();
    let per = |part: usize| part as f64 / map.len().max(1) as f64;
    let updated = measured.median(|report| report.voxels_updated as f64);
    let values = measured.median(|report| report.kernel_values as f64);
    table::line(&format!(
        "{:.1} frames/s one by one (frames took {fastest:.1} to {slowest:.1} ms), {:.1} in a stream; {updated:.0} voxels and \
         {values:.0} kernel values computed per frame; after {} frames {} primitives, {:.0} bytes each with index, and {} voxels ({:.0} bytes per \
         primitive)\n",
        1e3 / total,
        1e3 / stream,
        input.len(),
        map.len(),
        per(bytes.primitives + bytes.derived + bytes.index),
        map.live_voxel_count(),
        per(bytes.voxels),
    ))?;
    Ok(json!({
        "name": name, "points": points, "classes": classes.len(), "preset": preset, "frames": input.len(),
        "hz": 1e3 / total, "median_ms": total, "min_ms": fastest, "max_ms": slowest, "stage_ms": stages,
        "stream_ms": stream, "stream_hz": 1e3 / stream,
        "on_demand": {"median_ms": late_total, "stream_ms": late_stream, "bytes": late.map.byte_size().total()},
        "voxels_updated": updated, "kernel_values": values, "primitives": map.len(), "voxels": map.live_voxel_count(),
        "bytes": {"primitives": bytes.primitives, "derived": bytes.derived, "index": bytes.index, "voxels": bytes.voxels},
    }))
}

/// A million continuous queries within 0.2 m of mapped points.
pub(super) fn queries(input: &[LabelledFrame], classes: &ClassSet, threads: usize, repeats: usize) -> Result<Value> {
    let mut map = Mapper::new(classes.clone(), every_frame(&Config::default(), threads))?;
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
