//! Finding primitives: in order, in blocks, and those whose kernel reaches a place.

use rayon::prelude::*;

use super::aabb::{Aabb, Stale, StaleOfOne, Support};
use super::blocks::blocks_between;
use super::order::Rank;
use super::set::PrimitiveSet;
use crate::keys::BlockKey;

impl PrimitiveSet {
    /// All slots in order: by age or, in a map that is a sum, by place and class.
    pub(crate) fn in_order(&self) -> Vec<u32> {
        self.sorted(self.slots.alive())
    }

    /// Slots in the order of [`Self::in_order`].
    pub(crate) fn sorted(&self, slots: impl Iterator<Item = u32>) -> Vec<u32> {
        let slots: Vec<u32> = slots.collect();
        let rank = |slot: &u32| (self.rank_of(*slot), *slot);
        let mut ranked: Vec<(Rank, u32)> = slots.par_iter().with_min_len(1024).map(rank).collect();
        ranked.par_sort_unstable();
        ranked.into_iter().map(|(_, slot)| slot).collect()
    }

    /// Where a primitive stands among all; by its age in a map that is not a sum.
    fn rank_of(&self, slot: u32) -> Rank {
        let head = self.head(slot);
        match self.cubes() {
            Some(side) => (BlockKey(head.origin).along_curve(), head.origin, self.core(slot).order_in(side)),
            None => (0, [0; 3], head.id()),
        }
    }

    /// Primitives in the blocks from one to another, both included, in order.
    pub(crate) fn in_blocks(&self, low: [i32; 3], high: [i32; 3]) -> Vec<u32> {
        let cubes: f64 = (0..3).map(|i| (f64::from(high[i]) - f64::from(low[i]) + 1.0).max(0.0)).product();
        // Looking up blocks pays only where there are fewer of them than primitives.
        if cubes < self.len() as f64 {
            let blocks = blocks_between(low.map(f64::from), high.map(f64::from)).filter_map(|key| self.blocks.get(key));
            self.sorted(blocks.flat_map(|block| &block.near).map(|near| near.slot))
        } else {
            let inside = |slot: &u32| {
                let block = self.head(*slot).origin;
                (0..3).all(|i| (low[i]..=high[i]).contains(&block[i]))
            };
            self.sorted(self.slots.alive().filter(inside))
        }
    }

    /// The same as [`Self::supports_in`] for a box of which there are more cubic metres than primitives, in order.
    pub(crate) fn supports_in_wide(&self, low: [f64; 3], high: [f64; 3]) -> Vec<u32> {
        let meets = |slot: &u32| Support::of(self.seen(*slot)).is_some_and(|s| s.bounds().meets(low, high));
        self.sorted(self.slots.alive().filter(meets))
    }

    /// Primitives whose support meets a box, as (order, slot) in the order of summation: all that a posterior in it
    /// depends on. Returns the classes that are plausible for any of them.
    pub(crate) fn supports_in(&self, low: [f64; 3], high: [f64; 3], found: &mut Vec<(u64, u32)>) -> u64 {
        found.clear();
        let mut plausible = 0;
        self.each_support_in(low, high, |slot| {
            let seen = self.seen(slot);
            // Tighter than the short record: a flat support reaches less far across than along.
            if Aabb::around(seen.mean, seen.form.half_box).meets(low, high) {
                found.push((seen.order, slot));
                plausible |= seen.plausible;
            }
        });
        found.sort_unstable();
        plausible
    }

    /// Whether the kernel of any primitive may reach into a box.
    pub(crate) fn reaches(&self, low: [f64; 3], high: [f64; 3]) -> bool {
        let mut any = false;
        self.each_support_in(low, high, |_| any = true);
        any
    }

    /// Calls `visit` with every primitive whose support meets a box.
    fn each_support_in(&self, low: [f64; 3], high: [f64; 3], mut visit: impl FnMut(u32)) {
        let reach = f64::from(self.small_reach);
        for key in blocks_between(low.map(|v| v - reach), high.map(|v| v + reach)) {
            let Some(block) = self.blocks.get(key) else { continue };
            let corner = key.0.map(f64::from);
            // Widened by more than the rounding, so that the short record never rejects what the primitive would not.
            let low: [f32; 3] = std::array::from_fn(|i| (low[i] - corner[i]) as f32 - 1e-5);
            let high: [f32; 3] = std::array::from_fn(|i| (high[i] - corner[i]) as f32 + 1e-5);
            for near in &block.near {
                let (x, e) = (near.local, near.extent);
                if e > 0.0 && (0..3).all(|i| x[i] - e <= high[i] && x[i] + e >= low[i]) {
                    visit(near.slot);
                }
            }
        }
        self.each_large_in(low, high, visit);
    }

    /// The same for those that reach farther than a block.
    fn each_large_in(&self, low: [f64; 3], high: [f64; 3], mut visit: impl FnMut(u32)) {
        self.large.between(low, high, |slot| {
            if self.support_of(slot).is_some_and(|support| support.bounds().meets(low, high)) {
                visit(slot);
            }
        });
    }

    /// Adds those of [`Self::supports_in`] that reach farther than a block, in no order.
    pub(crate) fn large_in(&self, low: [f64; 3], high: [f64; 3], found: &mut Vec<(u64, u32)>) -> u64 {
        let mut plausible = 0;
        self.each_large_in(low, high, |slot| {
            let seen = self.seen(slot);
            found.push((seen.order, slot));
            plausible |= seen.plausible;
        });
        plausible
    }

    /// How far beyond its own block a primitive may reach that is not among the large, metres.
    pub(crate) fn small_reach(&self) -> f32 {
        self.small_reach
    }

    /// Where a view of all primitives is not empty.
    pub(crate) fn everywhere(&self) -> Stale {
        let mut all = Stale::default();
        for support in self.in_order().into_iter().filter_map(|slot| Support::of(self.seen(slot))) {
            let stale = StaleOfOne::of(Some(support));
            all.boxes.extend(stale.small);
            all.supports.extend(stale.large);
        }
        all
    }
}
