//! The set of primitives with its index. Every change goes through here, so that index and dirty boxes cannot lag.

use super::blocks::{BlockKey, Blocks, Near, blocks_between};
use super::dirty::{Aabb, Dirty};
use super::large::{Large, SMALL_M};
use super::slots::{Batch, Core, Slots};
use crate::config::{Config, Distance, Shape};
use crate::maths::{exp, mahalanobis_threshold_2d, mahalanobis_threshold_3d};
use crate::primitive::{Ellipsoid, Form, Sums, block_of, opinion_of};

/// How sums become an ellipsoid, an opinion and a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Recipe {
    /// Mahalanobis threshold of the ellipsoid (paper: τ).
    tau: f64,
    shape: Shape,
    distance: Distance,
    /// ℓβ, metres.
    reach: f64,
}

impl Recipe {
    pub(crate) fn solid(config: &Config) -> Self {
        Self {
            tau: mahalanobis_threshold_3d(config.ellipsoid_mass),
            shape: config.shape,
            distance: config.distance,
            reach: config.length_scale * config.uncertainty_sensitivity,
        }
    }

    pub(crate) fn planar(config: &Config) -> Self {
        Self { tau: mahalanobis_threshold_2d(config.ellipsoid_mass), ..Self::solid(config) }
    }

    pub(crate) fn ellipsoid(&self, core: &Core) -> Ellipsoid {
        Ellipsoid::of_gaussian(core.mean, core.sums.covariance(), self.tau, self.shape)
    }

    /// Derives everything from the sums.
    pub(crate) fn derive(&self, core: &mut Core, log_evidence: &[f64], probability: &mut [f32]) {
        core.mean = core.sums.mean();
        let opinion = opinion_of(log_evidence, probability);
        core.label = opinion.label as u16;
        core.uncertainty = opinion.uncertainty as f32;
        core.ln_uncertainty = opinion.ln_uncertainty as f32;
        let reach = if core.muted { 0.0 } else { self.reach * exp(1.0 - opinion.uncertainty) };
        core.form = Form::new(&self.ellipsoid(core), reach, self.distance);
    }
}

/// All primitives of a map.
#[derive(Debug, Clone)]
pub(crate) struct PrimitiveSet {
    recipe: Recipe,
    slots: Slots,
    blocks: Blocks,
    large: Large,
    /// Largest half box among the small primitives so far: how far beyond its own block a search must look.
    small_reach: f32,
    dirty: Dirty,
    next_id: u64,
}

impl PrimitiveSet {
    pub(crate) fn new(classes: usize, recipe: Recipe) -> Self {
        Self {
            recipe,
            slots: Slots::new(classes),
            blocks: Blocks::default(),
            large: Large::default(),
            small_reach: 0.0,
            dirty: Dirty::default(),
            next_id: 0,
        }
    }

    pub(crate) fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    pub(crate) fn core(&self, slot: u32) -> &Core {
        self.slots.core(slot)
    }

    pub(crate) fn log_evidence(&self, slot: u32) -> &[f64] {
        self.slots.log_evidence(slot)
    }

    pub(crate) fn probability(&self, slot: u32) -> &[f32] {
        self.slots.probability(slot)
    }

    pub(crate) fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    pub(crate) fn classes(&self) -> usize {
        self.slots.classes()
    }

    /// Ends a primitive's first frame, or the frame that changed it.
    pub(crate) fn make_old(&mut self, slot: u32) {
        let core = self.slots.core(slot);
        if core.alive {
            self.blocks.make_old(BlockKey(block_of(core.mean)), slot);
        }
    }

    /// Slots by ascending id.
    pub(crate) fn by_id(&self) -> Vec<u32> {
        self.slots.by_id()
    }

    /// Adds derived primitives under fresh ids, in order; returns their slots.
    pub(crate) fn insert(&mut self, batch: &Batch, rows: impl IntoIterator<Item = usize>) -> Vec<u32> {
        let classes = self.slots.classes();
        rows.into_iter()
            .map(|row| {
                let mut core = batch.cores[row].clone();
                core.id = self.next_id;
                self.next_id += 1;
                self.dirty.mark(&core);
                let range = row * classes..(row + 1) * classes;
                let near = near_of(&core, 0);
                let (mean, half_box) = (core.mean, core.form.half_box);
                let slot = self.slots.insert(core, &batch.log_evidence[range.clone()], &batch.probability[range]);
                self.blocks.insert(BlockKey(block_of(mean)), Near { slot, ..near });
                self.index_form(slot, mean, half_box);
                slot
            })
            .collect()
    }

    fn index_form(&mut self, slot: u32, mean: [f64; 3], half_box: [f32; 3]) {
        let longest = half_box[0].max(half_box[1]).max(half_box[2]);
        if longest <= SMALL_M {
            self.small_reach = self.small_reach.max(longest);
        } else {
            self.large.insert(slot, mean, half_box);
        }
    }

    pub(crate) fn remove(&mut self, slot: u32) {
        let core = self.slots.core(slot);
        self.dirty.mark(core);
        let (mean, half_box) = (core.mean, core.form.half_box);
        self.blocks.remove(BlockKey(block_of(mean)), slot);
        self.large.remove(slot, mean, half_box);
        self.slots.remove(slot);
    }

    /// Adds a row of a batch to a primitive. Its kernel is derived anew by [`Self::settle`].
    pub(crate) fn fold(&mut self, slot: u32, batch: &Batch, row: usize) {
        let classes = self.slots.classes();
        self.change(slot, |slots| {
            slots.add(slot, &batch.cores[row].sums, &batch.log_evidence[row * classes..(row + 1) * classes]);
            let core = slots.core_mut(slot);
            core.muted &= batch.cores[row].muted;
        });
    }

    /// Adds one primitive to another and removes it.
    pub(crate) fn absorb(&mut self, receiver: u32, giver: u32) {
        self.change(receiver, |slots| {
            slots.add_within(receiver, giver);
            let muted = slots.core(giver).muted;
            slots.core_mut(receiver).muted &= muted;
        });
        self.remove(giver);
    }

    /// Applies a change of sums: keeps the index at the new mean and remembers the old support.
    fn change(&mut self, slot: u32, change: impl FnOnce(&mut Slots)) {
        let core = self.slots.core(slot);
        if !core.changed {
            self.dirty.mark(core);
        }
        let (old_mean, half_box) = (core.mean, core.form.half_box);
        change(&mut self.slots);
        let core = self.slots.core_mut(slot);
        core.changed = true;
        core.mean = core.sums.mean();
        let (old, new) = (BlockKey(block_of(old_mean)), BlockKey(block_of(core.mean)));
        let near = near_of(core, slot);
        let mean = core.mean;
        if old == new {
            self.blocks.update(new, near);
        } else {
            self.blocks.remove(old, slot);
            self.blocks.insert(new, near);
        }
        self.large.remove(slot, old_mean, half_box);
        self.index_form(slot, mean, half_box);
    }

    /// Derives the kernels of changed primitives and marks where views are out of date. `changed` may hold slots that
    /// are gone or named twice.
    pub(crate) fn settle(&mut self, mut changed: Vec<u32>) {
        changed.retain(|slot| self.slots.core(*slot).alive && self.slots.core(*slot).changed);
        changed.sort_unstable();
        changed.dedup();
        let before: Vec<[f32; 3]> = changed.iter().map(|slot| self.slots.core(*slot).form.half_box).collect();
        let recipe = self.recipe;
        self.slots.derive(&changed, |core, log_evidence, probability| {
            recipe.derive(core, log_evidence, probability);
            core.changed = false;
        });
        for (slot, before) in changed.iter().zip(before) {
            let core = self.slots.core(*slot);
            self.dirty.mark(core);
            let (mean, half_box) = (core.mean, core.form.half_box);
            if half_box != before {
                self.large.remove(*slot, mean, before);
                self.index_form(*slot, mean, half_box);
            }
        }
    }

    /// A copy of all primitives by ascending id, derived by another recipe.
    pub(crate) fn to_batch(&self, recipe: &Recipe) -> Batch {
        self.copied(recipe, |sums| *sums)
    }

    /// A copy of all primitives by ascending id without their height, derived by a planar recipe.
    pub(crate) fn to_flat_batch(&self, recipe: &Recipe) -> Batch {
        self.copied(recipe, Sums::flattened)
    }

    fn copied(&self, recipe: &Recipe, change: impl Fn(&Sums) -> Sums + Sync) -> Batch {
        use rayon::prelude::*;
        let classes = self.slots.classes();
        let slots = self.by_id();
        let log_evidence: Vec<f64> = slots.iter().flat_map(|slot| self.log_evidence(*slot)).copied().collect();
        let mut probability = vec![0.0; slots.len() * classes];
        let cores = slots
            .par_iter()
            .zip(log_evidence.par_chunks(classes))
            .zip(probability.par_chunks_mut(classes))
            .with_min_len(256)
            .map(|((slot, log_evidence), probability)| {
                let old = self.core(*slot);
                let mut core = Core { muted: old.muted, ..Core::of_sums(change(&old.sums)) };
                recipe.derive(&mut core, log_evidence, probability);
                core
            })
            .collect();
        Batch { cores, log_evidence, probability }
    }

    /// Takes the boxes in which views are out of date.
    pub(crate) fn take_dirty(&mut self) -> Vec<Aabb> {
        self.dirty.take()
    }

    /// Slots of primitives whose support meets a box, by ascending id: everything that a posterior in it depends on.
    pub(crate) fn supports_in(&self, low: [f64; 3], high: [f64; 3], found: &mut Vec<(u64, u32)>) {
        found.clear();
        let reach = f64::from(self.small_reach);
        for key in blocks_between(low.map(|v| v - reach), high.map(|v| v + reach)) {
            let Some(block) = self.blocks.get(key) else { continue };
            for near in &block.near {
                let core = self.slots.core(near.slot);
                let half = core.form.half_box;
                let small = half[0] <= SMALL_M && half[1] <= SMALL_M && half[2] <= SMALL_M;
                if small && core.form.reach > 0.0 && Aabb::of_support(core).meets(low, high) {
                    found.push((core.id, near.slot));
                }
            }
        }
        self.large.between(low, high, |slot| {
            let core = self.slots.core(slot);
            if core.form.reach > 0.0 && Aabb::of_support(core).meets(low, high) {
                found.push((core.id, slot));
            }
        });
        found.sort_unstable();
    }

    pub(crate) fn byte_size(&self) -> (usize, usize) {
        (self.slots.byte_size(), self.blocks.byte_size() + self.large.byte_size())
    }
}

fn near_of(core: &Core, slot: u32) -> Near {
    let block = block_of(core.mean);
    Near {
        local: std::array::from_fn(|i| (core.mean[i] - f64::from(block[i])) as f32),
        range: core.sums.mean_range() as f32,
        slot,
        label: core.label,
        fresh: true,
    }
}
