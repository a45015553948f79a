//! The accumulating view, for the ablation only: every frame adds its kernels and nothing is taken back (SPEC A10).

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::belief::{Beliefs, Terms};
use super::evaluate::Scratch;
use super::raster::{Lattice, SIDE, VOLUME};
use crate::config::Distance;
use crate::map::{BlockKey, PrimitiveSet};
use crate::maths::floor_i32;

/// Sums of the posterior per voxel, kept for good.
#[derive(Debug, Clone)]
pub(crate) struct Accumulated {
    lattice: Lattice,
    terms: Terms,
    distance: Distance,
    blocks: FxHashMap<BlockKey, Vec<f32>>,
}

impl Accumulated {
    pub(crate) fn new(resolution: f64, terms: Terms, distance: Distance) -> Self {
        Self { lattice: Lattice { resolution, planar: false }, terms, distance, blocks: FxHashMap::default() }
    }

    /// Adds the kernels of one frame's primitives; returns the number of voxels touched.
    pub(crate) fn add(&mut self, frame: &PrimitiveSet) -> usize {
        let touched = self.lattice.masks(&frame.everywhere(), self.distance);
        let added: Vec<Vec<f32>> = touched
            .par_iter()
            .map_init(Scratch::default, |scratch, (block, mask)| {
                self.lattice.evaluate(frame, self.terms, self.distance, (*block, mask), true, scratch);
                let mut added = Vec::new();
                for (sums, mass, weighted) in scratch.rows().iter().flat_map(|rows| (0..VOLUME).map(|i| rows.get(i))) {
                    added.extend_from_slice(sums);
                    added.extend([mass, weighted]);
                }
                added
            })
            .collect();
        let mut voxels = 0;
        for ((block, mask), added) in touched.into_iter().zip(added).filter(|(_, added)| !added.is_empty()) {
            voxels += mask.count();
            let sums = self.blocks.entry(block).or_insert_with(|| vec![0.0; VOLUME * self.terms.stride()]);
            sums.iter_mut().zip(added).for_each(|(sum, value)| *sum += value);
        }
        voxels
    }

    /// Beliefs of the voxels that hold the points.
    pub(crate) fn query(&self, points: &[[f64; 3]]) -> Beliefs {
        let stride = self.terms.stride();
        let mut sums = vec![0.0; points.len() * stride];
        for (point, row) in
            points.iter().zip(sums.chunks_exact_mut(stride)).filter(|(p, _)| p.iter().all(|v| v.is_finite()))
        {
            let voxel = point.map(|v| floor_i32(v / self.lattice.resolution));
            let local = voxel.map(|v| v.rem_euclid(SIDE) as usize);
            let number = local[0] + SIDE as usize * (local[1] + SIDE as usize * local[2]);
            if let Some(block) = self.blocks.get(&BlockKey(voxel.map(|v| v.div_euclid(SIDE)))) {
                row.copy_from_slice(&block[number * stride..][..stride]);
            }
        }
        Beliefs::of_sums(self.terms, sums)
    }

    /// Voxels with evidence: centres and beliefs, by ascending block and index.
    pub(crate) fn voxels(&self) -> (Vec<[f64; 3]>, Beliefs) {
        let mut keys: Vec<BlockKey> = self.blocks.keys().copied().collect();
        keys.sort_unstable();
        let (mut centers, mut sums) = (Vec::new(), Vec::new());
        for key in keys {
            for (voxel, row) in self.blocks[&key].chunks_exact(self.terms.stride()).enumerate() {
                if row[self.terms.classes] > 0.0 {
                    centers.push(self.lattice.center_of(key, voxel));
                    sums.extend_from_slice(row);
                }
            }
        }
        (centers, Beliefs::of_sums(self.terms, sums))
    }

    pub(crate) fn byte_size(&self) -> usize {
        let per_block = VOLUME * self.terms.stride() * size_of::<f32>() + size_of::<(BlockKey, Vec<f32>)>();
        self.blocks.len() * per_block
    }
}
