//! How near the simulated stand-ins come to real frames: quantiles of range, incidence and spacing of the points in the
//! camera's view, simulated over real, as Markdown, and as a figure.
//!
//! Usage: `cargo run --release -p e2bki-lab --example stand_ins [first|matched [FIGURE]]`. Real data is looked for in the folder that
//! `E2BKI_DATA` names; without it the table has simulated columns only, and says so.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use e2bki::primitive::symmetric_eigen;
use e2bki_data::{Dataset, GroundTruth, OpenOptions, SemanticsSource};
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_sim::{Drive, Generation, Split, Standard};

/// Quantiles that are compared, percent.
const QUANTILES: [usize; 7] = [10, 25, 50, 75, 90, 95, 99];
/// Neighbours within this distance tell the surface of a point, metres.
const AROUND_M: f32 = 0.4;
/// Frames of a drive that are looked at, and the steps between them.
const FRAMES: usize = 8;
const STEP: usize = 40;

/// What is known of the points of some frames.
#[derive(Default)]
struct Sample {
    frames: usize,
    ranges: Vec<f32>,
    /// Angle between beam and surface normal, degrees.
    incidence: Vec<f32>,
    /// Distance to the nearest other point of the frame, metres.
    spacing: Vec<f32>,
}

impl Sample {
    fn add(&mut self, points: &[[f32; 3]]) {
        self.frames += 1;
        let cell = |p: &[f32; 3]| p.map(|v| (v / AROUND_M).floor() as i32);
        let mut cells: HashMap<[i32; 3], Vec<usize>> = HashMap::new();
        for (i, point) in points.iter().enumerate() {
            cells.entry(cell(point)).or_default().push(i);
        }
        for (i, point) in points.iter().enumerate() {
            let range = length(*point);
            self.ranges.push(range);
            let near = neighbours(&cells, points, i, cell(point));
            if let Some(nearest) = near.iter().map(|d| length(*d)).min_by(f32::total_cmp) {
                self.spacing.push(nearest);
            }
            if near.len() >= 6 {
                let normal = normal(&near);
                let along: f64 = (0..3).map(|k| normal[k] * f64::from(point[k] / range)).sum();
                self.incidence.push(along.abs().min(1.0).acos().to_degrees() as f32);
            }
        }
    }
}

/// Other points within reach of a point, relative to it.
fn neighbours(
    cells: &HashMap<[i32; 3], Vec<usize>>,
    points: &[[f32; 3]],
    i: usize,
    [x, y, z]: [i32; 3],
) -> Vec<[f32; 3]> {
    let mut near = Vec::new();
    for (dx, dy, dz) in (0..27).map(|k| (k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1)) {
        for j in cells.get(&[x + dx, y + dy, z + dz]).into_iter().flatten().filter(|j| **j != i) {
            let d: [f32; 3] = std::array::from_fn(|k| points[*j][k] - points[i][k]);
            if length(d) < AROUND_M {
                near.push(d);
            }
        }
    }
    near
}

/// Direction in which neighbours spread least.
fn normal(near: &[[f32; 3]]) -> [f64; 3] {
    let count = near.len() as f64;
    let mean: [f64; 3] = std::array::from_fn(|k| near.iter().map(|d| f64::from(d[k])).sum::<f64>() / count);
    let moment = |a: usize, b: usize| {
        near.iter().map(|d| (f64::from(d[a]) - mean[a]) * (f64::from(d[b]) - mean[b])).sum::<f64>() / count
    };
    symmetric_eigen([moment(0, 0), moment(1, 1), moment(2, 2), moment(0, 1), moment(0, 2), moment(1, 2)]).1[0]
}

fn length(p: [f32; 3]) -> f32 {
    (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt()
}

fn simulated(standard: Standard, generation: Generation) -> Result<Sample> {
    let drive = Drive::new(standard.drives_of(generation, Split::Test)[0].options)?;
    let mut sample = Sample::default();
    for i in 0..FRAMES {
        let points = drive.frame(i * STEP).points;
        sample.add(&points.into_iter().filter(|p| drive.pixel_of(*p).is_some()).collect::<Vec<_>>());
    }
    Ok(sample)
}

/// Every so many frames of a recording; nothing where it is not there.
fn real(folder: &Path, every: usize) -> Result<Option<Sample>> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let options = OpenOptions {
        semantics: SemanticsSource::Nothing,
        ground_truth: GroundTruth::Off,
        only_in_image: true,
        ..OpenOptions::default()
    };
    let dataset = Dataset::open(folder, &options)?;
    let mut sample = Sample::default();
    for index in (0..dataset.len()).step_by(every) {
        sample.add(&dataset.load(index)?.points);
    }
    Ok(Some(sample))
}

/// Prints the quantiles; panels of both where there are real frames.
fn show(title: &str, made: &mut Sample, real: Option<&mut Sample>) -> Vec<Panel> {
    let mut panels = Vec::new();
    println!("\n{title}: {} simulated frames, {} real\n", made.frames, real.as_ref().map_or(0, |r| r.frames));
    println!("| | unit |{}", QUANTILES.map(|q| format!(" {q} % |")).concat());
    println!("|--|--|{}", "--|".repeat(QUANTILES.len()));
    let mut real = real;
    type Part = fn(&mut Sample) -> &mut Vec<f32>;
    let parts: [(&str, &str, Part); 3] = [
        ("range", "m", |s| &mut s.ranges),
        ("incidence", "°", |s| &mut s.incidence),
        ("spacing", "m", |s| &mut s.spacing),
    ];
    for (name, unit, part) in parts {
        let quantiles = |values: &mut Vec<f32>| {
            values.sort_by(f32::total_cmp);
            QUANTILES.map(|q| values.get(values.len() * q / 100).copied().unwrap_or(f32::NAN))
        };
        let ours = quantiles(part(made));
        let row = |name: &str, unit: &str, cells: [String; QUANTILES.len()]| {
            println!("| {name} | {unit} |{}", cells.map(|cell| format!(" {cell} |")).concat());
        };
        row(&format!("{name}, simulated"), unit, ours.map(|v| format!("{v:.3}")));
        if let Some(real) = &mut real {
            let theirs = quantiles(part(real));
            row(&format!("{name}, real"), unit, theirs.map(|v| format!("{v:.3}")));
            row("simulated over real", "", std::array::from_fn(|k| format!("{:.2}", ours[k] / theirs[k])));
            let line = |name: &str, of: [f32; QUANTILES.len()]| Series::at_ticks(name, of.map(|v| Some(f64::from(v))));
            let ticks = QUANTILES.map(|q| format!("{q} %")).to_vec();
            let series = vec![line("simulated", ours), line("real", theirs)];
            panels.push(Panel::lines(&format!("{title}: {name}"), "quantile", unit, ticks, series));
        }
    }
    let count = |s: &Sample| s.ranges.len() / s.frames.max(1);
    let beyond =
        |s: &Sample, m: f32| 100.0 * s.ranges.iter().filter(|r| **r > m).count() as f64 / s.ranges.len().max(1) as f64;
    let line = |name: &str, s: &Sample| {
        println!(
            "{name}: {} points a frame, {:.1} % beyond 30 m, {:.1} % beyond 50 m",
            count(s),
            beyond(s, 30.0),
            beyond(s, 50.0)
        );
    };
    println!();
    line("simulated", made);
    match real {
        Some(real) => line("real", real),
        None => println!("No real frames: E2BKI_DATA does not name a folder that has them."),
    }
    panels
}

fn main() -> Result<()> {
    let generation = match std::env::args().nth(1) {
        Some(name) => name.parse()?,
        None => Generation::Matched,
    };
    let data = std::env::var_os("E2BKI_DATA").map(PathBuf::from).unwrap_or_default();
    let mut panels = Vec::new();
    for (title, standard, folder, every) in [
        ("rellis-like beside RELLIS-3D", Standard::RellisLike, "rellis3d", 1),
        ("offroad-like beside RELLIS-3D", Standard::OffroadLike, "rellis3d", 1),
        ("kitti360-like beside KITTI-360", Standard::KittiLike, "kitti360", 4),
        ("kitti360-like beside SemanticKITTI 00", Standard::KittiLike, "semantickitti/sequences/00", 1),
    ] {
        let mut made = simulated(standard, generation)?;
        let mut found = real(&data.join(folder), every)?;
        panels.extend(show(title, &mut made, found.as_mut()));
    }
    if let Some(stem) = std::env::args().nth(2).filter(|_| !panels.is_empty()) {
        let mut figure = Figure::new("Simulated drives beside recordings", 3, panels);
        figure.panel_px = (440, 300);
        figure.save(Path::new(&stem))?;
    }
    Ok(())
}
