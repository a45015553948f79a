//! The set of primitives with its index. Every change goes through here, so that index and stale boxes cannot lag.

use rayon::prelude::*;

use super::aabb::{Stale, StaleOfOne, Support};
use super::blocks::{Blocks, Near};
use super::large::{Large, is_small, longest};
use super::recipe::Recipe;
use super::slots::{Batch, Core, Slots};
use super::surfaces::{Surface, Surfaces};
use crate::kernel::Form;
use crate::keys::BlockKey;
use crate::primitive::{MANY_QUANTA, Sums, block_of, checked_sum};
use crate::threads::threads_of;

/// All primitives of a map.
#[derive(Debug, Clone)]
pub(crate) struct PrimitiveSet {
    pub(super) recipe: Recipe,
    /// Side of the cubes that tell primitives apart, metres, if the map is a sum.
    cubes: Option<f64>,
    pub(super) slots: Slots,
    pub(super) blocks: Blocks,
    pub(super) large: Large,
    pub(super) surfaces: Surfaces,
    /// Largest half box among the small primitives so far: how far beyond its own block a search must look.
    pub(super) small_reach: f32,
    /// Largest mean range so far, metres.
    farthest: f32,
    /// Number of the change in progress.
    pub(super) stamp: u32,
    next_id: u64,
    /// Whether some primitive has so much in it that more must be added with a look at what is exact.
    has_many: bool,
}

impl PrimitiveSet {
    pub(crate) fn new(classes: usize, recipe: Recipe) -> Self {
        Self {
            recipe,
            cubes: None,
            slots: Slots::new(classes),
            blocks: Blocks::default(),
            large: Large::default(),
            surfaces: Surfaces::default(),
            small_reach: 0.0,
            farthest: 0.0,
            stamp: 0,
            next_id: 0,
            has_many: false,
        }
    }

    /// A set that is a sum: at most one primitive for every class and cube of this side.
    pub(crate) fn of_cubes(self, side: Option<f64>) -> Self {
        Self { cubes: side, ..self }
    }

    /// Side of the cubes that tell primitives apart, if the map is a sum.
    pub(crate) fn cubes(&self) -> Option<f64> {
        self.cubes
    }

    /// Whether opinions and kernels are derived when somebody looks: nothing that a change does depends on them.
    pub(crate) fn defers(&self) -> bool {
        self.cubes.is_some() && self.recipe.follows()
    }

    pub(crate) fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn core(&self, slot: u32) -> &Core {
        self.slots.core(slot)
    }

    /// Whether some primitive has so much in it that more must be added with a look at what is exact.
    pub(crate) fn has_many(&self) -> bool {
        self.has_many
    }

    pub(crate) fn log_evidence(&self, slot: u32) -> &[i64] {
        self.slots.log_evidence(slot)
    }

    pub(crate) fn probability(&self, slot: u32) -> &[f32] {
        self.slots.probability(slot)
    }

    pub(crate) fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// At least the largest mean range of any primitive, metres.
    pub(crate) fn farthest(&self) -> f32 {
        self.farthest
    }

    pub(crate) fn classes(&self) -> usize {
        self.slots.classes()
    }

    /// Ids in no particular order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u64> {
        self.slots.alive().map(|slot| self.slots.core(slot).id)
    }

    /// Begins a change of the set: what it makes or changes counts as fresh until the next one begins.
    pub(crate) fn begin(&mut self) {
        self.stamp = self.stamp.wrapping_add(1);
        self.blocks.begin();
    }

    /// Whether a primitive was made or changed since [`Self::begin`].
    pub(crate) fn is_fresh(&self, near: &Near) -> bool {
        near.stamp == self.stamp
    }

    /// Blocks that may hold a primitive within `radius` of a fresh one, sorted.
    pub(crate) fn near_fresh(&mut self, radius: f64) -> Vec<BlockKey> {
        self.blocks.near_fresh(radius.ceil() as i32, self.stamp)
    }

    /// Adds judged primitives under fresh ids, in the order of a curve through their blocks.
    pub(crate) fn insert(&mut self, batch: &Batch, rows: impl IntoIterator<Item = usize>) {
        let rows = batch.along_curve(rows);
        let first = self.next_id;
        self.next_id += rows.len() as u64;
        self.add(batch, &rows, |order, _| first + order as u64);
    }

    /// Adds judged primitives under the ids that they have.
    pub(crate) fn put_back(&mut self, batch: &Batch, rows: impl IntoIterator<Item = usize>) {
        let rows = batch.along_curve(rows);
        self.add(batch, &rows, |_, core| core.id);
    }

    fn add(&mut self, batch: &Batch, rows: &[usize], id_of: impl Fn(usize, &Core) -> u64 + Sync) {
        let (classes, recipe, stamp, cubes) = (self.slots.classes(), self.recipe, self.stamp, self.cubes);
        let defers = self.defers();
        let form = |row: &usize| if defers { Form::default() } else { recipe.form_of(&batch.cores[*row]) };
        let forms: Vec<Form> = rows.par_iter().with_min_len(256).map(form).collect();
        let slots = self.slots.extend(rows.len(), |order| {
            let (row, form) = (rows[order], forms[order]);
            let core = &batch.cores[row];
            let id = id_of(order, core);
            let order = cubes.map_or(id, |side| core.order_in(side));
            let core = Core { id, order, form, version: stamp, changed: defers, ..core.clone() };
            let range = row * classes..(row + 1) * classes;
            (core, &batch.log_evidence[range.clone()], &batch.probability[range])
        });
        self.has_many |= rows.iter().any(|row| batch.cores[*row].has_many(batch.row(*row, classes)));
        // What the index needs to know, while both cores have hands free: entering is one after the other.
        let entries = slots.par_iter().with_min_len(256).map(|slot| {
            let core = self.slots.core(*slot);
            (near_of(core, *slot, stamp), StaleOfOne::of(Support::of(core)))
        });
        for (near, stale) in entries.collect::<Vec<_>>() {
            self.enter(near, &stale);
        }
    }

    /// The id that the next primitive gets.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id
    }

    /// Leaves the ids below `next_id` to primitives that are put back.
    pub(crate) fn reserve_ids(&mut self, next_id: u64) {
        self.next_id = self.next_id.max(next_id);
    }

    pub(crate) fn remove(&mut self, slot: u32) {
        self.mark(slot);
        self.leave(slot);
        self.slots.remove(slot);
    }

    /// Adds rows of a batch to primitives, (slot, row) pairs, and derives everything anew, unless that can wait. The class
    /// stays: it is that of the rows.
    pub(crate) fn fold(&mut self, pairs: &[(u32, usize)], batch: &Batch) {
        let (recipe, stamp, defers) = (self.recipe, self.stamp, self.defers());
        let moves = self.slots.add_rows(pairs, batch, |slot, core, log_evidence, probability, before| {
            let mut stale = StaleOfOne::of(before.support);
            if defers {
                (core.mean, core.changed) = (core.sums.mean(), true);
            } else {
                core.judge(log_evidence, recipe.correlation, probability);
                (core.form, core.version) = (recipe.form_of(core), stamp);
                stale = stale.and(Support::of(core));
            }
            let (from, to) = (BlockKey(block_of(before.mean)), BlockKey(block_of(core.mean)));
            let stays = from == to && is_small(before.half_box) && core.is_small();
            let (position, near) = (core.position, near_of(core, slot, stamp));
            let many = core.has_many(log_evidence);
            Move { many, slot, position, from, stays, mean: before.mean, half_box: before.half_box, stale, near }
        });
        self.has_many |= moves.iter().flatten().any(|moved| moved.many);
        // First those that stay, while the positions of all are as they were.
        for Move { position, from, stale, near, .. } in moves.iter().flatten().filter(|moved| moved.stays) {
            self.small_reach = self.small_reach.max(near.extent);
            self.farthest = self.farthest.max(near.range);
            self.blocks.update(*from, *position, *near, stale);
        }
        for Move { slot, from, mean, half_box, stale, .. } in moves.iter().flatten().filter(|moved| !moved.stays) {
            self.blocks.mark(*from, stale);
            self.leave_from(*slot, *mean, *half_box);
            self.enter(self.near_of(*slot), &StaleOfOne::default());
        }
    }

    /// Adds one primitive to another and removes it. Both stay as they are if their sum would not be exact.
    pub(crate) fn absorb(&mut self, receiver: u32, giver: u32) {
        let (own, other) = (self.core(receiver), self.core(giver));
        if own.sums.are_many() || other.sums.are_many() || self.has_many {
            let evidence = checked_sum(self.log_evidence(receiver), self.log_evidence(giver));
            if own.sums.checked_add(&other.sums).is_none() || evidence.is_none() {
                return;
            }
        }
        self.slots.add_within(receiver, giver);
        self.has_many |= self.core(receiver).has_many(self.log_evidence(receiver));
        self.follow(receiver);
        self.remove(giver);
    }

    /// After a change of sums: remembers the support that views were computed with, and keeps the index at the mean.
    fn follow(&mut self, slot: u32) {
        let core = self.slots.core(slot);
        let old = BlockKey(block_of(core.mean));
        let stale = StaleOfOne::of(Support::of(core).filter(|_| !core.changed));
        let (position, small) = (core.position, core.is_small());
        let mean = core.sums.mean();
        if old == BlockKey(block_of(mean)) && small {
            let core = self.slots.core_mut(slot);
            core.mean = mean;
            core.changed = true;
            let near = self.near_of(slot);
            self.farthest = self.farthest.max(near.range);
            self.blocks.update(old, position, near, &stale);
        } else {
            self.blocks.mark(old, &stale);
            self.leave(slot);
            let core = self.slots.core_mut(slot);
            core.mean = mean;
            core.changed = true;
            self.enter(self.near_of(slot), &StaleOfOne::default());
        }
    }

    /// Derives the kernels of changed primitives. `changed` may hold slots that are gone or named twice.
    pub(crate) fn settle(&mut self, mut changed: Vec<u32>) {
        changed.retain(|slot| self.slots.core(*slot).alive && self.slots.core(*slot).changed);
        changed.par_sort_unstable();
        changed.dedup();
        // Large ones are indexed by their support, which is about to change.
        let large = |set: &Self, slot: u32| !set.slots.core(slot).is_small();
        let was_large: Vec<u32> = changed.iter().copied().filter(|slot| large(self, *slot)).collect();
        was_large.iter().for_each(|slot| self.leave(*slot));
        let (recipe, stamp) = (self.recipe, self.stamp);
        self.slots.derive(&changed, |core, log_evidence, probability| {
            core.judge(log_evidence, recipe.correlation, probability);
            (core.form, core.version) = (recipe.form_of(core), stamp);
            core.changed = false;
        });
        was_large.iter().for_each(|slot| self.enter(self.near_of(*slot), &StaleOfOne::default()));
        for slot in changed {
            if was_large.binary_search(&slot).is_ok() {
                self.mark(slot);
            } else {
                if large(self, slot) {
                    // Still recorded in its block, and now among the large as well.
                    let core = self.slots.core(slot);
                    self.large.insert(slot, core.mean, core.form.half_box);
                }
                let near = self.near_of(slot);
                let core = self.slots.core(slot);
                self.small_reach = self.small_reach.max(near.extent);
                self.farthest = self.farthest.max(near.range);
                let stale = StaleOfOne::of(Support::of(core));
                self.blocks.update(BlockKey(block_of(core.mean)), core.position, near, &stale);
            }
        }
    }

    /// Says of a primitive whether it is gone; views are out of date around it.
    pub(crate) fn set_gone(&mut self, slot: u32, gone: bool) {
        self.slots.core_mut(slot).gone = gone;
        self.mark(slot);
    }

    fn mark(&mut self, slot: u32) {
        let core = self.slots.core(slot);
        self.blocks.mark(BlockKey(block_of(core.mean)), &StaleOfOne::of(Support::of(core)));
    }

    /// Adds a primitive to the index, and marks supports as stale.
    fn enter(&mut self, near: Near, stale: &StaleOfOne) {
        let core = self.slots.core(near.slot);
        if !core.is_small() {
            self.large.insert(near.slot, core.mean, core.form.half_box);
        }
        self.small_reach = self.small_reach.max(near.extent);
        self.farthest = self.farthest.max(near.range);
        let position = self.blocks.insert(BlockKey(block_of(core.mean)), near, stale);
        self.slots.core_mut(near.slot).position = position;
    }

    /// Takes a primitive out of the index.
    fn leave(&mut self, slot: u32) {
        let core = self.slots.core(slot);
        self.leave_from(slot, core.mean, core.form.half_box);
    }

    /// Takes a primitive out of the index, where it is under a mean and half box that it may no longer have.
    fn leave_from(&mut self, slot: u32, mean: [f64; 3], half_box: [f32; 3]) {
        if !is_small(half_box) {
            self.large.remove(slot, mean, half_box);
        }
        let position = self.slots.core(slot).position;
        if let Some(moved) = self.blocks.remove(BlockKey(block_of(mean)), position) {
            self.slots.core_mut(moved).position = position;
        }
    }

    pub(super) fn near_of(&self, slot: u32) -> Near {
        near_of(self.slots.core(slot), slot, self.stamp)
    }

    /// A judged copy of all primitives, in order.
    pub(crate) fn to_batch(&self) -> Batch {
        self.copied(&self.in_order(), |core| (core.sums, core.surface))
    }

    /// A judged copy of some primitives without their height.
    pub(crate) fn to_flat_batch(&self, slots: &[u32]) -> Batch {
        self.copied(slots, |core| {
            let [xx, yy, _, xy, ..] = core.surface;
            (core.sums.flattened(), [xx, yy, 0.0, xy, 0.0, 0.0])
        })
    }

    fn copied(&self, slots: &[u32], change: impl Fn(&Core) -> (Sums, Surface)) -> Batch {
        let mut batch = Batch::default();
        for slot in slots.iter().copied() {
            let old = self.core(slot);
            let (sums, surface) = change(old);
            batch.cores.push(Core { muted: old.muted, surface, ..Core::of_sums(sums) });
            batch.log_evidence.extend_from_slice(self.log_evidence(slot));
        }
        batch.judge(self.slots.classes(), self.recipe.correlation);
        batch
    }

    /// Blocks in which a primitive was added, removed or altered since views were last brought up to date.
    pub(crate) fn touched(&self) -> impl Iterator<Item = BlockKey> {
        self.blocks.touched()
    }

    /// Takes where views are out of date, with kernels as the primitives around them make them now.
    pub(crate) fn take_stale(&mut self, threads: usize) -> Stale {
        let mut stale = self.blocks.take_stale();
        if self.recipe.follows() {
            self.reshape(&mut stale, threads_of(threads));
        }
        stale
    }

    /// How much of what has changed does not grow with the map alone: large supports, and blocks that are empty now.
    pub(crate) fn waiting(&self) -> usize {
        self.blocks.waiting()
    }

    pub(crate) fn byte_size(&self) -> (usize, usize) {
        (self.slots.byte_size(), self.blocks.byte_size() + self.large.byte_size() + self.surfaces.byte_size())
    }
}

/// What [`PrimitiveSet::fold`] did to a primitive, for the index to follow.
struct Move {
    slot: u32,
    position: u32,
    /// The block that has its record.
    from: BlockKey,
    /// Whether the record may stay where it is.
    stays: bool,
    /// Mean and half box before.
    mean: [f64; 3],
    half_box: [f32; 3],
    /// The supports before and after.
    stale: StaleOfOne,
    near: Near,
    /// Whether it has so much in it that more must be added with a look.
    many: bool,
}

fn near_of(core: &Core, slot: u32, stamp: u32) -> Near {
    let block = block_of(core.mean);
    Near {
        local: std::array::from_fn(|i| (core.mean[i] - f64::from(block[i])) as f32),
        range: core.sums.mean_range() as f32,
        extent: extent_of(core),
        slot,
        stamp,
        label: core.label,
    }
}

/// How far the kernel reaches, as the short records have it.
pub(super) fn extent_of(core: &Core) -> f32 {
    if core.is_small() && core.form.reach > 0.0 { longest(core.form.half_box) } else { 0.0 }
}

impl Core {
    /// Whether so much was summed that more must be added with a look at what is exact.
    pub(crate) fn has_many(&self, log_evidence: &[i64]) -> bool {
        self.sums.are_many() || log_evidence[usize::from(self.label)] > MANY_QUANTA
    }

    fn is_small(&self) -> bool {
        is_small(self.form.half_box)
    }
}
