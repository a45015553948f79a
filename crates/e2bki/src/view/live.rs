//! The live voxel view as the mapper has it: brought up to date with every frame, or when somebody looks.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::grid::{LiveBlock, LiveGrid, LiveVoxel, Work};
use crate::changes::Changes;
use crate::config::Update;
use crate::keys::BlockKey;
use crate::map::{Aabb, PrimitiveSet, Stale};

/// Large supports that wait at most. They are rare where primitives are small, and a map of large ones is a small map.
const MOST_SUPPORTS: usize = 1 << 16;

/// Boxes that wait, beyond twice the blocks of the map, before those of blocks that are gone are looked through.
const MOST_BOXES: usize = 1 << 12;

/// The voxels, and where they are out of date.
#[derive(Debug, Clone)]
struct Kept {
    grid: LiveGrid,
    /// A box for every block in which something changed: as many as there are blocks, however many frames have passed.
    boxes: FxHashMap<BlockKey, Aabb>,
    /// What the boxes do not hold.
    waiting: Stale,
}

impl Kept {
    fn wait(&mut self, stale: Stale) {
        for (block, bounds) in stale.touched.into_iter().chain(stale.reshaped) {
            if let Some(bounds) = bounds {
                self.boxes.entry(block).and_modify(|known| known.join(&bounds)).or_insert(bounds);
            }
        }
        self.waiting.supports.extend(stale.supports);
    }

    /// Lets go of boxes that a map which moves along has left behind: where there are no primitives any more, and no
    /// voxels yet, there is nothing to bring up to date. What reaches there from other blocks waits under those.
    fn leave_behind(&mut self, set: &PrimitiveSet) {
        let Self { grid, boxes, .. } = self;
        if boxes.len() > 2 * set.blocks().len() + MOST_BOXES {
            boxes.retain(|block, bounds| set.blocks().get(*block).is_some() || grid.shows(bounds));
            boxes.shrink_to(2 * boxes.len());
        }
    }

    fn catch_up(&mut self, set: &PrimitiveSet) -> Work {
        let mut stale = std::mem::take(&mut self.waiting);
        stale.boxes.extend(std::mem::take(&mut self.boxes).into_values());
        if stale.boxes.is_empty() && stale.supports.is_empty() {
            return Work::default();
        }
        self.grid.refresh(set, &stale)
    }
}

/// The view. Looking at it brings it up to date, so that frames between two looks cost nothing.
#[derive(Debug)]
pub(crate) struct LiveView {
    kept: Mutex<Kept>,
    /// The view of an empty map.
    empty: LiveGrid,
    update: Update,
}

impl Clone for LiveView {
    fn clone(&self) -> Self {
        Self { kept: Mutex::new(self.kept().clone()), empty: self.empty.clone(), update: self.update }
    }
}

impl LiveView {
    pub(crate) fn new(empty: LiveGrid, update: Update) -> Self {
        let kept = Kept { grid: empty.clone(), boxes: FxHashMap::default(), waiting: Stale::default() };
        Self { kept: Mutex::new(kept), empty, update }
    }

    /// Nobody panics while holding the lock; a view is a cache in any case.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of a change of the map.
    pub(crate) fn note(&mut self, set: &PrimitiveSet, stale: Stale) {
        let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
        if self.update == Update::EveryFrame {
            // Nothing waits for long: boxes stay in the order of space that they come in.
            kept.waiting.boxes.extend(stale.boxes);
            kept.waiting.supports.extend(stale.supports);
            return;
        }
        kept.wait(stale);
        kept.leave_behind(set);
    }

    /// After a change: brings the voxels up to date if that is to be done with every frame, or too much waits.
    pub(crate) fn keep(&mut self, set: &PrimitiveSet) -> Work {
        let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
        let due = self.update == Update::EveryFrame || kept.waiting.supports.len() > MOST_SUPPORTS;
        if due { kept.catch_up(set) } else { Work::default() }
    }

    /// Looks at the voxels, up to date.
    fn look<T>(&self, set: &PrimitiveSet, look: impl FnOnce(&LiveGrid) -> T) -> T {
        // While it computes, a thread of the pool may be given other work that looks at the same view. It cannot wait for
        // itself: then the voxels are made anew.
        let kept = if rayon::current_thread_index().is_none() { Some(self.kept()) } else { self.kept.try_lock().ok() };
        match kept {
            Some(mut kept) => {
                kept.catch_up(set);
                look(&kept.grid)
            }
            None => {
                let mut grid = self.empty.clone();
                grid.refresh(set, &set.everywhere());
                look(&grid)
            }
        }
    }

    /// Number of voxels.
    pub(crate) fn len(&self, set: &PrimitiveSet) -> usize {
        self.look(set, LiveGrid::len)
    }

    /// Voxels by ascending block and index.
    pub(crate) fn voxels(&self, set: &PrimitiveSet) -> Vec<LiveVoxel> {
        self.look(set, |grid| grid.iter().collect())
    }

    /// Blocks in which voxels can differ after changes.
    pub(crate) fn changed(&self, set: &PrimitiveSet, changes: &Changes) -> Vec<LiveBlock> {
        self.look(set, |grid| grid.changed(changes))
    }

    pub(crate) fn remember_kernels(&mut self, remember: bool) {
        self.kept.get_mut().unwrap_or_else(PoisonError::into_inner).grid.remembers = remember;
    }

    pub(crate) fn byte_size(&self) -> usize {
        let kept = self.kept();
        let waiting = kept.boxes.capacity() * (size_of::<(BlockKey, Aabb)>() + 1)
            + kept.waiting.supports.capacity() * size_of::<crate::map::Support>();
        kept.grid.byte_size() + waiting
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rayon::prelude::*;

    use crate::config::Update;
    use crate::{ClassSet, Config, Frame, Mapper, Pose, Semantics};

    fn map(update: Update, prune: bool) -> Mapper {
        let config = Config::default().with(|c| (c.views.update, c.refinement.prune) = (update, prune));
        Mapper::new(ClassSet::from_names(["a", "b"]).unwrap(), config).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Whenever somebody looks, the voxels are those of a map that has kept them with every frame.
        #[test]
        fn voxels_on_demand_are_those_of_every_frame(
            frames in prop::collection::vec((0..30_i32, 0..1000_u32, any::<bool>()), 1..12),
            prune in any::<bool>(),
        ) {
            let (mut late, mut soon) = (map(Update::OnDemand, prune), map(Update::EveryFrame, prune));
            for (at, seed, look) in frames {
                let value = |i: u32, k: u32| ((seed + i * 31 + k * 17) * 7919 % 1000) as f32 * 0.004;
                let points: Vec<[f32; 3]> = (0..80).map(|i| [2.0 + value(i, 0), value(i, 1), value(i, 2)]).collect();
                let labels: Vec<u32> = (0..80).map(|i| (i + seed) % 2).collect();
                let world_from_sensor = Pose::from_translation([f64::from(at) * 0.3, 0.0, 0.0]).unwrap();
                let frame = Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None };
                prop_assert_eq!(late.insert(&frame).unwrap().voxels_updated, 0);
                soon.insert(&frame).unwrap();
                if look {
                    prop_assert!(late.live_voxels().eq(soon.live_voxels()));
                    prop_assert_eq!(late.live_voxel_count(), soon.live_voxel_count());
                }
            }
            let copy = late.clone();
            prop_assert!(late.live_voxels().eq(soon.live_voxels()));
            prop_assert!(copy.live_voxels().eq(soon.live_voxels()));
            // Many at once, in the threads that also do the work.
            let expected: Vec<_> = soon.live_voxels().collect();
            let looks: Vec<bool> =
                (0..8).into_par_iter().map(|_| late.clone().live_voxels().eq(expected.iter().copied())).collect();
            prop_assert!(looks.iter().all(|same| *same));
            late.merge(&soon).unwrap();
            let same: Vec<usize> = (0..8).into_par_iter().map(|_| late.live_voxel_count()).collect();
            prop_assert!(same.iter().all(|count| *count == same[0] && *count > 0), "{:?}", same);
        }
    }
}
