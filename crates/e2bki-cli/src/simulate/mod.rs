//! `e2bki simulate`: a drive in a real dataset's on-disk format, or as a recording of a robot.

mod recording;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use e2bki_sim::{
    Drift, Drive, DriveOptions, Format, Generation, RouteKind, Sensor, SimulateOptions, Standard, WorldKind, simulate,
};

use crate::{outputs, table};

/// Name of recordings among the formats.
const RECORDING: &str = "mcap";

/// Write a simulated drive in a real dataset's on-disk format
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    e2bki simulate --world urban --frames 100 --format kitti360 --out drive\n  \
    e2bki simulate --world urban --frames 1300 --route loop --round 1000 --drift 1%,1deg --format semantickitti --out loop\n  \
    e2bki simulate --standard rellis-like --frames 50 --format rellis3d --out rellis\n  \
    e2bki simulate --world urban --frames 100 --format mcap --out drive.mcap\n\n\
    An interrupted simulation continues where it was when the same command is given again.")]
pub(crate) struct Options {
    /// World: offroad or urban
    #[arg(long, default_value = "offroad", conflicts_with = "standard")]
    world: String,
    /// Seed: another number, another place
    #[arg(long, default_value_t = 1, conflicts_with = "standard")]
    seed: u64,
    /// LiDAR: os1-64, os1-128 or hdl-64e [default: os1-64 off-road, hdl-64e urban]
    #[arg(long, conflicts_with = "standard")]
    sensor: Option<String>,
    /// Route: endless (no place is seen twice), loop (there and back, again and again) or eight
    #[arg(long, default_value = "endless", conflicts_with = "standard")]
    route: String,
    /// Length of one round of a loop or eight, metres
    #[arg(long, value_name = "METRES", default_value_t = 400.0)]
    round: f64,
    /// Start on the route, metres: a second robot with the same seed and route starts elsewhere
    #[arg(long, value_name = "METRES", default_value_t = 0.0)]
    start: f64,
    /// Odometry drift of the written poses: share of the distance, and heading per 100 m, such as 1%,1deg. The true
    /// poses are written beside them as true_poses.txt
    #[arg(long, value_name = "SHARE,ANGLE", value_parser = drift)]
    drift: Option<Drift>,
    /// A standard set with its train, validation and test drives: rellis-like, offroad-like or kitti360-like
    #[arg(long, value_name = "NAME")]
    standard: Option<String>,
    /// With --standard: the `first` drives, or those `matched` to real recordings
    #[arg(long, value_name = "WHICH", default_value = "first", requires = "standard")]
    drives: Generation,
    /// Frames (of each drive)
    #[arg(long, default_value_t = 100)]
    frames: usize,
    /// Layout of the files: rellis3d, kitti360 or semantickitti, or mcap: one recording with clouds, images, transforms and labels
    #[arg(long)]
    format: String,
    /// Folder to write to: new, empty, or this drive begun earlier; for mcap a new file
    #[arg(short, long, value_name = "DIR|FILE")]
    out: PathBuf,
    /// Leave out the camera images
    #[arg(long)]
    no_images: bool,
    /// Write a summary as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    outputs::check_files([&options.json])?;
    if options.format == RECORDING && options.standard.is_some() {
        bail!("--standard is a set of several drives; record one with --world, --seed and --route");
    }
    let format: Format = match options.format.as_str() {
        // The same drive as in the folders of that world.
        RECORDING if options.world == "urban" => Format::SemanticKitti,
        RECORDING => Format::Rellis3d,
        other => other.parse().with_context(|| format!("--format {other} is neither {RECORDING} nor a dataset's"))?,
    };
    let mut plan = match &options.standard {
        Some(name) => {
            let standard: Standard = name.parse()?;
            SimulateOptions::standard_of(standard, options.drives, Some(options.frames), format, &options.out)
        }
        None => {
            let world: WorldKind = options.world.parse()?;
            let usual = if world == WorldKind::Urban { "hdl-64e" } else { "os1-64" };
            let sensor: Sensor = options.sensor.as_deref().unwrap_or(usual).parse()?;
            let drive = DriveOptions {
                route: RouteKind::from_name(&options.route, options.round)?,
                start_m: options.start,
                drift: options.drift.unwrap_or_default(),
                ..DriveOptions::new(world, options.seed, sensor)
            };
            SimulateOptions::drive(drive, options.frames, format, &options.out)
        }
    };
    plan.images = !options.no_images;
    let bar = table::progress(0, "simulating");
    let progress = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let summary = match plan.sequences.first() {
        Some(sequence) if options.format == RECORDING => {
            let drive = Drive::new(sequence.drive)?;
            recording::write(&drive, sequence.frames, plan.images, &options.out, progress)?
        }
        _ => simulate(&plan, progress)?,
    };
    bar.finish_and_clear();
    table::print(&[
        vec!["simulated".into(), options.out.display().to_string()],
        vec!["frames written".into(), summary.written.to_string()],
        vec!["frames already there".into(), summary.kept.to_string()],
        vec!["points written".into(), summary.points.to_string()],
    ])?;
    if let Some(path) = &options.json {
        let value = serde_json::json!({
            "out": options.out, "written": summary.written, "kept": summary.kept, "points": summary.points,
        });
        table::write_json(path, &value)?;
    }
    Ok(())
}

/// Reads `1%,1deg`.
fn drift(text: &str) -> Result<Drift, String> {
    let wrong = || format!("`{text}` is not a drift; write a share and an angle per 100 m, such as 1%,1deg");
    let (share, angle) = text.split_once(',').ok_or_else(wrong)?;
    let number = |text: &str, unit: &str| text.trim().strip_suffix(unit)?.trim().parse::<f64>().ok();
    let share = number(share, "%").ok_or_else(wrong)? / 100.0;
    let angle_rad = number(angle, "deg").ok_or_else(wrong)?.to_radians();
    Ok(Drift { share, angle_rad })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drift_has_a_share_and_an_angle() {
        let half = drift("0.5%, 2deg").unwrap();
        assert_eq!((half.share, half.angle_rad), (0.005, 2.0_f64.to_radians()));
        for wrong in ["", "1%", "1,1", "1%,1rad", "x%,1deg"] {
            assert!(drift(wrong).unwrap_err().contains("such as 1%,1deg"), "{wrong}");
        }
    }
}
