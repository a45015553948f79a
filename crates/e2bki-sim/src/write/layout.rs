//! Interface of a layout; [`super::simulate`] drives it frame by frame.
//! A layout decides by its own files whether a frame is done.

use std::fmt::Write as _;
use std::path::Path;

use super::files::write_text;
use super::text::seconds;
use super::{Format, Sequence, kitti360, rellis3d, semantickitti};
use crate::Error;
use crate::drive::{Drive, SimFrame, Split};
use crate::maths::Rigid;
use crate::sensor::SimImage;

/// One sequence being written.
pub(super) trait Layout {
    /// Calibration, poses and times; called once before any frame.
    fn begin(&mut self, drive: &Drive) -> Result<(), Error>;
    /// True when every file of the frame is there.
    fn is_done(&self, index: usize) -> bool;
    /// True when the frame's scan is needed although its files are there.
    fn wants_scan(&self, index: usize) -> bool;
    /// Takes a frame; `image` is absent when the frame's files are already there or images are off.
    fn take(&mut self, drive: &Drive, frame: &SimFrame, image: Option<&SimImage>, done: bool) -> Result<(), Error>;
}

/// The layout of a sequence.
pub(super) fn open(format: Format, out: &Path, sequence: &Sequence, images: bool) -> Box<dyn Layout> {
    match format {
        Format::Rellis3d => Box::new(rellis3d::Writer::new(out, sequence, images)),
        Format::Kitti360 => Box::new(kitti360::Writer::new(out, sequence, images)),
        Format::SemanticKitti => Box::new(semantickitti::Writer::new(out, sequence, images)),
    }
}

/// Lists for each part of the dataset, for layouts that have such files.
pub(super) fn write_lists(format: Format, out: &Path, sequences: &[Sequence], images: bool) -> Result<(), Error> {
    match format {
        Format::Rellis3d => rellis3d::write_lists(out, sequences),
        Format::Kitti360 if images => kitti360::write_lists(out, sequences),
        Format::Kitti360 | Format::SemanticKitti => Ok(()),
    }
}

/// Part a frame belongs to: the sequence's, or 70 / 10 / 20 of its frames in order.
pub(super) fn split_of(sequence: &Sequence, index: usize) -> Split {
    sequence.split.unwrap_or({
        if index * 10 < sequence.frames * 7 {
            Split::Train
        } else if index * 10 < sequence.frames * 8 {
            Split::Validation
        } else {
            Split::Test
        }
    })
}

/// File beside the reported poses, where these are wrong: the true poses of the LiDAR.
pub(super) const TRUE_POSES: &str = "true_poses.txt";

/// Writes the true poses of the LiDAR in the TUM format (time, position, quaternion), if the reported ones differ:
/// what a perfect optimiser would find.
pub(super) fn write_true_poses(
    path: &Path,
    drive: &Drive,
    frames: usize,
    world_from_drive: &Rigid,
) -> Result<(), Error> {
    if !drive.poses_err() {
        return Ok(());
    }
    let mut text = String::from("# time_s x y z qx qy qz qw\n");
    for index in 0..frames {
        let pose = *world_from_drive * drive.true_pose(index);
        let ([x, y, z], [qw, qx, qy, qz]) = (pose.translation.to_array(), pose.quaternion());
        let time = seconds(drive.stamp_ns(index));
        writeln!(text, "{time} {x:.9} {y:.9} {z:.9} {qx:.12} {qy:.12} {qz:.12} {qw:.12}").ok();
    }
    write_text(path, &text)
}
