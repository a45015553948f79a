//! What is derived from sums when somebody looks: opinions, and kernels that follow the surface which the primitives
//! around form.

use super::aabb::{Aabb, Stale, StaleOfOne, Support};
use super::blocks::Near;
use super::chunk::CHUNK;
use super::pools::Member;
use super::seen::Seen;
use super::set::{PrimitiveSet, extent_of};
use super::slots::Core;
use super::surfaces::BlockSurfaces;
use crate::keys::BlockKey;
use crate::threads::in_threads;

/// Looks for which what was derived of a chunk is kept, if none of its primitives changed: it can be derived again.
const KEPT_LOOKS: u32 = 1;

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
        for Change { block, reshaped, probability, small, large } in changes {
            let mut rows = probability.chunks_exact(self.classes().max(1));
            for reshaped in &reshaped {
                self.give(reshaped, if reshaped.judged { rows.next() } else { None });
            }
            self.blocks.renew(block, reshaped.iter().map(|reshaped| (reshaped.position, reshaped.near)));
            stale.boxes.extend(small);
            stale.supports.extend(large);
            stale.reshaped.push((block, small));
        }
        if self.defers() {
            let looks = self.looks;
            self.slots.chunks_mut().iter_mut().for_each(|chunk| chunk.forget(|at| looks.wrapping_sub(at) > KEPT_LOOKS));
        }
    }

    /// The primitives of a block.
    fn members_of(&self, key: BlockKey) -> impl Iterator<Item = Member> {
        let near = self.blocks.get(key).into_iter().flat_map(|block| &block.near);
        near.map(|near| (near.local, near.label, self.slots.sums(near.slot)))
    }

    /// The primitives of a block whose kernel differs from what it was.
    fn change(&self, surfaces: &BlockSurfaces, (log_evidence, opinion): &mut Buffers) -> Option<Change> {
        let (mut reshaped, mut probability, mut stale) = (Vec::new(), Vec::new(), StaleOfOne::default());
        for (near, position) in self.blocks.get(surfaces.block)?.near.iter().zip(0..) {
            let changed = self.head(near.slot).changed();
            let surface = surfaces.at(near.local, near.label);
            if !changed && surface.is_none() {
                continue;
            }
            let (chunk, i) = self.slots.chunk_of(near.slot);
            let core = chunk.core(i);
            let before = self.surfaces.at(core.mean, near.label);
            let surface = surface.unwrap_or(before);
            if !changed && surface == before {
                continue;
            }
            let known = chunk.seen.get().filter(|_| !changed).map(|seen| *seen.get(i));
            let mut seen = match known {
                Some(known) => Seen {
                    form: self.recipe.form_on(&Core { uncertainty: known.uncertainty, ..core }, surface),
                    ..known
                },
                None => self.deriving_on(|_: &Core| surface).one(chunk, i, log_evidence, opinion),
            };
            seen.version = self.stamp;
            if known.is_none() {
                probability.extend_from_slice(opinion);
            }
            let (old, new) = (self.support_of(near.slot), Support::of(&seen));
            stale = stale.and(old).and(new);
            let was = old.map_or([0.0; 3], |old| old.form.half_box);
            let near = Near { extent: extent_of(new.as_ref()), label: seen.label, ..*near };
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

    /// Gives a primitive what is new of it.
    fn give(&mut self, reshaped: &Reshaped, probability: Option<&[f32]>) {
        let Reshaped { near, seen, was, .. } = reshaped;
        self.slots.give(near.slot, seen, probability, self.looks);
        self.large.remove(near.slot, seen.mean, *was);
        self.large.insert(near.slot, seen.mean, seen.form.half_box);
        self.small_reach = self.small_reach.max(near.extent);
    }
}
