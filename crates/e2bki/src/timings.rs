//! Time per stage. The only place of the library that looks at a clock; no result depends on it.

use std::time::{Duration, Instant};

/// Time spent in each stage of an insertion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timings {
    /// Checking and converting the input.
    pub sanitise: Duration,
    /// Grouping points.
    pub cluster: Duration,
    /// Summing points into primitives and the uncertainty gate.
    pub fuse: Duration,
    /// Adding primitives to the map's blocks.
    pub insert: Duration,
    /// Pruning and merging.
    pub refine: Duration,
    /// Updating the live voxel view.
    pub view: Duration,
}

impl Timings {
    /// Stages with their times, in order.
    pub fn by_stage(&self) -> [(&'static str, Duration); 6] {
        [
            ("sanitise", self.sanitise),
            ("cluster", self.cluster),
            ("fuse", self.fuse),
            ("insert", self.insert),
            ("refine", self.refine),
            ("view", self.view),
        ]
    }

    /// Adds the times of another insertion.
    pub fn add(&mut self, other: &Self) {
        self.sanitise += other.sanitise;
        self.cluster += other.cluster;
        self.fuse += other.fuse;
        self.insert += other.insert;
        self.refine += other.refine;
        self.view += other.view;
    }

    /// All stages together.
    pub fn total(&self) -> Duration {
        self.by_stage().iter().map(|(_, time)| time).sum()
    }
}

/// Runs a stage and adds its time.
pub(crate) fn timed<T>(time: &mut Duration, stage: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = stage();
    *time += start.elapsed();
    result
}
