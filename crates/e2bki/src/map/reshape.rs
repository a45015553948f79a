//! What is derived from sums when somebody looks: opinions, and kernels that follow the surface which the primitives
//! around form.

use super::aabb::{Aabb, Stale, StaleOfOne, Support};
use super::blocks::Near;
use super::pools::Member;
use super::set::{PrimitiveSet, extent_of};
use super::slots::Core;
use super::surfaces::{BlockSurfaces, Surface};
use crate::kernel::Form;
use crate::keys::BlockKey;
use crate::threads::in_threads;

/// What changes in a block: primitives with a new kernel, and where views are out of date because of them.
struct Change {
    block: BlockKey,
    reshaped: Vec<Reshaped>,
    /// Probabilities of those that were judged anew, one row after the other.
    probability: Vec<f32>,
    small: Option<Aabb>,
    large: Vec<Support>,
}

/// What is new of a primitive.
struct Reshaped {
    slot: u32,
    surface: Surface,
    form: Form,
    opinion: Option<Opinion>,
}

/// Of a judged primitive.
struct Opinion {
    plausible: u64,
    uncertainty: f32,
    ln_uncertainty: f32,
    label: u16,
}

impl PrimitiveSet {
    /// Derives what depends on primitives in touched blocks anew, and adds where views differ because of it.
    pub(super) fn reshape(&mut self, stale: &mut Stale, threads: usize) {
        let mut all = std::mem::take(&mut self.surfaces);
        let touched = stale.touched.iter().map(|(key, _)| *key);
        let surfaces = all.update(touched.clone(), |key| self.members_of(key), threads);
        self.surfaces = all;
        // Also those without a new surface, if they themselves are new.
        let alone = |key: &BlockKey| surfaces.binary_search_by_key(key, |surfaces| surfaces.block).is_err();
        let alone: Vec<BlockSurfaces> = touched.filter(alone).map(BlockSurfaces::unchanged).collect();
        let mut changes = in_threads(&surfaces, threads, 64, || (), |(), surfaces| self.change(surfaces));
        changes.extend(alone.iter().map(|surfaces| self.change(surfaces)));
        // Kernel values that views remember belong to a version.
        self.stamp = self.stamp.wrapping_add(1);
        for Change { block, reshaped, probability, small, large } in changes.into_iter().flatten() {
            let mut rows = probability.chunks_exact(self.classes().max(1));
            let records: Vec<(u32, Near)> = reshaped
                .into_iter()
                .map(|reshaped| {
                    if let Some(row) = reshaped.opinion.is_some().then(|| rows.next()).flatten() {
                        self.slots.probability_mut(reshaped.slot).copy_from_slice(row);
                    }
                    self.give(reshaped)
                })
                .collect();
            self.blocks.renew(block, &records);
            stale.boxes.extend(small);
            stale.supports.extend(large);
            stale.reshaped.push((block, small));
        }
    }

    /// The primitives of a block.
    fn members_of(&self, key: BlockKey) -> impl Iterator<Item = Member<'_>> {
        let near = self.blocks.get(key).into_iter().flat_map(|block| &block.near);
        near.map(|near| (near.local, near.label, &self.core(near.slot).sums))
    }

    /// The primitives of a block whose kernel differs from what it was.
    fn change(&self, surfaces: &BlockSurfaces) -> Option<Change> {
        let (mut reshaped, mut probability, mut stale) = (Vec::new(), Vec::new(), StaleOfOne::default());
        for near in &self.blocks.get(surfaces.block)?.near {
            let old = self.core(near.slot);
            let surface = surfaces.at(near.local, near.label).unwrap_or(old.surface);
            if !old.changed && surface == old.surface {
                continue;
            }
            let mut core = old.clone();
            if old.changed {
                let first = probability.len();
                probability.resize(first + self.classes(), 0.0);
                core.judge(self.log_evidence(near.slot), self.recipe.correlation, &mut probability[first..]);
            }
            core.form = self.recipe.form_on(&core, surface);
            stale = stale.and(Support::of(old)).and(Support::of(&core));
            let Core { plausible, uncertainty, ln_uncertainty, label, form, .. } = core;
            let opinion = old.changed.then_some(Opinion { plausible, uncertainty, ln_uncertainty, label });
            reshaped.push(Reshaped { slot: near.slot, surface, form, opinion });
        }
        let StaleOfOne { small, large } = stale;
        (!reshaped.is_empty()).then_some(Change { block: surfaces.block, reshaped, probability, small, large })
    }

    /// Gives a primitive what is new of it; returns where its block has its record, and the record.
    fn give(&mut self, Reshaped { slot, surface, form, opinion }: Reshaped) -> (u32, Near) {
        let version = self.stamp;
        let core = self.slots.core_mut(slot);
        let (mean, before, position) = (core.mean, core.form.half_box, core.position);
        (core.surface, core.form, core.version, core.changed) = (surface, form, version, false);
        if let Some(Opinion { plausible, uncertainty, ln_uncertainty, label }) = opinion {
            (core.plausible, core.uncertainty, core.ln_uncertainty) = (plausible, uncertainty, ln_uncertainty);
            core.label = label;
        }
        self.large.remove(slot, mean, before);
        self.large.insert(slot, mean, form.half_box);
        self.small_reach = self.small_reach.max(extent_of(self.core(slot)));
        (position, self.near_of(slot))
    }
}
