//! What is derived from sums when somebody looks: opinions, and kernels that follow the surface which the primitives
//! around form.
//!
//! Surfaces are a matter of blocks, primitives lie in chunks of memory: what is to be derived is listed block by block, derived
//! and put in its place chunk by chunk, and told to the index block by block again.

use std::sync::{Mutex, PoisonError};

use super::aabb::{Stale, StaleOfOne};
use super::blocks::Near;
use super::chunk::{CHUNK, Chunk};
use super::large::is_small;
use super::pools::Member;
use super::seen::{Deriving, Seen};
use super::set::{PrimitiveSet, extent_of};
use super::slots::Core;
use super::surfaces::{BlockSurfaces, Renewed};
use crate::keys::BlockKey;
use crate::threads::in_threads;

/// Looks for which what was derived of a chunk is kept, if none of its primitives changed: it can be derived again.
const KEPT_LOOKS: u32 = 1;

/// Blocks that are listed together.
const TOGETHER: usize = 64;

/// How many primitives ahead memory is asked for.
const AHEAD: usize = 2;

/// A primitive whose kernel may differ from what it was.
#[derive(Clone, Copy)]
struct Item {
    slot: u32,
    /// Its number among all of them, in the order of blocks.
    number: u32,
    /// Number of its block.
    block: u32,
    label: u16,
    /// The surface, if it is new: here, because items are read in another order than blocks.
    renewed: Option<Renewed>,
}

/// What is new of the primitives of a chunk.
#[derive(Default)]
struct Derived {
    /// Number, extent and class, for their records.
    records: Vec<(u32, f32, u16)>,
    /// By number of the block: where views are out of date.
    stale: Vec<(u32, StaleOfOne)>,
    /// Slot, mean, half box before and after of those that are or were among the large.
    large: Vec<(u32, [f64; 3], [[f32; 3]; 2])>,
}

/// Log-evidence and probabilities of a primitive.
type Buffers = (Vec<i64>, Vec<f32>);

impl PrimitiveSet {
    /// Derives what depends on primitives in touched blocks anew, and adds where views differ because of it.
    pub(super) fn reshape(&mut self, stale: &mut Stale, threads: usize) {
        let mut all = std::mem::take(&mut self.surfaces);
        let touched = stale.touched.iter().map(|(key, _)| *key);
        let mut surfaces = all.update(touched.clone(), |key| self.members_of(key), threads);
        self.surfaces = all;
        // Also those without a new surface, if they themselves are new.
        let alone = |key: &BlockKey| surfaces.binary_search_by_key(key, |surfaces| surfaces.block).is_err();
        let alone: Vec<BlockSurfaces> = touched.filter(alone).map(BlockSurfaces::unchanged).collect();
        surfaces.extend(alone);
        // Kernel values that views remember belong to a version.
        self.stamp = self.stamp.wrapping_add(1);
        self.looks = self.looks.wrapping_add(1);
        let items = self.items(&surfaces, threads);
        let derived = self.derive(&items, threads);
        self.surfaces.keep(&surfaces);
        let mut new: Vec<Option<(f32, u16)>> = vec![None; items.len()];
        let mut out_of_date: Vec<Option<StaleOfOne>> = Vec::new();
        out_of_date.resize_with(surfaces.len(), || None);
        for Derived { records, stale, large } in derived {
            records.into_iter().for_each(|(number, extent, label)| new[number as usize] = Some((extent, label)));
            for (block, more) in stale {
                out_of_date[block as usize].get_or_insert_default().join(more);
            }
            for (slot, mean, [was, now]) in large {
                self.large.remove(slot, mean, was);
                self.large.insert(slot, mean, now);
            }
        }
        let mut new = new.into_iter();
        let mut ahead = surfaces.iter().skip(4 * AHEAD);
        for (BlockSurfaces { block, .. }, out_of_date) in surfaces.iter().zip(out_of_date) {
            ahead.next().into_iter().for_each(|ahead| self.blocks.prefetch(ahead.block));
            self.small_reach = self.small_reach.max(self.blocks.renew(*block, &mut new));
            if let Some(StaleOfOne { small, large }) = out_of_date {
                stale.boxes.extend(small);
                stale.supports.extend(large);
                stale.reshaped.push((*block, small));
            }
        }
    }

    /// The primitives of a block.
    fn members_of(&self, key: BlockKey) -> impl Iterator<Item = Member> {
        let near: &[Near] = self.blocks.get(key).map_or(&[], |block| &block.near);
        self.slots.prefetch_all(near.iter().map(|near| near.slot));
        near.iter().map(|near| (near.local, near.label, self.slots.sums(near.slot)))
    }

    /// All primitives of blocks, in the order of blocks and their records.
    fn items(&self, surfaces: &[BlockSurfaces], threads: usize) -> Vec<Item> {
        let parts: Vec<(usize, &[BlockSurfaces])> = surfaces.chunks(TOGETHER).enumerate().collect();
        let listed = in_threads(
            &parts,
            threads,
            2,
            || (),
            |(), (part, surfaces)| {
                let mut items = Vec::new();
                for (block, surfaces) in (part * TOGETHER..).zip(*surfaces) {
                    for near in self.blocks.get(surfaces.block).iter().flat_map(|block| &block.near) {
                        let renewed = surfaces.get(near.local, near.label);
                        let (slot, label) = (near.slot, near.label);
                        items.push(Item { slot, number: 0, block: block as u32, label, renewed });
                    }
                }
                items
            },
        );
        let mut items = listed.concat();
        items.iter_mut().zip(0..).for_each(|(item, number)| item.number = number);
        items
    }

    /// Derives what is new of primitives, chunk by chunk.
    fn derive(&mut self, items: &[Item], threads: usize) -> Vec<Derived> {
        let (looks, stamp, defers, cubes, classes) =
            (self.looks, self.stamp, self.defers(), self.cubes(), self.classes());
        let Self { slots, recipe, surfaces: kept, .. } = self;
        let by_chunk = by_chunk(items, slots.chunks().len());
        let work: Vec<Mutex<(&mut Chunk, &[Item])>> = (slots.chunks_mut().iter_mut().zip(by_chunk.parts()))
            .filter(|(_, items)| !items.is_empty())
            .map(Mutex::new)
            .collect();
        let as_kept = |core: &Core| kept.at(core.mean, core.label);
        let derive = |buffers: &mut Buffers, work: &Mutex<(&mut Chunk, &[Item])>| {
            let mut guard = work.lock().unwrap_or_else(PoisonError::into_inner);
            let (chunk, items) = &mut *guard;
            let deriving = Deriving { recipe, cubes, classes, surface: as_kept };
            chunk.seen.get_or_init(|| Box::new(deriving.all(chunk, looks, stamp)));
            let mut derived = Derived::default();
            let mut ahead = items.iter().skip(AHEAD);
            for item in items.iter() {
                // Asks for the memory of what comes soon, so that it is there by then.
                if let Some(i) = ahead.next().map(|item| item.slot as usize % CHUNK) {
                    chunk.prefetch(i);
                    chunk.seen.get().iter().for_each(|seen| seen.prefetch(i));
                }
                let i = item.slot as usize % CHUNK;
                let changed = chunk.heads[i].changed();
                if !changed && item.renewed.is_none_or(|renewed| !renewed.differs) {
                    continue;
                }
                let core = chunk.core(i);
                let surface = item.renewed.map_or_else(|| kept.at(core.mean, item.label), |renewed| renewed.now);
                let Some(known) = chunk.seen.get().map(|seen| *seen.get(i)) else { continue };
                // Of a primitive that has changed views know no kernel, where they wait.
                let old = (!(changed && defers)).then_some(&known);
                let (log_evidence, opinion) = &mut *buffers;
                let mut seen = if changed {
                    let deriving = Deriving { recipe, cubes, classes, surface: |_: &Core| surface };
                    deriving.of_core(core, chunk, i, log_evidence, opinion)
                } else {
                    let form = recipe.form_on(&Core { uncertainty: known.uncertainty, ..core }, surface);
                    Seen { form, ..known }
                };
                seen.version = stamp;
                chunk.give(i, &seen, changed.then_some(&opinion[..]), looks);
                derived.note(item, old, &seen);
            }
            derived
        };
        let derived = in_threads(&work, threads, 2, Buffers::default, derive);
        if defers {
            let chunks = slots.chunks_mut().iter_mut();
            chunks.for_each(|chunk| chunk.forget(|at| looks.wrapping_sub(at) > KEPT_LOOKS));
        }
        derived
    }
}

impl Derived {
    /// Takes note of what is new of a primitive, and of what views knew of it.
    fn note(&mut self, item: &Item, old: Option<&Seen>, new: &Seen) {
        self.records.push((item.number, extent_of(&new.form), new.label));
        if self.stale.last().is_none_or(|(block, _)| *block != item.block) {
            self.stale.push((item.block, StaleOfOne::default()));
        }
        if let Some((_, stale)) = self.stale.last_mut() {
            old.into_iter().chain([new]).for_each(|seen| stale.cover(seen.mean, &seen.form));
        }
        let was = old.filter(|old| old.form.reach > 0.0).map_or([0.0; 3], |old| old.form.half_box);
        if !is_small(was) || !is_small(new.form.half_box) {
            self.large.push((item.slot, new.mean, [was, new.form.half_box]));
        }
    }
}

/// Primitives by chunk.
struct ByChunk {
    items: Vec<Item>,
    /// Where those of each chunk end.
    ends: Vec<usize>,
}

impl ByChunk {
    fn parts(&self) -> impl Iterator<Item = &[Item]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.items[start..*end])
    }
}

/// Puts primitives in the order of chunks, those of one as they come.
fn by_chunk(items: &[Item], chunks: usize) -> ByChunk {
    let of = |item: &Item| item.slot as usize / CHUNK;
    let mut next = vec![0; chunks];
    items.iter().for_each(|item| next[of(item)] += 1);
    let mut end = 0;
    for next in &mut next {
        (*next, end) = (end, end + *next);
    }
    let Some(first) = items.first() else { return ByChunk { items: Vec::new(), ends: next } };
    let mut sorted = vec![*first; items.len()];
    for item in items {
        let at = &mut next[of(item)];
        sorted[*at] = *item;
        *at += 1;
    }
    ByChunk { items: sorted, ends: next }
}
