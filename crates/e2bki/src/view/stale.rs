//! Which voxels are out of date: those that a changed kernel may reach, or that a changed box covers.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::lattice::{Lattice, Mask, SHIFT, SIDE, run_bits};
use super::runs::{BlockRows, Runs};
use crate::config::Distance;
use crate::keys::VoxelBlock;
use crate::map::{Aabb, Stale, Support};

/// Boxes that are worth a thread.
const LEAST_BOXES: usize = 1024;

impl Lattice {
    /// The voxels that are out of date.
    pub(crate) fn masks(&self, stale: &Stale, distance: Distance) -> Vec<(VoxelBlock, Mask)> {
        // Parts of the boxes by all threads: their masks are joined, whatever the parts.
        let of_boxes = |boxes: &[Aabb]| {
            let mut masks = FxHashMap::default();
            boxes.iter().for_each(|region| self.mark_box(region, &mut masks));
            masks
        };
        let part = stale.boxes.len().div_ceil(rayon::current_num_threads()).max(LEAST_BOXES);
        let parts: Vec<_> = stale.boxes.par_chunks(part).map(of_boxes).collect();
        let mut parts = parts.into_iter();
        let mut masks = parts.next().unwrap_or_default();
        for (block, more) in parts.flatten() {
            masks.entry(block).and_modify(|mask: &mut Mask| mask.join(&more)).or_insert(more);
        }
        let mut runs = Runs::default();
        for support in &stale.supports {
            self.mark_support(support, distance, &mut runs, &mut masks);
        }
        let mut masks: Vec<(VoxelBlock, Mask)> = masks.into_iter().collect();
        // Neighbours one after the other: they read the same primitives. No result depends on this order.
        masks.par_sort_unstable_by_key(|(key, _)| (key.along_curve(), *key));
        masks
    }

    /// Sets the bits of the voxels that a kernel may reach.
    fn mark_support(
        &self,
        support: &Support,
        distance: Distance,
        runs: &mut Runs,
        masks: &mut FxHashMap<VoxelBlock, Mask>,
    ) {
        let bounds = support.bounds();
        let span = |axis: usize| {
            let (first, last) = self.span(bounds.low[axis], bounds.high[axis], axis);
            first >> SHIFT..=last >> SHIFT
        };
        for x in span(0) {
            for y in span(1) {
                for z in span(2) {
                    let block = VoxelBlock([x, y, z]);
                    BlockRows::new(self, block, distance).find(support.mean, &support.form, runs);
                    if !runs.found().is_empty() {
                        let mask = masks.entry(block).or_default();
                        for run in runs.found() {
                            mask.0[usize::from(run.row)] |= run.bits();
                        }
                    }
                }
            }
        }
    }

    /// Sets the bits of the voxels that a box may cover.
    fn mark_box(&self, region: &Aabb, masks: &mut FxHashMap<VoxelBlock, Mask>) {
        let spans: [(i32, i32); 3] = std::array::from_fn(|axis| self.span(region.low[axis], region.high[axis], axis));
        let blocks = spans.map(|(first, last)| (first >> SHIFT, last >> SHIFT));
        for x in blocks[0].0..=blocks[0].1 {
            for y in blocks[1].0..=blocks[1].1 {
                for z in blocks[2].0..=blocks[2].1 {
                    let block = VoxelBlock([x, y, z]);
                    let clip = |axis: usize| self.clip(region.low[axis], region.high[axis], block, axis);
                    let (xs, ys, zs) = (clip(0), clip(1), clip(2));
                    if xs.is_empty() || ys.is_empty() || zs.is_empty() {
                        continue;
                    }
                    let bits = run_bits(xs.start, xs.end);
                    let mask = masks.entry(block).or_default();
                    for z in zs {
                        ys.clone().for_each(|y| mask.0[(y + SIDE * z) as usize] |= bits);
                    }
                }
            }
        }
    }
}
