//! How near the simulated stand-ins come to real frames: quantiles of range, incidence and spacing of the points in the
//! camera's view, simulated over real, as Markdown, and as a figure.
//!
//! Usage: `cargo run --release -p e2bki-lab --example stand_ins [first|matched|near [FIGURE]]`. Real data is looked for in the folder that
//! `E2BKI_DATA` names; without it the table has simulated columns only, and says so. `near` says what lies near in town, and
//! what the nearest points would be without it.

mod near;
mod sample;

use std::path::{Path, PathBuf};

use anyhow::Result;
use e2bki_data::{Dataset, GroundTruth, OpenOptions, OwnedSemantics, SemanticsSource};
use e2bki_eval::plot::{Figure, Panel, Series};
use e2bki_sim::{Drive, DriveOptions, Generation, Split, Standard};
use sample::{Sample, Seen};

/// Quantiles that are compared, percent.
const QUANTILES: [usize; 7] = [10, 25, 50, 75, 90, 95, 99];
/// Frames of a drive that are looked at, and the steps between them.
const FRAMES: usize = 8;
const STEP: usize = 40;

/// Frames of the first test drive of a set.
fn simulated(standard: Standard, generation: Generation) -> Result<Sample> {
    of_drive(standard.drives_of(generation, Split::Test)[0].options)
}

fn of_drive(options: DriveOptions) -> Result<Sample> {
    let drive = Drive::new(options)?;
    let mut sample = Sample::default();
    for i in 0..FRAMES {
        let frame = drive.frame(i * STEP);
        let seen = (0..frame.points.len()).filter(|k| drive.pixel_of(frame.points[*k]).is_some());
        let (points, classes): (Vec<_>, Vec<_>) = seen.map(|k| (frame.points[k], u32::from(frame.labels[k]))).unzip();
        sample.add(&points, &classes);
    }
    Ok(sample)
}

/// Every so many frames of a recording, with the classes that a source says; nothing where it is not there.
fn real(folder: &Path, every: usize, semantics: SemanticsSource) -> Result<Option<Sample>> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let options =
        OpenOptions { semantics, ground_truth: GroundTruth::Off, only_in_image: true, ..OpenOptions::default() };
    let dataset = Dataset::open(folder, &options)?;
    let mut sample = Sample::default();
    for index in (0..dataset.len()).step_by(every) {
        let frame = dataset.load(index)?;
        let OwnedSemantics::Labels(classes) = frame.semantics else { anyhow::bail!("labels are expected") };
        sample.add(&frame.points, &classes);
    }
    Ok(Some(sample))
}

/// What is compared, and its unit.
type Part = (&'static str, &'static str, fn(&Seen) -> Option<f32>);
const PARTS: [Part; 3] = [
    ("range", "m", |seen| Some(seen.range)),
    ("incidence", "°", |seen| seen.incidence),
    ("spacing", "m", |seen| seen.spacing),
];

/// Prints the quantiles; panels of both where there are real frames.
fn show(title: &str, made: &Sample, real: Option<&Sample>) -> Vec<Panel> {
    let mut panels = Vec::new();
    println!("\n{title}: {} simulated frames, {} real\n", made.frames, real.map_or(0, |r| r.frames));
    println!("| | unit |{}", QUANTILES.map(|q| format!(" {q} % |")).concat());
    println!("|--|--|{}", "--|".repeat(QUANTILES.len()));
    for (name, unit, of) in PARTS {
        let ours = made.quantiles(QUANTILES, of);
        let row = |name: &str, unit: &str, cells: [String; QUANTILES.len()]| {
            println!("| {name} | {unit} |{}", cells.map(|cell| format!(" {cell} |")).concat());
        };
        row(&format!("{name}, simulated"), unit, ours.map(|v| format!("{v:.3}")));
        if let Some(real) = real {
            let theirs = real.quantiles(QUANTILES, of);
            row(&format!("{name}, real"), unit, theirs.map(|v| format!("{v:.3}")));
            row("simulated over real", "", std::array::from_fn(|k| format!("{:.2}", ours[k] / theirs[k])));
            let line = |name: &str, of: [f32; QUANTILES.len()]| Series::at_ticks(name, of.map(|v| Some(f64::from(v))));
            let ticks = QUANTILES.map(|q| format!("{q} %")).to_vec();
            let series = vec![line("simulated", ours), line("real", theirs)];
            panels.push(Panel::lines(&format!("{title}: {name}"), "quantile", unit, ticks, series));
        }
    }
    let line = |name: &str, s: &Sample| {
        println!(
            "{name}: {} points a frame, {:.1} % beyond 30 m, {:.1} % beyond 50 m",
            s.points.len() / s.frames.max(1),
            s.share(|seen| seen.range > 30.0),
            s.share(|seen| seen.range > 50.0)
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
    let data = std::env::var_os("E2BKI_DATA").map(PathBuf::from).unwrap_or_default();
    let generation = match std::env::args().nth(1).as_deref() {
        Some("near") => return near::run(&data),
        Some(name) => name.parse()?,
        None => Generation::Matched,
    };
    let mut panels = Vec::new();
    for (title, standard, folder, every) in [
        ("rellis-like beside RELLIS-3D", Standard::RellisLike, "rellis3d", 1),
        ("offroad-like beside RELLIS-3D", Standard::OffroadLike, "rellis3d", 1),
        ("kitti360-like beside KITTI-360", Standard::KittiLike, "kitti360", 4),
        ("kitti360-like beside SemanticKITTI 00", Standard::KittiLike, "semantickitti/sequences/00", 1),
    ] {
        let made = simulated(standard, generation)?;
        let found = real(&data.join(folder), every, SemanticsSource::Nothing)?;
        panels.extend(show(title, &made, found.as_ref()));
    }
    if let Some(stem) = std::env::args().nth(2).filter(|_| !panels.is_empty()) {
        let mut figure = Figure::new("Simulated drives beside recordings", 3, panels);
        figure.panel_px = (440, 300);
        figure.save(Path::new(&stem))?;
    }
    Ok(())
}
