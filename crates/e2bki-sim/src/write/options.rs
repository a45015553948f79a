//! Options of a writer.
//! A drive is fitted to its layout here: camera, and whether scans keep the motion of the turn.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Format;
use crate::drive::{CameraKind, DriveOptions, FRAME_S, Generation, Split, Standard};
use crate::sensor::Sensor;
use crate::world::WorldKind;

/// One sequence of a dataset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sequence {
    /// Name in the layout's own style (`00000`, `0010`, `08`).
    pub name: String,
    /// Part it belongs to; absent = its frames are divided 70 / 10 / 20 in order.
    pub split: Option<Split>,
    /// Number of frames.
    pub frames: usize,
    /// The drive.
    pub drive: DriveOptions,
}

/// Settings of [`super::simulate`].
#[derive(Debug, Clone, PartialEq)]
pub struct SimulateOptions {
    /// Layout.
    pub format: Format,
    /// Output folder: new, empty, or a drive with the same settings to resume.
    pub out: PathBuf,
    /// Write camera and label images.
    pub images: bool,
    /// Sequences, in order.
    pub sequences: Vec<Sequence>,
}

/// Adapts a drive to a layout: its camera, and scans as that dataset stores them.
fn fitted(mut drive: DriveOptions, format: Format) -> DriveOptions {
    let camera = if format == Format::Rellis3d { CameraKind::Rellis } else { CameraKind::Kitti360 };
    if drive.camera != camera {
        drive.camera = camera;
        drive.image_width = if camera == CameraKind::Rellis { 640 } else { 1408 };
    }
    // KITTI-360 stores raw turns; the others are corrected for the vehicle's motion.
    drive.skew = format == Format::Kitti360;
    if drive.skew {
        // Its readers undo the motion since the frame before, which must be that of the turn.
        drive.frame_s = FRAME_S;
    }
    drive
}

impl SimulateOptions {
    /// One sequence through a world of all classes.
    pub fn single(
        world: WorldKind,
        seed: u64,
        frames: usize,
        sensor: Sensor,
        format: Format,
        out: impl Into<PathBuf>,
    ) -> SimulateOptions {
        SimulateOptions::drive(DriveOptions::new(world, seed, sensor), frames, format, out)
    }

    /// One sequence of any drive.
    pub fn drive(drive: DriveOptions, frames: usize, format: Format, out: impl Into<PathBuf>) -> SimulateOptions {
        let name = sequence_name(format, Split::Train, 0);
        let sequence = Sequence { name, split: None, frames, drive: fitted(drive, format) };
        SimulateOptions { format, out: out.into(), images: true, sequences: vec![sequence] }
    }

    /// All first drives of a standard set; `frames` overrides the number of frames of each.
    pub fn standard(
        standard: Standard,
        frames: Option<usize>,
        format: Format,
        out: impl Into<PathBuf>,
    ) -> SimulateOptions {
        SimulateOptions::standard_of(standard, Generation::First, frames, format, out)
    }

    /// All drives of a standard set; `frames` overrides the number of frames of each.
    pub fn standard_of(
        standard: Standard,
        generation: Generation,
        frames: Option<usize>,
        format: Format,
        out: impl Into<PathBuf>,
    ) -> SimulateOptions {
        let mut sequences = Vec::new();
        for split in [Split::Train, Split::Validation, Split::Test] {
            for (n, drive) in standard.drives_of(generation, split).into_iter().enumerate() {
                sequences.push(Sequence {
                    name: sequence_name(format, split, n),
                    split: Some(split),
                    frames: frames.unwrap_or(drive.frames),
                    drive: fitted(drive.options, format),
                });
            }
        }
        SimulateOptions { format, out: out.into(), images: true, sequences }
    }
}

/// Sequence `n` of a part, numbered as the real dataset divides its sequences.
fn sequence_name(format: Format, split: Split, n: usize) -> String {
    let pick = |numbers: [usize; 3]| numbers.get(n).copied().unwrap_or(40 + n);
    match (format, split) {
        (Format::Rellis3d, Split::Train) => format!("{n:05}"),
        (Format::Rellis3d, Split::Validation) => format!("{:05}", 3 + 2 * n),
        (Format::Rellis3d, Split::Test) => format!("{:05}", 4 + 2 * n),
        (Format::Kitti360, Split::Train) => format!("{:04}", pick([0, 2, 3])),
        (Format::Kitti360, Split::Validation) => format!("{:04}", pick([7, 9, 5])),
        (Format::Kitti360, Split::Test) => format!("{:04}", pick([10, 8, 18])),
        (Format::SemanticKitti, Split::Train) => format!("{n:02}"),
        (Format::SemanticKitti, Split::Validation) => format!("{:02}", 8 + 20 * n),
        (Format::SemanticKitti, Split::Test) => format!("{:02}", 11 + n),
    }
}
