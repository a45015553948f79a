//! The set of primitives with its index. Every change goes through here, so that index and stale boxes cannot lag.

use rayon::prelude::*;

use super::aabb::{Stale, StaleOfOne, Support};
use super::added::Additions;
use super::blocks::{Block, Blocks, Near};
use super::chunk::Head;
use super::large::{Large, is_small, longest};
use super::recipe::Recipe;
use super::seen::Seen;
use super::slots::{Batch, BatchRow, Core, Slots, along_curve};
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
    pub(super) farthest: f32,
    /// Number of the change in progress.
    pub(super) stamp: u32,
    next_id: u64,
    /// Whether some primitive has so much in it that more must be added with a look at what is exact.
    pub(super) has_many: bool,
    /// Whether some primitive was ever gone.
    some_gone: bool,
    /// Number of the latest look.
    pub(super) looks: u32,
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
            some_gone: false,
            looks: 0,
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

    /// What is known of a primitive without unpacking it.
    pub(crate) fn head(&self, slot: u32) -> &Head {
        self.slots.head(slot)
    }

    /// A primitive, not judged.
    pub(crate) fn core(&self, slot: u32) -> Core {
        self.slots.core(slot)
    }

    /// A judged primitive, and its probabilities.
    pub(crate) fn judged(&self, slot: u32) -> (Core, Vec<f32>) {
        let (mut core, mut probability) = (self.core(slot), vec![0.0; self.classes()]);
        core.judge(&self.log_evidence(slot), self.recipe.correlation, &mut probability);
        (core, probability)
    }

    /// Whether some primitive has so much in it that more must be added with a look at what is exact.
    pub(crate) fn has_many(&self) -> bool {
        self.has_many
    }

    pub(crate) fn log_evidence(&self, slot: u32) -> Vec<i64> {
        self.slots.log_evidence(slot)
    }

    /// Writes the log-evidence of every class.
    pub(crate) fn read_evidence(&self, slot: u32, values: &mut [i64]) {
        self.slots.read_evidence(slot, values);
    }

    /// The sums of a primitive.
    pub(crate) fn sums(&self, slot: u32) -> Sums {
        self.slots.sums(slot)
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
        self.slots.alive().map(|slot| self.slots.head(slot).id())
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

    /// Whether a block may hold such a one.
    pub(crate) fn may_have_fresh(&self, block: &Block) -> bool {
        block.may_have(self.stamp)
    }

    /// Blocks that may hold a primitive within `radius` of a fresh one, sorted.
    pub(crate) fn near_fresh(&mut self, radius: f64) -> Vec<BlockKey> {
        self.blocks.near_fresh(radius.ceil() as i32, self.stamp)
    }

    /// What changes from now on is what a frame with this number in its submap adds, or nothing of a submap.
    pub(crate) fn remember(&mut self, frame: Option<u64>) {
        self.slots.frame = frame;
    }

    /// What remembered frames have added.
    pub(crate) fn additions(&self) -> Vec<Additions> {
        self.slots.additions()
    }

    /// The same, which is then forgotten.
    pub(crate) fn take_additions(&mut self) -> Vec<Additions> {
        self.slots.take_additions()
    }

    /// Bytes that remembering takes.
    pub(crate) fn size_of_additions(&self) -> usize {
        self.slots.size_of_additions()
    }

    /// Adds judged primitives under fresh ids, in the order of a curve through their blocks.
    pub(crate) fn insert(&mut self, batch: &Batch, rows: impl IntoIterator<Item = usize>) {
        self.insert_rows(rows.into_iter().map(|row| (batch, row)));
    }

    /// The same for rows of several batches.
    pub(crate) fn insert_rows<'a>(&mut self, rows: impl Iterator<Item = BatchRow<'a>>) {
        let rows = along_curve(rows);
        let first = self.next_id;
        self.next_id += rows.len() as u64;
        self.add(&rows, |order, _| first + order as u64);
    }

    /// Adds judged primitives under the ids that they have.
    pub(crate) fn put_back(&mut self, batch: &Batch, rows: impl IntoIterator<Item = usize>) {
        let rows = along_curve(rows.into_iter().map(|row| (batch, row)));
        self.add(&rows, |_, core| core.id);
    }

    fn add(&mut self, rows: &[BatchRow<'_>], id_of: impl Fn(usize, &Core) -> u64 + Sync) {
        let (classes, recipe, stamp, cubes) = (self.slots.classes(), self.recipe.clone(), self.stamp, self.cubes);
        let (defers, follows) = (self.defers(), self.recipe.follows());
        let core = |order: usize| {
            let core = core_of(&rows[order]);
            Core { id: id_of(order, core), changed: follows, ..core.clone() }
        };
        let see = |order: usize| {
            let (mut core, mut probability) = (core(order), vec![0.0; classes]);
            let (batch, row) = rows[order];
            core.judge(batch.row(row, classes), recipe.correlation, &mut probability);
            let form = recipe.form_on(&core, batch.surfaces.get(row).copied().unwrap_or_default());
            (Seen { version: stamp, ..Seen::of(&core, form, &probability, &recipe, cubes) }, probability)
        };
        let now = if defers { 0 } else { rows.len() };
        let seen: Vec<(Seen, Vec<f32>)> = (0..now).into_par_iter().with_min_len(64).map(see).collect();
        let slots = self.slots.extend(rows.len(), |order| {
            let seen = seen.get(order).map(|(seen, probability)| (*seen, &probability[..]));
            (core(order), rows[order].0.row(rows[order].1, classes), seen)
        });
        self.has_many |= rows.iter().any(|(batch, row)| batch.cores[*row].has_many(batch.row(*row, classes)));
        if defers {
            // Nothing but the records: views know of none yet.
            let records: Vec<(Near, [f64; 3])> = rows
                .par_iter()
                .zip(&slots)
                .with_min_len(256)
                .map(|(row, slot)| (near_of(core_of(row), None, *slot, stamp), core_of(row).mean))
                .collect();
            // Along the curve those of a block follow each other.
            let none = StaleOfOne::default();
            for group in records.chunk_by(|(_, a), (_, b)| block_of(*a) == block_of(*b)) {
                let key = BlockKey(block_of(group[0].1));
                let first = self.blocks.insert_all(key, group.iter().map(|(near, _)| *near), &none);
                for ((near, _), position) in group.iter().zip(first..) {
                    self.farthest = self.farthest.max(near.range);
                    self.slots.head_mut(near.slot).position = position;
                }
            }
            return;
        }
        // What the index needs to know, while both cores have hands free: entering is one after the other.
        let entries = rows.par_iter().zip(&slots).with_min_len(256).map(|(row, slot)| {
            let core = core_of(row);
            let support = self.support_of(*slot);
            let half_box = support.map_or([0.0; 3], |support| support.form.half_box);
            (near_of(core, support.as_ref(), *slot, stamp), core.mean, half_box, StaleOfOne::of(support))
        });
        for (near, mean, half_box, stale) in entries.collect::<Vec<_>>() {
            self.enter(near, mean, half_box, &stale);
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
        self.remove_all(&[(slot, self.sums(slot).mean())]);
    }

    /// Removes primitives of which the means are known, quickest if those of a block follow each other; none may be named
    /// twice.
    pub(crate) fn remove_all(&mut self, gone: &[(u32, [f64; 3])]) {
        for group in gone.chunk_by(|(_, a), (_, b)| block_of(*a) == block_of(*b)) {
            let key = BlockKey(block_of(group[0].1));
            for (slot, mean) in group {
                if let Some(support) = self.support_of(*slot) {
                    self.blocks.mark(key, &StaleOfOne::of(Some(support)));
                    self.large.remove(*slot, *mean, support.form.half_box);
                }
            }
            self.blocks.remove_all(key, group.iter().map(|(slot, _)| *slot), &mut self.slots);
        }
        self.slots.remove(gone.iter().map(|(slot, _)| *slot));
    }

    /// Adds one primitive to another and removes it. Both stay as they are if their sum would not be exact.
    pub(crate) fn absorb(&mut self, receiver: u32, giver: u32) {
        let (own, other) = (self.core(receiver), self.core(giver));
        if own.sums.are_many() || other.sums.are_many() || self.has_many {
            let evidence = checked_sum(&self.log_evidence(receiver), &self.log_evidence(giver));
            if own.sums.checked_add(&other.sums).is_none() || evidence.is_none() {
                return;
            }
        }
        let support = self.support_of(receiver);
        self.slots.add_within(receiver, giver);
        self.has_many |= self.core(receiver).has_many(&self.log_evidence(receiver));
        self.follow(receiver, own.mean, support, own.changed);
        self.remove(giver);
    }

    /// After a change of sums: remembers the support that views were computed with, and keeps the index at the mean.
    fn follow(&mut self, slot: u32, old_mean: [f64; 3], support: Option<Support>, had_changed: bool) {
        let old = BlockKey(block_of(old_mean));
        let half_box = support.map_or([0.0; 3], |support| support.form.half_box);
        let stale = StaleOfOne::of(support.filter(|_| !had_changed));
        self.slots.head_mut(slot).set_changed(true);
        // In a set whose views wait, what has changed is not among the large.
        let support = support.filter(|_| !self.defers());
        let core = self.core(slot);
        let near = near_of(&core, support.as_ref(), slot, self.stamp);
        if old == BlockKey(block_of(core.mean)) && is_small(half_box) {
            self.farthest = self.farthest.max(near.range);
            self.blocks.update(old, self.head(slot).position, near, &stale);
        } else {
            self.blocks.mark(old, &stale);
            self.leave(slot, old_mean, half_box);
            let half_box = support.map_or([0.0; 3], |support| support.form.half_box);
            self.enter(near, core.mean, half_box, &StaleOfOne::default());
        }
    }

    /// Derives the kernels of changed primitives, unless that waits. `changed` may hold slots that are gone or named twice.
    pub(crate) fn settle(&mut self, mut changed: Vec<u32>) {
        if self.defers() {
            return;
        }
        changed.retain(|slot| self.head(*slot).alive() && self.head(*slot).changed());
        changed.par_sort_unstable();
        changed.dedup();
        let derived: Vec<(Seen, Vec<f32>)> =
            changed.par_iter().with_min_len(64).map(|slot| self.derived(*slot)).collect();
        for (slot, (seen, probability)) in changed.into_iter().zip(derived) {
            let mean = self.core(slot).mean;
            let old = self.support_of(slot).map_or([0.0; 3], |support| support.form.half_box);
            let follows = self.recipe.follows();
            self.slots.keep(slot, Seen { version: self.stamp, ..seen }, &probability);
            self.slots.head_mut(slot).set_changed(follows);
            let support = Support::of(&seen);
            let core = self.core(slot);
            let near = near_of(&core, support.as_ref(), slot, self.stamp);
            // Large ones are indexed by their support as well.
            self.large.remove(slot, mean, old);
            self.large.insert(slot, mean, seen.form.half_box);
            self.small_reach = self.small_reach.max(near.extent);
            self.farthest = self.farthest.max(near.range);
            let position = self.head(slot).position;
            self.blocks.update(BlockKey(block_of(mean)), position, near, &StaleOfOne::of(support));
        }
    }

    /// Says of a primitive whether it is gone; views are out of date around it.
    pub(crate) fn set_gone(&mut self, slot: u32, gone: bool) {
        self.slots.head_mut(slot).set_gone(gone);
        self.some_gone |= gone;
        self.mark(slot);
    }

    /// Whether there may be primitives that are gone.
    pub(crate) fn some_gone(&self) -> bool {
        self.some_gone
    }

    fn mark(&mut self, slot: u32) {
        let (mean, support) = (self.core(slot).mean, self.support_of(slot));
        self.blocks.mark(BlockKey(block_of(mean)), &StaleOfOne::of(support));
    }

    /// Adds a primitive to the index, and marks supports as stale.
    pub(super) fn enter(&mut self, near: Near, mean: [f64; 3], half_box: [f32; 3], stale: &StaleOfOne) {
        self.large.insert(near.slot, mean, half_box);
        self.small_reach = self.small_reach.max(near.extent);
        self.farthest = self.farthest.max(near.range);
        let position = self.blocks.insert(BlockKey(block_of(mean)), near, stale);
        self.slots.head_mut(near.slot).position = position;
    }

    /// Takes a primitive out of the index, where it is under a mean and half box that it may no longer have.
    pub(super) fn leave(&mut self, slot: u32, mean: [f64; 3], half_box: [f32; 3]) {
        self.large.remove(slot, mean, half_box);
        self.blocks.remove_all(BlockKey(block_of(mean)), [slot].into_iter(), &mut self.slots);
    }

    /// A judged copy of all primitives, in order.
    pub(crate) fn to_batch(&self) -> Batch {
        let mut batch = Batch::default();
        for slot in self.in_order() {
            let old = self.core(slot);
            batch.cores.push(Core { muted: old.muted, ..Core::of_sums(old.sums) });
            batch.log_evidence.extend(self.log_evidence(slot));
        }
        batch.judge(self.slots.classes(), self.recipe.correlation);
        batch
    }

    /// A copy of some primitives without their height, on the shadows of their surfaces. Their opinions are those that they have:
    /// dropping the height changes none.
    pub(crate) fn to_flat_batch(&self, slots: &[u32]) -> Batch {
        let classes = self.classes();
        let mut batch = Batch { log_evidence: vec![0; slots.len() * classes], ..Batch::default() };
        let rows = slots.par_iter().zip(batch.log_evidence.par_chunks_mut(classes)).with_min_len(256);
        let flat = rows.map(|(slot, log_evidence)| {
            self.read_evidence(*slot, log_evidence);
            let core = self.core(*slot);
            let surface = self.surface_at(&core);
            let [xx, yy, _, xy, ..] = surface.covariance;
            let flat = Core::of_sums(core.sums.flattened());
            let shadow = Surface { covariance: [xx, yy, 0.0, xy, 0.0, 0.0], ..surface };
            (Core { label: core.label, muted: core.muted, ..flat }, shadow)
        });
        (batch.cores, batch.surfaces) = flat.unzip();
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

    /// Bytes of what primitives hold, of what was derived from it, and of the index.
    pub(crate) fn byte_size(&self) -> (usize, usize, usize) {
        let (held, seen) = self.slots.byte_size();
        (held, seen, self.blocks.byte_size() + self.large.byte_size() + self.surfaces.byte_size())
    }
}

fn core_of<'a>((batch, row): &BatchRow<'a>) -> &'a Core {
    &batch.cores[*row]
}

pub(super) fn near_of(core: &Core, support: Option<&Support>, slot: u32, stamp: u32) -> Near {
    let block = block_of(core.mean);
    Near {
        local: std::array::from_fn(|i| (core.mean[i] - f64::from(block[i])) as f32),
        range: core.sums.mean_range() as f32,
        extent: support.map_or(0.0, |support| extent_of(&support.form)),
        slot,
        stamp,
        label: core.label,
    }
}

/// How far a kernel reaches, as the short records have it.
pub(super) fn extent_of(form: &Form) -> f32 {
    if form.reach > 0.0 && is_small(form.half_box) { longest(form.half_box) } else { 0.0 }
}

impl Core {
    /// Whether so much was summed that more must be added with a look at what is exact.
    pub(crate) fn has_many(&self, log_evidence: &[i64]) -> bool {
        self.sums.are_many() || log_evidence[usize::from(self.label)] > MANY_QUANTA
    }
}
