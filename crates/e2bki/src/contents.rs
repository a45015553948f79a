//! What a map holds, and what is derived from it when somebody looks.

use crate::classes::ClassSet;
use crate::config::{Config, Posterior, Reach};
use crate::free::FreeSpace;
use crate::map::{ChangeLog, PrimitiveSet, Recipe};
use crate::view::{LiveGrid, LiveView, Terms, Work};

/// Large supports and emptied blocks that wait for somebody to look, at most: some megabytes, or twice the blocks that hold
/// something, so that moving a whole map does not derive all of it at once.
const MOST_WAITING: usize = 1 << 14;
/// The same for cubic metres in which a cube became free or is free no more.
const MOST_FLIPS: usize = 1 << 18;

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
            // Kernels that follow surfaces change with every frame that comes near, and are cheap to compute.
            .map(|grid| grid.remembering(config.kernel.reach == Reach::Uniform))
            .map(|grid| LiveView::new(grid, config.views.update));
        let set = PrimitiveSet::new(classes.len(), Recipe::solid(config)).of_cubes(config.cubes_of_sum());
        Self { set, log: ChangeLog::default(), live, free: config.free_space.enabled.then(FreeSpace::default) }
    }

    /// Whether so much waits to be put in order that it should not wait any longer.
    pub(crate) fn is_due(&self) -> bool {
        let flips = self.free.as_ref().map_or(0, FreeSpace::waiting);
        let (waiting, blocks) = (self.set.waiting(), self.set.blocks().len());
        waiting > MOST_WAITING + 2 * blocks.saturating_sub(waiting) || flips > MOST_FLIPS
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

#[cfg(test)]
mod tests {
    use crate::{ClassSet, Config, Frame, Mapper, Pose, Result, Semantics};

    #[test]
    fn a_map_that_moves_along_and_is_never_looked_at_stays_small() -> Result<()> {
        let mut map = Mapper::new(ClassSet::from_names(["a", "b"])?, Config::default())?;
        // A wall of 24 m, twenty blocks of which are new with every frame.
        let points: Vec<[f32; 3]> = (0..240).map(|i| [5.0, 0.1 * i as f32, 0.5]).collect();
        let labels: Vec<u32> = (0..240).map(|i| i / 120).collect();
        let mut most = 0;
        for i in 0..2500 {
            let world_from_sensor = Pose::from_translation([f64::from(i), 0.0, 0.0])?;
            map.insert(&Frame {
                points: &points,
                semantics: Semantics::Labels(&labels),
                world_from_sensor,
                scan: None,
            })?;
            map.remove_outside([f64::from(i) - 5.0, -100.0, -100.0], [1e6, 100.0, 100.0]);
            most = most.max(map.contents.read(|contents| contents.set.blocks().len()));
        }
        assert!(map.len() < 2000 && most < 2 * super::MOST_WAITING, "{} primitives, {most} blocks", map.len());
        assert!(map.byte_size().total() < 8_000_000, "{:?}", map.byte_size());
        Ok(())
    }
}
