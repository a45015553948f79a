//! Where views are out of date: the union of the old and new support boxes of changed primitives, per block.

use rustc_hash::FxHashMap;

use super::blocks::BlockKey;
use super::slots::Core;
use crate::primitive::block_of;

/// An axis-aligned box in the world, metres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Aabb {
    pub(crate) low: [f64; 3],
    pub(crate) high: [f64; 3],
}

impl Aabb {
    /// The box outside of which a primitive's kernel is zero.
    pub(crate) fn of_support(core: &Core) -> Self {
        let half = core.form.half_box.map(f64::from);
        Self {
            low: std::array::from_fn(|i| core.mean[i] - half[i]),
            high: std::array::from_fn(|i| core.mean[i] + half[i]),
        }
    }

    pub(crate) fn join(&mut self, other: &Self) {
        for i in 0..3 {
            self.low[i] = self.low[i].min(other.low[i]);
            self.high[i] = self.high[i].max(other.high[i]);
        }
    }

    pub(crate) fn meets(&self, low: [f64; 3], high: [f64; 3]) -> bool {
        (0..3).all(|i| self.low[i] <= high[i] && self.high[i] >= low[i])
    }
}

/// Boxes to be brought up to date. One per block keeps the account small when everything in a block changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dirty {
    boxes: FxHashMap<BlockKey, Aabb>,
}

impl Dirty {
    pub(crate) fn mark(&mut self, core: &Core) {
        if core.form.reach <= 0.0 {
            return;
        }
        let support = Aabb::of_support(core);
        self.boxes.entry(BlockKey(block_of(core.mean))).and_modify(|b| b.join(&support)).or_insert(support);
    }

    /// Takes the boxes, in the order of their blocks.
    pub(crate) fn take(&mut self) -> Vec<Aabb> {
        let mut boxes: Vec<(BlockKey, Aabb)> = self.boxes.drain().collect();
        boxes.sort_unstable_by_key(|(key, _)| *key);
        boxes.into_iter().map(|(_, b)| b).collect()
    }
}
