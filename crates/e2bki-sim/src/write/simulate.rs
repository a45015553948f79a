//! The `simulate` command: every sequence, every frame, each written once.
//! Everything is checked before the first byte is written.

use super::layout::{open, write_lists};
use super::manifest::claim;
use super::{Sequence, SimulateOptions};
use crate::Error;
use crate::drive::Drive;

/// Summary of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Frames written by this run.
    pub written: usize,
    /// Frames found finished.
    pub kept: usize,
    /// LiDAR returns written by this run.
    pub points: usize,
}

/// Writes the dataset. `progress(done, total)` is called after each frame. Finished frames are not redone; nothing
/// that this program did not write is touched.
pub fn simulate(options: &SimulateOptions, progress: impl Fn(usize, usize)) -> Result<Summary, Error> {
    let total: usize = options.sequences.iter().map(|s| s.frames).sum();
    if options.sequences.is_empty() || options.sequences.iter().any(|s| s.frames == 0) {
        return Err(Error::NoFrames);
    }
    let drives: Vec<Drive> = options.sequences.iter().map(|s| Drive::new(s.drive)).collect::<Result<_, Error>>()?;
    claim(options)?;
    write_lists(options.format, &options.out, &options.sequences, options.images)?;
    let mut summary = Summary::default();
    for (sequence, drive) in options.sequences.iter().zip(drives) {
        write_sequence(options, sequence, &drive, &mut summary, |done| progress(done, total))?;
    }
    Ok(summary)
}

fn write_sequence(
    options: &SimulateOptions,
    sequence: &Sequence,
    drive: &Drive,
    summary: &mut Summary,
    progress: impl Fn(usize),
) -> Result<(), Error> {
    let mut layout = open(options.format, &options.out, sequence, options.images);
    layout.begin(drive)?;
    for index in 0..sequence.frames {
        let done = layout.is_done(index);
        if !done || layout.wants_scan(index) {
            let frame = drive.frame(index);
            let image = (options.images && !done).then(|| drive.image(index));
            layout.take(drive, &frame, image.as_ref(), done)?;
            if !done {
                summary.points += frame.points.len();
            }
        }
        if done {
            summary.kept += 1;
        } else {
            summary.written += 1;
        }
        progress(summary.kept + summary.written);
    }
    Ok(())
}
