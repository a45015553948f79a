//! What is derived from sums when somebody looks: opinions, and kernels that follow the surface which the primitives
//! around form.

use super::aabb::{Aabb, Stale, StaleOfOne, Support};
use super::blocks::Near;
use super::chunk::CHUNK;
use super::pools::Member;
use super::seen::Seen;
use super::set::{PrimitiveSet, extent_of};
use super::slots::Core;
use super::surfaces::{BlockSurfaces, Renewed};
use crate::keys::BlockKey;
use crate::threads::{both, in_threads};

/// Looks for which what was derived of a chunk is kept, if none of its primitives changed: it can be derived again.
const KEPT_LOOKS: u32 = 1;

/// Primitives whose new kernels are worth a second thread to put in their places.
const MANY: usize = 1 << 11;

/// What changes in a block: primitives with a new kernel, and where views are out of date because of them.
struct Change {
    block: BlockKey,
    reshaped: Vec<Reshaped>,
    /// Their probabilities, one row after the other.
    probability: Vec<f32>,
    small: Option<Aabb>,
    large: Vec<Support>,
}

/// What is new of a primitive.
struct Reshaped {
    /// Where its block has its record, and the record.
    position: u32,
    near: Near,
    seen: Seen,
    /// Whether its opinion is new as well.
    judged: bool,
    /// Half box of the support that it had among the large.
    was: [f32; 3],
}

/// Log-evidence and probabilities of a primitive.
type Buffers = (Vec<i64>, Vec<f32>);

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
        // Kernel values that views remember belong to a version.
        self.stamp = self.stamp.wrapping_add(1);
        let mut changes = in_threads(&surfaces, threads, 64, Buffers::default, |buffers, s| self.change(s, buffers));
        let mut buffers = Buffers::default();
        changes.extend(alone.iter().map(|surfaces| self.change(surfaces, &mut buffers)));
        let changes: Vec<Change> = changes.into_iter().flatten().collect();
        self.surfaces.keep(&surfaces);
        self.make_room(&changes, threads);
        self.give(&changes, threads);
        for Change { block, small, large, .. } in changes {
            stale.boxes.extend(small);
            stale.supports.extend(large);
            stale.reshaped.push((block, small));
        }
    }

    /// Gives primitives what is new of them, and the index what it needs to know of that: neither looks at the other.
    fn give(&mut self, changes: &[Change], threads: usize) {
        let (classes, looks, defers) = (self.classes().max(1), self.looks, self.defers());
        let Self { slots, blocks, large, small_reach, .. } = self;
        let primitives = || {
            for Change { reshaped, probability, .. } in changes {
                let mut rows = probability.chunks_exact(classes);
                for Reshaped { near, seen, judged, .. } in reshaped {
                    slots.give(near.slot, seen, if *judged { rows.next() } else { None }, looks);
                }
            }
            if defers {
                let chunks = slots.chunks_mut().iter_mut();
                chunks.for_each(|chunk| chunk.forget(|at| looks.wrapping_sub(at) > KEPT_LOOKS));
            }
        };
        let index = || {
            for Change { block, reshaped, .. } in changes {
                for Reshaped { near, seen, was, .. } in reshaped {
                    large.remove(near.slot, seen.mean, *was);
                    large.insert(near.slot, seen.mean, seen.form.half_box);
                    *small_reach = small_reach.max(near.extent);
                }
                blocks.renew(*block, reshaped.iter().map(|reshaped| (reshaped.position, reshaped.near)));
            }
        };
        let many = changes.iter().map(|change| change.reshaped.len()).sum::<usize>() > MANY;
        both(if many { threads } else { 1 }, primitives, index);
    }

    /// The primitives of a block.
    fn members_of(&self, key: BlockKey) -> impl Iterator<Item = Member> {
        let near = self.blocks.get(key).into_iter().flat_map(|block| &block.near);
        near.map(|near| (near.local, near.label, self.slots.sums(near.slot)))
    }

    /// The primitives of a block whose kernel differs from what it was.
    fn change(&self, surfaces: &BlockSurfaces, (log_evidence, opinion): &mut Buffers) -> Option<Change> {
        let (mut reshaped, mut probability, mut stale) = (Vec::new(), Vec::new(), StaleOfOne::default());
        let records = &self.blocks.get(surfaces.block)?.near;
        for (near, position) in records.iter().zip(0..) {
            let (chunk, i) = self.slots.chunk_of(near.slot);
            let (changed, renewed) = (chunk.heads[i].changed(), surfaces.at(near.local, near.label));
            if !changed && renewed.is_none_or(|Renewed { before, now }| before == now) {
                continue;
            }
            let core = chunk.core(i);
            let surface = renewed.map_or_else(|| self.surfaces.at(core.mean, near.label), |renewed| renewed.now);
            let known = chunk.seen.get().filter(|_| !changed).map(|seen| seen.get(i));
            let (old, mut seen) = match known {
                Some(known) => {
                    let form = self.recipe.form_on(&Core { uncertainty: known.uncertainty, ..core }, surface);
                    (Support::of(known), Seen { form, ..*known })
                }
                None => {
                    probability.reserve(if probability.is_empty() { records.len() * self.classes() } else { 0 });
                    let seen = self.deriving_on(|_: &Core| surface).of_core(core, chunk, i, log_evidence, opinion);
                    probability.extend_from_slice(opinion);
                    (self.support_of(near.slot), seen)
                }
            };
            seen.version = self.stamp;
            let new = Support::of(&seen);
            stale = stale.and(old).and(new);
            let was = old.map_or([0.0; 3], |old| old.form.half_box);
            let near = Near { extent: extent_of(new.as_ref()), label: seen.label, ..*near };
            reshaped.reserve(if reshaped.is_empty() { records.len() } else { 0 });
            reshaped.push(Reshaped { position, near, seen, was, judged: known.is_none() });
        }
        let StaleOfOne { small, large } = stale;
        (!reshaped.is_empty()).then_some(Change { block: surfaces.block, reshaped, probability, small, large })
    }

    /// Makes room for what views read of all primitives that are about to be given it, and of those beside them.
    fn make_room(&mut self, changes: &[Change], threads: usize) {
        self.looks = self.looks.wrapping_add(1);
        let slots = changes.iter().flat_map(|change| &change.reshaped).map(|reshaped| reshaped.near.slot);
        let mut numbers: Vec<u32> = slots.map(|slot| slot / CHUNK as u32).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let chunks = self.slots.chunks();
        numbers.retain(|number| chunks[*number as usize].seen.get().is_none());
        let made = in_threads(
            &numbers,
            threads,
            2,
            || (),
            |(), number| self.seen_of(&self.slots.chunks()[*number as usize], self.stamp),
        );
        for (number, seen) in numbers.into_iter().zip(made) {
            self.slots.chunks_mut()[number as usize].seen = seen.into();
        }
    }
}
