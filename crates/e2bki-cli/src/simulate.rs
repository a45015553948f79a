//! `e2bki simulate`: a drive in a real dataset's on-disk format.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use e2bki_sim::{DriveOptions, Format, Sensor, SimulateOptions, Standard, WorldKind, simulate};

use crate::table;

/// Write a simulated drive in a real dataset's on-disk format
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    e2bki simulate --world urban --frames 100 --format kitti360 --out drive\n  \
    e2bki simulate --standard rellis-like --frames 50 --format rellis3d --out rellis\n\n\
    An interrupted simulation continues where it was when the same command is given again.")]
pub(crate) struct Options {
    /// What the world is like: offroad or urban
    #[arg(long, default_value = "offroad", conflicts_with = "standard")]
    world: String,
    /// Seed: another number, another place
    #[arg(long, default_value_t = 1, conflicts_with = "standard")]
    seed: u64,
    /// LiDAR: os1-64, os1-128 or hdl-64e [default: os1-64 off-road, hdl-64e urban]
    #[arg(long, conflicts_with = "standard")]
    sensor: Option<String>,
    /// A standard set with its train, validation and test drives: rellis-like, offroad-like or kitti360-like
    #[arg(long, value_name = "NAME")]
    standard: Option<String>,
    /// Frames (of each drive)
    #[arg(long, default_value_t = 100)]
    frames: usize,
    /// Layout of the files: rellis3d, kitti360 or semantickitti
    #[arg(long)]
    format: String,
    /// Folder to write to: new, empty, or this drive begun earlier
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Leave out the camera images
    #[arg(long)]
    no_images: bool,
    /// Write a summary as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let format: Format = options.format.parse()?;
    let mut plan = match &options.standard {
        Some(name) => {
            let standard: Standard = name.parse()?;
            SimulateOptions::standard(standard, Some(options.frames), format, &options.out)
        }
        None => {
            let world: WorldKind = options.world.parse()?;
            let usual = if world == WorldKind::Urban { "hdl-64e" } else { "os1-64" };
            let sensor: Sensor = options.sensor.as_deref().unwrap_or(usual).parse()?;
            SimulateOptions::drive(DriveOptions::new(world, options.seed, sensor), options.frames, format, &options.out)
        }
    };
    plan.images = !options.no_images;
    let bar = table::progress(0, "simulating");
    let summary = simulate(&plan, |done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    })?;
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
