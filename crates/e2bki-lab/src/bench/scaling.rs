//! How the cost of a frame grows with points, resolution, classes and threads.

use anyhow::Result;
use e2bki::cluster::Rng;
use e2bki::{ClassSet, Config};
use e2bki_eval::{LabelledFrame, Said};
use serde_json::{Value, json};

use super::measure::{Measured, every_frame, in_total, ms};
use crate::table;

/// Bytes of live voxels beyond which they are not made, but said what they would take: a third of the memory that is free
/// (they are built beside what they replace), or 3 GB where the system does not tell.
fn most_voxel_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let free = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    free.map_or(3e9, |kilobytes| kilobytes * 1024.0 / 3.0)
}

/// Frames of 10,000 to a million points of the same scene.
pub(super) fn points(scans: &[LabelledFrame], classes: &ClassSet, threads: usize, repeats: usize) -> Result<Value> {
    let config = every_frame(&Config::default(), threads);
    let mut table = Growth::new("points", "points a frame");
    for count in [10_000, 30_000, 100_000, 300_000, 1_000_000] {
        let input: Vec<LabelledFrame> = scans.iter().take(2).map(|scan| resized(scan, classes.len(), count)).collect();
        table.add(count as f64, &Measured::new(&input, classes, &config, repeats)?)?;
    }
    table.finish()
}

/// Voxels of 0.4 m to 0.01 m over one camera view.
pub(super) fn resolution(view: &[LabelledFrame], classes: &ClassSet, threads: usize) -> Result<Value> {
    let mut table = Growth::new("resolution", "voxel side, m");
    let most = most_voxel_bytes();
    let (mut bytes, mut side) = (0.0, 0.4);
    for next in [0.4, 0.2, 0.1, 0.05, 0.02, 0.01] {
        // Voxels fill the volume that kernels reach: eight times as many of half the side.
        let expected = bytes * f64::powi(side / next, 3);
        if expected > most {
            table.skip(next, &format!("left out: {:.0} GB of voxels", expected / 1e9));
            continue;
        }
        let config = every_frame(&in_total("paper-rellis")?, threads).with(|c| c.views.resolution = next);
        let measured = Measured::new(&view[..1], classes, &config, 1)?;
        (bytes, side) = (measured.map.byte_size().voxels as f64, next);
        table.add(next, &measured)?;
    }
    table.finish()
}

/// Two to 64 classes, evidence for each of them at every point.
pub(super) fn classes(scans: &[LabelledFrame], threads: usize, repeats: usize) -> Result<Value> {
    let config = every_frame(&Config::default(), threads);
    let mut table = Growth::new("classes", "classes");
    for count in [2, 4, 8, 16, 32, 64] {
        let classes = ClassSet::from_names((0..count).map(|c| format!("class {c}")))?;
        let input: Vec<LabelledFrame> = scans.iter().take(2).map(|scan| with_classes(scan, count)).collect();
        table.add(count as f64, &Measured::new(&input, &classes, &config, repeats)?)?;
    }
    table.finish()
}

/// One thread, two, and so on to one per core.
pub(super) fn threads(scans: &[LabelledFrame], classes: &ClassSet, repeats: usize) -> Result<Value> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let counts = std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|n| *n < cores).chain([cores]);
    let mut table = Growth::new("threads", "threads");
    for count in counts {
        let config = every_frame(&Config::default(), count);
        table.add(count as f64, &Measured::new(scans, classes, &config, repeats)?)?;
    }
    table.finish()
}

/// A table of measurements by one parameter.
struct Growth {
    name: &'static str,
    rows: Vec<Vec<String>>,
    values: Vec<Value>,
}

impl Growth {
    fn new(name: &'static str, parameter: &str) -> Self {
        let stages = e2bki::Timings::default().by_stage();
        let mut heading = vec![format!("{name}: {parameter}")];
        heading.extend(stages.iter().map(|(stage, _)| stage.to_string()));
        heading.extend(["frame ms", "primitives", "voxels", "MB"].map(str::to_string));
        Self { name, rows: vec![heading], values: Vec::new() }
    }

    fn add(&mut self, parameter: f64, measured: &Measured) -> Result<()> {
        let (total, least, most) = measured.frame_ms();
        let (map, stages) = (&measured.map, measured.stages());
        let mut row = vec![parameter.to_string()];
        row.extend(stages.iter().map(|(_, ms)| format!("{ms:.2}")));
        row.push(format!("{total:.2}"));
        row.extend([map.len(), map.live_voxel_count()].map(|n| n.to_string()));
        row.push(format!("{:.1}", map.byte_size().total() as f64 / 1e6));
        self.rows.push(row);
        let stage_ms: serde_json::Map<String, Value> =
            stages.iter().map(|(s, ms)| (s.to_string(), (*ms).into())).collect();
        self.values.push(json!({
            "at": parameter, "median_ms": total, "min_ms": least, "max_ms": most, "stage_ms": stage_ms,
            "primitives": map.len(), "voxels": map.live_voxel_count(), "total_bytes": map.byte_size().total(),
        }));
        Ok(())
    }

    fn skip(&mut self, parameter: f64, why: &str) {
        self.rows.push(vec![format!("{parameter} {why}")]);
        self.values.push(json!({"at": parameter, "left_out": why}));
    }

    fn finish(self) -> Result<Value> {
        table::print(&self.rows)?;
        Ok(json!({"name": self.name, "steps": self.values}))
    }
}

/// The frame thinned evenly, or its points repeated within a few centimetres.
pub(super) fn resized(frame: &LabelledFrame, classes: usize, count: usize) -> LabelledFrame {
    let all = frame.points.len();
    if count <= all {
        return frame.filtered(classes, |i| (i + 1) * count / all > i * count / all);
    }
    let mut rng = Rng::new(count as u64);
    let from: Vec<usize> = (0..count).map(|i| i % all).collect();
    let near = |i: &usize| frame.points[*i].map(|v| v + 0.1 * (rng.uniform() as f32 - 0.5));
    LabelledFrame {
        points: from.iter().map(near).collect(),
        said: chosen(&frame.said, classes, &from),
        truth: from.iter().map(|i| frame.truth[*i]).collect(),
        world_from_sensor: frame.world_from_sensor,
    }
}

fn chosen(said: &Said, classes: usize, from: &[usize]) -> Said {
    let rows = |values: &[f32]| from.iter().flat_map(|i| values[i * classes..][..classes].to_vec()).collect();
    match said {
        Said::Evidence(values) => Said::Evidence(rows(values)),
        Said::Probabilities(values) => Said::Probabilities(rows(values)),
        Said::Logits(values, kind) => Said::Logits(rows(values), *kind),
        Said::Labels(labels) => Said::Labels(from.iter().map(|i| labels[*i]).collect()),
    }
}

/// The frame with so many classes, which change every few metres.
fn with_classes(frame: &LabelledFrame, count: usize) -> LabelledFrame {
    let class = |(point, truth): (&[f32; 3], &u32)| {
        let patch = (point[0] / 4.0).floor() as i64 + 3 * (point[1] / 4.0).floor() as i64;
        (i64::from(*truth) + patch).rem_euclid(count as i64) as usize
    };
    let labels: Vec<usize> = frame.points.iter().zip(&frame.truth).map(class).collect();
    let row = |label: &usize| (0..count).map(|c| if c == *label { 12.0 } else { 0.1 }).collect::<Vec<f32>>();
    LabelledFrame {
        points: frame.points.clone(),
        said: Said::Evidence(labels.iter().flat_map(row).collect()),
        truth: labels.iter().map(|label| *label as u32).collect(),
        world_from_sensor: frame.world_from_sensor,
    }
}

/// Milliseconds of a frame.
pub(super) fn total_ms(report: &e2bki::FrameReport) -> f64 {
    ms(report.timings.total())
}
