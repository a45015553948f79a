//! Worst cases: standing still, driving in circles, frames that are too large or make no sense.
//! Time and memory must stay bounded.

use anyhow::Result;
use e2bki::cluster::Rng;
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
use e2bki_eval::{LabelledFrame, Said};
use serde_json::{Value, json};

use super::line;
use super::measure::{every_frame, median};
use super::scaling::{resized, total_ms};
use crate::table;

/// Metres around the loop.
const LAP_M: usize = 200;
const LAPS: usize = 50;
const STILL_FRAMES: usize = 10_000;

pub(super) fn run(scans: &[LabelledFrame], classes: &ClassSet, threads: usize) -> Result<Value> {
    let heading =
        ["worst: case", "frames", "early ms", "late ms", "ratio", "worst ms", "primitives", "MB early", "MB late"];
    let mut rows = vec![heading.map(str::to_string).to_vec()];
    let mut cases = Vec::new();
    let mut note = |name: &str, course: Course| {
        rows.push(course.row(name));
        cases.push(course.json(name));
    };
    note("standing still", strips(STILL_FRAMES, threads, |_| 0)?);
    note("a loop driven 50 times", strips(LAPS * LAP_M, threads, |i| i % LAP_M)?);
    let config = every_frame(&Config::default(), threads);
    let million = resized(&scans[0], classes.len(), 1_000_000);
    note("a million points", frames(&[million.clone(), million], classes, &config)?);
    let one: Vec<LabelledFrame> = scans.iter().map(|scan| labelled(scan.clone(), |_| 0)).collect();
    note("one class everywhere", frames(&one, classes, &config)?);
    let noise: Vec<LabelledFrame> = (0..5).map(|seed| wall_of_noise(seed, classes.len())).collect();
    note("a wall of noise", frames(&noise, classes, &config)?);
    table::print(&rows)?;
    Ok(json!({"name": "worst", "cases": cases}))
}

/// How time and memory went.
struct Course {
    times: Vec<f64>,
    bytes: [usize; 2],
    primitives: usize,
}

impl Course {
    /// Medians of the second and the last tenth: the first has the cost of new ground.
    fn early_and_late(&self) -> (f64, f64) {
        let tenth = (self.times.len() / 10).max(1);
        let part = |from: usize| median(&mut self.times[from..(from + tenth).min(self.times.len())].to_vec());
        (part(tenth.min(self.times.len() - 1)), part(self.times.len() - tenth))
    }

    fn worst(&self) -> f64 {
        self.times.iter().copied().fold(0.0, f64::max)
    }

    fn row(&self, name: &str) -> Vec<String> {
        let (early, late) = self.early_and_late();
        let numbers = [early, late, late / early, self.worst()].map(|v| format!("{v:.2}"));
        let bytes = self.bytes.map(|bytes| format!("{:.1}", bytes as f64 / 1e6));
        let mut row = vec![name.to_string(), self.times.len().to_string()];
        row.extend(numbers);
        row.push(self.primitives.to_string());
        row.extend(bytes);
        row
    }

    fn json(&self, name: &str) -> Value {
        let (early, late) = self.early_and_late();
        json!({
            "case": name, "frames": self.times.len(), "early_ms": early, "late_ms": late, "worst_ms": self.worst(),
            "primitives": self.primitives, "early_bytes": self.bytes[0], "late_bytes": self.bytes[1],
        })
    }
}

/// Frames of the straight drive, each at the metre that `place` gives, with noise of their own.
fn strips(count: usize, threads: usize, place: impl Fn(usize) -> usize) -> Result<Course> {
    let mut map = line::map(threads)?;
    let mut course = Course { times: Vec::new(), bytes: [0; 2], primitives: 0 };
    let bar = table::progress(count, "driving");
    for i in 0..count {
        let metre = place(i);
        let (points, evidence) = line::strip_of(metre as u64, i as u64);
        let world_from_sensor = line::pose(metre)?;
        let frame = Frame { points: &points, semantics: Semantics::Evidence(&evidence), world_from_sensor, scan: None };
        course.times.push(total_ms(&map.insert(&frame)?));
        if i == count / 5 {
            course.bytes[0] = map.byte_size().total();
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    (course.bytes[1], course.primitives) = (map.byte_size().total(), map.len());
    Ok(course)
}

fn frames(input: &[LabelledFrame], classes: &ClassSet, config: &Config) -> Result<Course> {
    let mut map = Mapper::new(classes.clone(), config.clone())?;
    let mut course = Course { times: Vec::new(), bytes: [0; 2], primitives: 0 };
    for (i, frame) in input.iter().enumerate() {
        course.times.push(total_ms(&map.insert(&frame.borrow())?));
        if i == 0 {
            course.bytes[0] = map.byte_size().total();
        }
    }
    (course.bytes[1], course.primitives) = (map.byte_size().total(), map.len());
    Ok(course)
}

fn labelled(frame: LabelledFrame, label: impl Fn(usize) -> u32) -> LabelledFrame {
    let labels = (0..frame.points.len()).map(label).collect();
    LabelledFrame { said: Said::Labels(labels), ..frame }
}

/// A hundred thousand points of random classes anywhere in a cube of fifty metres: no two of them agree.
fn wall_of_noise(seed: u64, classes: usize) -> LabelledFrame {
    const POINTS: usize = 100_000;
    let mut rng = Rng::new(seed + 1);
    let points = (0..POINTS).map(|_| std::array::from_fn(|_| 50.0 * (rng.uniform() as f32 - 0.5))).collect();
    let labels = (0..POINTS).map(|_| rng.below(classes) as u32).collect();
    let world_from_sensor = Pose::IDENTITY;
    LabelledFrame { points, said: Said::Labels(labels), truth: vec![0; POINTS], world_from_sensor }
}
