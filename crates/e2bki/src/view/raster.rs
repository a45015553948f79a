//! All voxels of a grid, or cells of a bird's-eye view, that hold evidence.

use rayon::prelude::*;

use super::belief::{Beliefs, Terms};
use super::evaluate::Scratch;
use super::lattice::Lattice;
use super::places::BlockVoxels;
use crate::config::Distance;
use crate::free::Existence;
use crate::map::PrimitiveSet;

/// Voxels that hold evidence, with their beliefs.
#[derive(Debug, Clone, PartialEq)]
pub struct Voxels {
    /// Side of a voxel, metres.
    pub resolution: f64,
    /// Centres, metres.
    pub centers: Vec<[f64; 3]>,
    /// A belief per voxel.
    pub beliefs: Beliefs,
}

/// Cells of a bird's-eye view that hold evidence, with their beliefs.
#[derive(Debug, Clone, PartialEq)]
pub struct Cells {
    /// Side of a cell, metres.
    pub resolution: f64,
    /// Centres, metres.
    pub centers: Vec<[f64; 2]>,
    /// A belief per cell.
    pub beliefs: Beliefs,
}

/// All voxels of a lattice that hold evidence, in the order of their blocks.
pub(crate) fn rasterise(
    set: &PrimitiveSet,
    terms: Terms,
    distance: Distance,
    existence: Option<&Existence<'_>>,
    lattice: Lattice,
) -> (Vec<[f64; 3]>, Beliefs) {
    let mut blocks = lattice.masks(&set.everywhere(), distance);
    blocks.sort_unstable_by_key(|(key, _)| *key);
    let parts: Vec<(Vec<[f64; 3]>, Vec<f32>)> = blocks
        .par_iter()
        .map_init(Scratch::default, |scratch, (block, mask)| {
            let mut voxels = BlockVoxels::new(&lattice, *block, mask, distance);
            scratch.posterior(set, terms, distance, existence, &mut voxels);
            let (mut centers, mut sums) = (Vec::new(), Vec::new());
            for (rows, (voxel, place)) in scratch.rows().iter().flat_map(|rows| mask.places().map(move |at| (rows, at)))
            {
                let (row, mass, weighted) = rows.get(place);
                if mass > 0.0 {
                    centers.push(lattice.center_of(*block, voxel));
                    sums.extend_from_slice(row);
                    sums.extend([mass, weighted]);
                }
            }
            (centers, sums)
        })
        .collect();
    let mut centers = Vec::new();
    let mut sums = Vec::new();
    for (part_centers, part_sums) in parts {
        centers.extend(part_centers);
        sums.extend(part_sums);
    }
    let beliefs = Beliefs::of_sums(terms, sums);
    let Some(existence) = existence else { return (centers, beliefs) };
    let beliefs = beliefs.respecting(existence, &centers);
    let kept: Vec<bool> = beliefs.iter().map(|belief| belief.observed()).collect();
    let mut at = kept.iter();
    centers.retain(|_| at.next().copied().unwrap_or(false));
    (centers, beliefs.only(&kept))
}
