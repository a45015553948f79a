//! The first half of an insertion, steps 1 to 4: from a frame to primitives, before the map is looked at.

use std::sync::Arc;

use crate::cluster::cluster;
use crate::config::{Config, Gated};
use crate::context::add_context;
use crate::error::{Error, Result};
use crate::free::Looked;
use crate::fuse::fuse;
use crate::gate::passes;
use crate::input::{Checked, EvidentialPoints, Frame, FrameReport, check_input};
use crate::map::Batch;
use crate::pose::Pose;
use crate::timings::{Timings, timed};

/// A frame made ready by [`Mapper::prepare`](crate::Mapper::prepare): its primitives, and the account of its points.
#[derive(Debug, Clone)]
pub struct Prepared {
    classes: usize,
    pub(crate) world_from_sensor: Pose,
    pub(crate) batch: Batch,
    /// Rows of the batch that passed the gate.
    pub(crate) rows: Vec<usize>,
    pub(crate) report: FrameReport,
    /// What the frame says of free space, if that is asked.
    pub(crate) looked: Option<Looked>,
}

impl Prepared {
    pub(crate) fn new(frame: &Frame<'_>, classes: usize, number: u64, config: &Config) -> Result<Self> {
        let mut time = Timings::default();
        let pose = &frame.world_from_sensor;
        // Of all points, whatever becomes of them: see `free/`.
        let looked = Looked::new(&frame.returns(), pose, config);

        // 1. Check input: every value checked, every point an opinion.
        let checked = timed(&mut time.sanitise, || check_input(frame, classes, config))?;
        let Checked { mut points, said, mut report } = checked;

        // 2. Context: learned confusion, neighbours in the scan, class trust (ours).
        timed(&mut time.context, || add_context(&mut points, said, config));

        // 3. Cluster: the points of each class in groups.
        let clusters = timed(&mut time.cluster, || cluster(&points, pose, number, config));

        // 4. Fuse and gate: each group summed into a primitive, the most uncertain stopped.
        let (batch, rows) = timed(&mut time.fuse, || {
            let mut batch = fuse(&points, &clusters, pose, config);
            let rows = gate(&mut batch, config, &mut report);
            // Giving back the memory of the points is part of the work.
            drop((points, clusters));
            (batch, rows)
        });
        report.timings = time;
        Ok(Self { classes, world_from_sensor: *pose, batch, rows, report, looked })
    }

    pub(crate) fn check(&self, classes: usize) -> Result<()> {
        if self.classes == classes {
            return Ok(());
        }
        Err(Error::Argument {
            name: "prepared",
            found: format!("a frame of {} classes", self.classes),
            allowed: format!("frames of the map's {classes} classes"),
        })
    }
}

/// Makes frames ready for a map on another thread than its own: see [`Mapper::preparer`](crate::Mapper::preparer).
#[derive(Debug, Clone)]
pub struct Preparer {
    pub(crate) classes: usize,
    pub(crate) config: Config,
    pub(crate) pool: Option<Arc<rayon::ThreadPool>>,
}

impl Preparer {
    /// Makes a frame ready to be added as the map's `number`th, counted from 0: what [`Mapper::prepare`](crate::Mapper::prepare)
    /// gives when the map holds so many.
    pub fn prepare(&self, frame: &Frame<'_>, number: u64) -> Result<Prepared> {
        frame.check(self.classes)?;
        let work = || Prepared::new(frame, self.classes, number, &self.config);
        match &self.pool {
            Some(pool) => pool.install(work),
            None => rayon::scope(|_| work()),
        }
    }
}

impl EvidentialPoints {
    /// Steps 1 and 2 alone: a frame checked, converted and given its context. Fails, before anything is kept, if the
    /// arrays do not fit.
    pub fn from_frame(frame: &Frame<'_>, classes: usize, config: &Config) -> Result<(Self, FrameReport)> {
        let mut time = Timings::default();
        let checked = timed(&mut time.sanitise, || check_input(frame, classes, config))?;
        let Checked { mut points, said, mut report } = checked;
        timed(&mut time.context, || add_context(&mut points, said, config));
        report.timings = time;
        Ok((points, report))
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
