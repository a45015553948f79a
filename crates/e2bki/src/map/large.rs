//! Primitives whose kernel reaches farther than a block: kept on coarser grids, one per power of two, so that a
//! search looks at 27 cells a level and one sprawling primitive does not widen everybody's search.

use rustc_hash::FxHashMap;

use crate::keys::CoarseCell;

/// Half boxes up to this are found through the blocks, metres.
const SMALL_M: f32 = 1.0;

/// Coarser grids; level n has cells of side 2ⁿ⁺¹ m and holds half boxes of at most that.
#[derive(Debug, Clone, Default)]
pub(crate) struct Large {
    levels: Vec<FxHashMap<CoarseCell, Vec<u32>>>,
}

pub(super) fn longest(half_box: [f32; 3]) -> f32 {
    half_box[0].max(half_box[1]).max(half_box[2])
}

fn side_of(level: usize) -> f64 {
    (1_u64 << (level + 1)) as f64
}

/// Whether a primitive of this half box is found through the blocks alone.
pub(super) fn is_small(half_box: [f32; 3]) -> bool {
    longest(half_box) <= SMALL_M
}

/// Level of a half box, or nothing if it is small.
fn level_of(half_box: [f32; 3]) -> Option<usize> {
    if is_small(half_box) {
        return None;
    }
    let longest = longest(half_box);
    (0..40).find(|level| f64::from(longest) <= side_of(*level)).or(Some(40))
}

fn cell_of(position: [f64; 3], level: usize) -> CoarseCell {
    CoarseCell(position.map(|v| crate::maths::floor_i32(v / side_of(level))))
}

impl Large {
    pub(crate) fn insert(&mut self, slot: u32, mean: [f64; 3], half_box: [f32; 3]) {
        if let Some(level) = level_of(half_box) {
            if self.levels.len() <= level {
                self.levels.resize_with(level + 1, FxHashMap::default);
            }
            self.levels[level].entry(cell_of(mean, level)).or_default().push(slot);
        }
    }

    pub(crate) fn remove(&mut self, slot: u32, mean: [f64; 3], half_box: [f32; 3]) {
        let Some(level) = level_of(half_box) else { return };
        let Some(cells) = self.levels.get_mut(level) else { return };
        let key = cell_of(mean, level);
        if let Some(slots) = cells.get_mut(&key) {
            slots.retain(|other| *other != slot);
            if slots.is_empty() {
                cells.remove(&key);
            }
        }
    }

    /// Large primitives whose box may meet the box from `low` to `high`.
    pub(crate) fn between(&self, low: [f64; 3], high: [f64; 3], mut visit: impl FnMut(u32)) {
        for (level, cells) in self.levels.iter().enumerate().filter(|(_, cells)| !cells.is_empty()) {
            let reach = side_of(level);
            let (CoarseCell(low), CoarseCell(high)) =
                (cell_of(low.map(|v| v - reach), level), cell_of(high.map(|v| v + reach), level));
            for x in low[0]..=high[0] {
                for y in low[1]..=high[1] {
                    for z in low[2]..=high[2] {
                        cells.get(&CoarseCell([x, y, z])).into_iter().flatten().for_each(|slot| visit(*slot));
                    }
                }
            }
        }
    }

    pub(crate) fn byte_size(&self) -> usize {
        #[allow(clippy::iter_over_hash_type)] // order is irrelevant to a sum
        self.levels
            .iter()
            .map(|cells| {
                cells.capacity() * (size_of::<(CoarseCell, Vec<u32>)>() + 1)
                    + cells.values().map(|slots| slots.capacity() * size_of::<u32>()).sum::<usize>()
            })
            .sum()
    }
}
