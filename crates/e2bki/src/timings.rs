//! Time per stage. The only place of the library that looks at a clock; no result depends on it.

use std::time::{Duration, Instant};

/// Time spent in each stage of an insertion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timings {
    /// Step 1: checking and converting the input.
    pub sanitise: Duration,
    /// Step 2: context, which is agreement of hard labels, learned confusion, neighbours and class trust.
    pub context: Duration,
    /// Step 3: grouping points.
    pub cluster: Duration,
    /// Step 4: summing points into primitives and the uncertainty gate.
    pub fuse: Duration,
    /// Step 5: adding primitives to the map's blocks.
    pub insert: Duration,
    /// Step 6: pruning and merging.
    pub refine: Duration,
    /// Step 7: updating the live voxel view.
    pub view: Duration,
}

impl Timings {
    /// Stages with their times, in order.
    pub fn by_stage(&self) -> [(&'static str, Duration); 7] {
        [
            ("sanitise", self.sanitise),
            ("context", self.context),
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
        self.context += other.context;
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
