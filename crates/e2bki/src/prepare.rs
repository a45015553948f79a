//! The first half of an insertion: from a frame to primitives, before the map is looked at.

use crate::cluster::cluster;
use crate::config::{Config, Gated};
use crate::error::{Error, Result};
use crate::fuse::fuse;
use crate::gate::passes;
use crate::input::{EvidentialPoints, Frame, FrameReport};
use crate::map::Batch;
use crate::timings::{Timings, timed};

/// A frame made ready by [`Mapper::prepare`](crate::Mapper::prepare): its primitives, and the account of its points.
#[derive(Debug, Clone)]
pub struct Prepared {
    classes: usize,
    pub(crate) batch: Batch,
    /// Rows of the batch that passed the gate.
    pub(crate) rows: Vec<usize>,
    pub(crate) report: FrameReport,
}

impl Prepared {
    pub(crate) fn new(frame: &Frame<'_>, classes: usize, number: u64, config: &Config) -> Result<Self> {
        let mut time = Timings::default();
        let pose = &frame.world_from_sensor;

        // 1. Check every value and make every point an opinion.
        let (points, mut report) = timed(&mut time.sanitise, || EvidentialPoints::from_frame(frame, classes, config))?;

        // 2. Group the points of each class.
        let clusters = timed(&mut time.cluster, || cluster(&points, pose, number, config));

        // 3. Sum each group into a primitive, and stop the most uncertain.
        let (batch, rows) = timed(&mut time.fuse, || {
            let mut batch = fuse(&points, &clusters, pose, config.fusion.correlation);
            let rows = gate(&mut batch, config, &mut report);
            (batch, rows)
        });
        report.timings = time;
        Ok(Self { classes, batch, rows, report })
    }

    pub(crate) fn check(&self, classes: usize) -> Result<()> {
        if self.classes == classes {
            return Ok(());
        }
        Err(Error::Merge(format!("the frame was prepared for {} classes, and the map has {classes}", self.classes)))
    }
}

/// Applies the uncertainty gate; returns the rows that go on.
fn gate(batch: &mut Batch, config: &Config, report: &mut FrameReport) -> Vec<usize> {
    let passes = passes(batch, config);
    report.clusters = passes.len();
    report.gated = passes.iter().filter(|pass| !**pass).count();
    match config.fusion.gated {
        Gated::Drop => (0..passes.len()).filter(|row| passes[*row]).collect(),
        Gated::Mute => {
            for (core, _) in batch.cores.iter_mut().zip(&passes).filter(|(_, pass)| !**pass) {
                core.muted = true;
            }
            (0..passes.len()).collect()
        }
    }
}
