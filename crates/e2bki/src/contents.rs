//! What a map holds, and what is derived from it when somebody looks.

use crate::classes::ClassSet;
use crate::config::{Config, Posterior};
use crate::free::FreeSpace;
use crate::map::{ChangeLog, PrimitiveSet, Recipe};
use crate::view::{LiveGrid, LiveView, Terms, Work};

/// Supports and cubic metres that wait to be looked at, at most: beyond, the time comes due at once.
const MOST_WAITING: usize = 1 << 16;

/// Primitives, with their kernels, when they last changed, and the voxels; and what was seen through.
#[derive(Debug, Clone)]
pub(crate) struct Contents {
    pub(crate) set: PrimitiveSet,
    pub(crate) log: ChangeLog,
    pub(crate) live: Option<LiveView>,
    pub(crate) free: Option<FreeSpace>,
}

impl Default for Contents {
    fn default() -> Self {
        let set = PrimitiveSet::new(0, Recipe::solid(&Config::default()));
        Self { set, log: ChangeLog::default(), live: None, free: None }
    }
}

impl Contents {
    pub(crate) fn new(classes: &ClassSet, terms: Terms, config: &Config) -> Self {
        let live = (config.views.live_voxels && config.views.posterior == Posterior::Refined)
            .then(|| LiveGrid::new(config.views.resolution, terms, config.kernel.distance))
            .map(|grid| LiveView::new(grid, config.views.update));
        let set = PrimitiveSet::new(classes.len(), Recipe::solid(config)).of_cubes(config.cubes_of_sum());
        Self { set, log: ChangeLog::default(), live, free: config.free_space.enabled.then(FreeSpace::default) }
    }

    /// Whether so much waits to be put in order that it should not wait any longer.
    pub(crate) fn is_due(&self) -> bool {
        let flips = self.free.as_ref().map_or(0, FreeSpace::waiting);
        self.set.waiting() > MOST_WAITING || flips > MOST_WAITING
    }

    /// Brings kernels, flags and the log up to date with all changes since the last time. In threads of its own: see
    /// `settled.rs`.
    pub(crate) fn settle(&mut self, classes: &ClassSet, config: &Config) {
        let shown = self.settle_existence(classes, config);
        let stale = self.set.take_stale(config.run.threads);
        self.log.note(&stale);
        self.log.note_views(&shown);
        self.log.leave_behind(self.set.blocks().len());
        if let Some(live) = &mut self.live {
            live.note(&self.set, stale);
        }
    }

    /// Brings the voxels up to date as well, if they are kept with every frame or too much of them waits.
    pub(crate) fn keep_voxels(&mut self) -> Work {
        self.live.as_mut().map_or_else(Work::default, |live| live.keep(&self.set))
    }
}
