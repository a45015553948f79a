//! Kernels that follow the surface, brought up to date with the primitives around them.

use rayon::prelude::*;

use super::aabb::{Aabb, Stale, StaleOfOne, Support};
use super::blocks::BlockKey;
use super::set::{PrimitiveSet, extent_of};
use super::slots::Core;
use super::surfaces::{BlockSurfaces, Pools, Surface};
use crate::kernel::Form;

/// A primitive with a new kernel.
struct Reshaped {
    slot: u32,
    surface: Surface,
    form: Form,
}

/// What changes in a block: new kernels, and where views are out of date because of them.
struct Change {
    block: BlockKey,
    reshaped: Vec<Reshaped>,
    small: Option<Aabb>,
    large: Vec<Support>,
}

impl PrimitiveSet {
    /// Derives the kernels that depend on primitives in touched blocks anew, and adds where views differ because of it.
    pub(super) fn reshape(&mut self, stale: &mut Stale) {
        let touched = stale.touched.par_iter().with_min_len(64);
        let pools: Vec<(BlockKey, Pools)> = touched.map(|(key, _)| (*key, self.pools_of(*key))).collect();
        let surfaces = self.surfaces.replace(pools);
        let changes = surfaces.par_iter().with_min_len(64).filter_map(|(key, surfaces)| self.change(*key, surfaces));
        let changes: Vec<Change> = changes.collect();
        // Kernel values that views remember belong to a version.
        self.stamp = self.stamp.wrapping_add(1);
        for Change { block, reshaped, small, large } in changes {
            for Reshaped { slot, surface, form } in reshaped {
                self.give(block, slot, surface, form);
            }
            stale.boxes.extend(small);
            stale.supports.extend(large);
            stale.reshaped.push((block, small));
        }
    }

    /// What the primitives of a block add up to.
    fn pools_of(&self, key: BlockKey) -> Pools {
        let mut pools = Pools::default();
        for near in self.blocks.get(key).iter().flat_map(|block| &block.near) {
            pools.add(near.local, near.label, &self.core(near.slot).sums);
        }
        pools
    }

    /// The kernels of a block that differ from what they were.
    fn change(&self, block: BlockKey, surfaces: &BlockSurfaces) -> Option<Change> {
        let (mut reshaped, mut stale) = (Vec::new(), StaleOfOne::default());
        for near in &self.blocks.get(block)?.near {
            let core = self.core(near.slot);
            let Some(surface) = surfaces.at(near.local, near.label).filter(|surface| *surface != core.surface) else {
                continue;
            };
            let form = self.recipe.form_of(&Core { surface, ..core.clone() });
            stale = stale.and(Support::of(core));
            if form.reach > 0.0 {
                stale = stale.and(Some(Support { mean: core.mean, form }));
            }
            reshaped.push(Reshaped { slot: near.slot, surface, form });
        }
        let StaleOfOne { small, large } = stale;
        (!reshaped.is_empty()).then_some(Change { block, reshaped, small, large })
    }

    /// Gives a primitive a kernel, and lets the index follow.
    fn give(&mut self, block: BlockKey, slot: u32, surface: Surface, form: Form) {
        let version = self.stamp;
        let core = self.slots.core_mut(slot);
        let before = core.form.half_box;
        (core.surface, core.form, core.version) = (surface, form, version);
        let (mean, position, extent) = (core.mean, core.position, extent_of(core));
        self.large.remove(slot, mean, before);
        self.large.insert(slot, mean, form.half_box);
        self.small_reach = self.small_reach.max(extent);
        self.blocks.extend(block, position, extent);
    }
}
