//! The accumulating view, for the ablation only: every frame adds its kernels and nothing is taken back (docs/method.md#posterior-of-the-current-set).

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::belief::{Beliefs, Terms};
use super::evaluate::Scratch;
use super::lattice::{Lattice, SIDE};
use super::places::BlockVoxels;
use crate::config::Distance;
use crate::keys::{VoxelBlock, VoxelKey};
use crate::map::PrimitiveSet;
use crate::maths::floor_i32;

/// Sums of the posterior per voxel, kept for good.
#[derive(Debug, Clone)]
pub(crate) struct Accumulated {
    lattice: Lattice,
    terms: Terms,
    distance: Distance,
    /// Row of every voxel in `sums`, by the voxel's number along each axis.
    rows: FxHashMap<VoxelKey, u32>,
    sums: Vec<f32>,
}

impl Accumulated {
    pub(crate) fn new(resolution: f64, terms: Terms, distance: Distance) -> Self {
        let lattice = Lattice { resolution, planar: false };
        Self { lattice, terms, distance, rows: FxHashMap::default(), sums: Vec::new() }
    }

    /// Adds the kernels of one frame's primitives; returns the number of voxels they reach.
    pub(crate) fn add(&mut self, frame: &PrimitiveSet) -> usize {
        let stride = self.terms.stride();
        let touched = self.lattice.masks(&frame.everywhere(), self.distance);
        let added: Vec<Vec<(VoxelKey, Vec<f32>)>> = touched
            .par_iter()
            .map_init(Scratch::default, |scratch, (block, mask)| {
                let mut voxels = BlockVoxels::new(&self.lattice, *block, mask, self.distance);
                scratch.posterior(frame, self.terms, self.distance, None, &mut voxels);
                let Some(rows) = scratch.rows() else { return Vec::new() };
                let reached = mask.places().map(|(voxel, place)| (voxel, rows.get(place)));
                let reached = reached.filter(|(_, (_, mass, _))| *mass > 0.0);
                reached
                    .map(|(voxel, (sums, mass, weighted))| {
                        (Lattice::voxel_of(*block, voxel), [sums, &[mass, weighted]].concat())
                    })
                    .collect()
            })
            .collect();
        let mut voxels = 0;
        for (voxel, row) in added.into_iter().flatten() {
            voxels += 1;
            let next = self.rows.len() as u32;
            let at = *self.rows.entry(voxel).or_insert(next) as usize * stride;
            self.sums.resize(self.sums.len().max(at + stride), 0.0);
            self.sums[at..].iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        voxels
    }

    fn row(&self, voxel: VoxelKey) -> Option<&[f32]> {
        let at = *self.rows.get(&voxel)? as usize * self.terms.stride();
        self.sums.get(at..at + self.terms.stride())
    }

    /// Beliefs of the voxels that hold the points.
    pub(crate) fn query(&self, points: &[[f64; 3]]) -> Beliefs {
        let stride = self.terms.stride();
        let mut sums = vec![0.0; points.len() * stride];
        for (point, sums) in points.iter().zip(sums.chunks_exact_mut(stride)) {
            let voxel = VoxelKey(point.map(|v| floor_i32(v / self.lattice.resolution)));
            if let Some(row) = self.row(voxel).filter(|_| point.iter().all(|v| v.is_finite())) {
                sums.copy_from_slice(row);
            }
        }
        Beliefs::of_sums(self.terms, sums)
    }

    /// Voxels with evidence: centres and beliefs, by ascending block and index.
    pub(crate) fn voxels(&self) -> (Vec<[f64; 3]>, Beliefs) {
        let mut keys: Vec<VoxelKey> = self.rows.keys().copied().collect();
        // The order of the other views: by block, then by z, y and x within it.
        keys.sort_unstable_by_key(|key| (VoxelBlock(key.0.map(|v| v.div_euclid(SIDE))), key.0[2], key.0[1], key.0[0]));
        let centers = keys.iter().map(|key| key.0.map(|v| (f64::from(v) + 0.5) * self.lattice.resolution)).collect();
        let sums = keys.iter().filter_map(|key| self.row(*key)).flatten().copied().collect();
        (centers, Beliefs::of_sums(self.terms, sums))
    }

    pub(crate) fn byte_size(&self) -> usize {
        self.rows.capacity() * (size_of::<(VoxelKey, u32)>() + 1) + self.sums.capacity() * size_of::<f32>()
    }
}
