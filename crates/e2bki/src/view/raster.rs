//! Regular grids in blocks of 16×16×16 voxels (16×16 cells in a bird's-eye view): which voxels a box covers, and the
//! posterior's sums at the centres of a block.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::belief::{Beliefs, Terms};
use super::evaluate::{Hits, Places, ROW, Scratch};
use super::memory::KernelMemory;
use super::runs::{BlockRows, Visit, run};
use crate::config::Distance;
use crate::map::{Aabb, BlockKey, Core, PrimitiveSet, Stale, Support};
use crate::maths::floor_i32;

/// Voxels along the side of a block. Most primitives reach over five voxels: fewer blocks share one than with smaller
/// blocks, and the sums of larger ones would not fit a core's own cache.
pub(crate) const SIDE: i32 = 16;
/// The side as a power of two.
const SHIFT: i32 = 4;
/// Rows of a block.
const ROWS: usize = 256;
/// One bit per voxel, a word per row of constant y and z.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mask(pub(crate) [u16; ROWS]);

impl Default for Mask {
    fn default() -> Self {
        Self([0; ROWS])
    }
}

/// All voxels of a block.
static ALL: Mask = Mask([u16::MAX; ROWS]);

impl Mask {
    /// Voxel numbers of the set bits, ascending.
    pub(crate) fn voxels(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().filter(|(_, row)| **row != 0).flat_map(|(number, row)| {
            let first = number << SHIFT;
            (0..16).filter(move |bit| row >> bit & 1 == 1).map(move |bit| first + bit)
        })
    }

    /// Where each row's places begin, when only rows with set bits have places of their own and the others share the
    /// last ones, and how many places there are.
    fn first_places(&self) -> ([u16; ROWS], usize) {
        let shared = self.0.iter().filter(|row| **row != 0).count() * SIDE as usize;
        let (mut first, mut places) = ([shared as u16; ROWS], 0);
        for (first, _) in first.iter_mut().zip(self.0).filter(|(_, row)| *row != 0) {
            *first = places;
            places += SIDE as u16;
        }
        (first, shared + SIDE as usize)
    }

    /// Set bits as (voxel number, place), ascending.
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let (first, _) = self.first_places();
        self.voxels().map(move |voxel| (voxel, usize::from(first[voxel >> SHIFT]) + (voxel & 15)))
    }

    /// Number of set bits.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|row| row.count_ones() as usize).sum()
    }
}

/// A grid of voxels, or of cells in the plane z = 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lattice {
    pub(crate) resolution: f64,
    pub(crate) planar: bool,
}

impl Lattice {
    /// Centre of voxel `i` along an axis, metres.
    fn center(&self, i: i32, axis: usize) -> f64 {
        if self.planar && axis == 2 { 0.0 } else { (f64::from(i) + 0.5) * self.resolution }
    }

    /// Number along each axis of a voxel of a block.
    pub(crate) fn voxel_of(block: BlockKey, voxel: usize) -> BlockKey {
        let local = [voxel & 15, voxel >> 4 & 15, voxel >> 8];
        BlockKey(std::array::from_fn(|axis| block.0[axis] * SIDE + local[axis] as i32))
    }

    /// Centre of a voxel of a block, metres.
    pub(crate) fn center_of(&self, block: BlockKey, voxel: usize) -> [f64; 3] {
        let number = Self::voxel_of(block, voxel).0;
        std::array::from_fn(|axis| self.center(number[axis], axis))
    }

    /// First and last voxel whose centre may lie between two coordinates.
    fn span(&self, low: f64, high: f64, axis: usize) -> (i32, i32) {
        if self.planar && axis == 2 {
            return (0, 0);
        }
        (floor_i32(low / self.resolution - 0.5), floor_i32(high / self.resolution - 0.5) + 1)
    }

    /// The part of a span inside a block, as local indices.
    fn clip(&self, low: f64, high: f64, block: BlockKey, axis: usize) -> std::ops::Range<i32> {
        let (first, last) = self.span(low, high, axis);
        let corner = block.0[axis] * SIDE;
        (first - corner).max(0)..(last - corner + 1).min(if self.planar && axis == 2 { 1 } else { SIDE })
    }

    /// The voxels that are out of date.
    pub(crate) fn masks(&self, stale: &Stale, distance: Distance) -> Vec<(BlockKey, Mask)> {
        let mut masks = FxHashMap::default();
        stale.boxes.iter().for_each(|region| self.mark_box(region, &mut masks));
        stale.supports.iter().for_each(|support| self.mark_support(support, distance, &mut masks));
        let mut masks: Vec<(BlockKey, Mask)> = masks.into_iter().collect();
        // Neighbours one after the other: they read the same primitives. No result depends on this order.
        masks.par_sort_unstable_by_key(|(key, _)| (key.along_curve(), *key));
        masks
    }

    /// Sets the bits of the voxels that a kernel may reach.
    fn mark_support(&self, support: &Support, distance: Distance, masks: &mut FxHashMap<BlockKey, Mask>) {
        let bounds = support.bounds();
        let span = |axis: usize| {
            let (first, last) = self.span(bounds.low[axis], bounds.high[axis], axis);
            first >> SHIFT..=last >> SHIFT
        };
        for x in span(0) {
            for y in span(1) {
                for z in span(2) {
                    let block = BlockKey([x, y, z]);
                    let mut mask = Mask::default();
                    self.rows_of(block, distance).visit(support.mean, &support.form, &mut SetBits(&mut mask));
                    if mask.count() > 0 {
                        let all = masks.entry(block).or_default();
                        all.0.iter_mut().zip(mask.0).for_each(|(all, row)| *all |= row);
                    }
                }
            }
        }
    }

    /// Sets the bits of the voxels that a box may cover.
    fn mark_box(&self, region: &Aabb, masks: &mut FxHashMap<BlockKey, Mask>) {
        let spans: [(i32, i32); 3] = std::array::from_fn(|axis| self.span(region.low[axis], region.high[axis], axis));
        let blocks = spans.map(|(first, last)| (first >> SHIFT, last >> SHIFT));
        for x in blocks[0].0..=blocks[0].1 {
            for y in blocks[1].0..=blocks[1].1 {
                for z in blocks[2].0..=blocks[2].1 {
                    let block = BlockKey([x, y, z]);
                    let clip = |axis: usize| self.clip(region.low[axis], region.high[axis], block, axis);
                    let (xs, ys, zs) = (clip(0), clip(1), clip(2));
                    if xs.is_empty() || ys.is_empty() || zs.is_empty() {
                        continue;
                    }
                    let bits = run(xs.start, xs.end);
                    let mask = masks.entry(block).or_default();
                    for z in zs {
                        ys.clone().for_each(|y| mask.0[(y + SIDE * z) as usize] |= bits);
                    }
                }
            }
        }
    }

    /// Sums of the posterior at the masked voxels of a block, left in `scratch` at [`Mask::places`]; empty if nothing
    /// reaches the block. With what is `known` of an earlier evaluation, only classes that can be the most likely one
    /// are summed, and the kernel values of all voxels of the block are left there too.
    pub(crate) fn evaluate(
        &self,
        set: &PrimitiveSet,
        terms: Terms,
        distance: Distance,
        (block, mask): (BlockKey, &Mask),
        known: Option<&KernelMemory>,
        scratch: &mut Scratch,
    ) {
        let rows = self.rows_of(block, distance);
        set.supports_in(rows.corner(), rows.opposite(), &mut scratch.found);
        match known {
            None => scratch.sum_all_classes(terms),
            Some(_) => scratch.sum_plausible_classes(set, terms),
        }
        let (first, places) = mask.first_places();
        let mask = if known.is_some() { &ALL } else { mask };
        scratch.evaluate(set, distance, places, &BlockVoxels { mask, first, rows }, known);
    }

    fn rows_of(&self, block: BlockKey, distance: Distance) -> BlockRows {
        let centers =
            std::array::from_fn(|axis| std::array::from_fn(|i| self.center(block.0[axis] * SIDE + i as i32, axis)));
        BlockRows::new(centers, self.resolution, self.planar, distance)
    }
}

/// The masked voxels of a block.
struct BlockVoxels<'a> {
    mask: &'a Mask,
    first: [u16; ROWS],
    rows: BlockRows,
}

impl Places for BlockVoxels<'_> {
    #[inline(always)]
    fn within(&self, core: &Core, hits: &mut Hits) {
        self.rows.visit(core.mean, &core.form, &mut TakeHits { mask: self.mask, hits });
    }

    #[inline(always)]
    fn row_of(&self, voxel: u16) -> usize {
        usize::from(self.first[usize::from(voxel >> SHIFT) & 255] + (voxel & 15))
    }
}

struct TakeHits<'a> {
    mask: &'a Mask,
    hits: &'a mut Hits,
}

impl Visit for TakeHits<'_> {
    #[inline(always)]
    fn run(&mut self, number: usize, first: i32, end: i32, x: &[f32; 4 * ROW], [y, z]: [f32; 2]) {
        let (row, wanted, run) = ((number << SHIFT) as u16, self.mask.0[number & 255], run(first, end));
        if wanted & run == run {
            self.hits.take_run(x, y, z, row, first as usize, end as usize);
        } else {
            self.hits.offer(x, &[y; ROW], &[z; ROW], (wanted & run) as u8, row);
            self.hits.offer(&x[ROW..], &[y; ROW], &[z; ROW], ((wanted & run) >> 8) as u8, row + 8);
        }
    }
}

/// Sets the bits of every run.
struct SetBits<'a>(&'a mut Mask);

impl Visit for SetBits<'_> {
    #[inline(always)]
    fn run(&mut self, number: usize, first: i32, end: i32, _: &[f32; 4 * ROW], _: [f32; 2]) {
        self.0.0[number & 255] |= run(first, end);
    }
}

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
    lattice: Lattice,
) -> (Vec<[f64; 3]>, Beliefs) {
    let mut blocks = lattice.masks(&set.everywhere(), distance);
    blocks.sort_unstable_by_key(|(key, _)| *key);
    let parts: Vec<(Vec<[f64; 3]>, Vec<f32>)> = blocks
        .par_iter()
        .map_init(Scratch::default, |scratch, (block, mask)| {
            lattice.evaluate(set, terms, distance, (*block, mask), None, scratch);
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
    (centers, Beliefs::of_sums(terms, sums))
}
