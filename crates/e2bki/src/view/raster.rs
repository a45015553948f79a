//! Regular grids in blocks of 16×16×16 voxels (16×16 cells in a bird's-eye view): which voxels a box covers, and the
//! posterior's sums at the centres of a block.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::belief::{Beliefs, Terms};
use super::evaluate::{Hits, Places, ROW, Scratch};
use crate::config::Distance;
use crate::kernel::support_of;
use crate::map::{Aabb, BlockKey, Core, PrimitiveSet};
use crate::maths::floor_i32;

/// Voxels along the side of a block. Most primitives reach over five voxels: fewer blocks share one than with smaller
/// blocks, and the sums of larger ones would not fit a core's own cache.
pub(crate) const SIDE: i32 = 16;
/// The side as a power of two.
const SHIFT: i32 = 4;
/// Voxels of a block.
pub(crate) const VOLUME: usize = 4096;
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

impl Mask {
    /// Voxel numbers of the set bits, ascending.
    pub(crate) fn voxels(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().filter(|(_, row)| **row != 0).flat_map(|(number, row)| {
            let first = number << SHIFT;
            (0..16).filter(move |bit| row >> bit & 1 == 1).map(move |bit| first + bit)
        })
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

    /// Centre of a voxel of a block, metres.
    pub(crate) fn center_of(&self, block: BlockKey, voxel: usize) -> [f64; 3] {
        let local = [voxel & 15, voxel >> 4 & 15, voxel >> 8];
        std::array::from_fn(|axis| self.center(block.0[axis] * SIDE + local[axis] as i32, axis))
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

    /// Sets the bits of the voxels that a box may cover.
    pub(crate) fn mark(&self, region: &Aabb, masks: &mut FxHashMap<BlockKey, Mask>) {
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
                    let bits = run(xs);
                    let mask = masks.entry(block).or_default();
                    for z in zs {
                        ys.clone().for_each(|y| mask.0[(y + SIDE * z) as usize] |= bits);
                    }
                }
            }
        }
    }

    /// Sums of the posterior at the masked voxels of a block, left in `scratch`: of all classes, or only of those that
    /// can be the most likely one. Empty if nothing reaches the block.
    pub(crate) fn evaluate(
        &self,
        set: &PrimitiveSet,
        terms: Terms,
        distance: Distance,
        (block, mask): (BlockKey, &Mask),
        all_classes: bool,
        scratch: &mut Scratch,
    ) {
        let centers: [[f64; SIDE as usize]; 3] =
            std::array::from_fn(|axis| std::array::from_fn(|i| self.center(block.0[axis] * SIDE + i as i32, axis)));
        set.supports_in(centers.map(|c| c[0]), centers.map(|c| c[SIDE as usize - 1]), &mut scratch.found);
        if all_classes {
            scratch.sum_all_classes(terms);
        } else {
            scratch.sum_plausible_classes(set, terms);
        }
        let most = [SIDE, SIDE, if self.planar { 1 } else { SIDE }].map(|v| v as f32);
        let per_metre = 1.0 / self.resolution as f32;
        scratch.evaluate(set, distance, VOLUME, &BlockVoxels { mask, centers, most, per_metre, distance });
    }
}

/// Bits of a row from a first voxel to before another.
fn run(xs: std::ops::Range<i32>) -> u16 {
    (0xffff_u32 >> (16 - xs.len()) << xs.start) as u16
}

/// The masked voxels of a block.
struct BlockVoxels<'a> {
    mask: &'a Mask,
    centers: [[f64; SIDE as usize]; 3],
    /// Voxels along each axis.
    most: [f32; 3],
    per_metre: f32,
    distance: Distance,
}

impl Places for BlockVoxels<'_> {
    #[inline(always)]
    fn within(&self, core: &Core, hits: &mut Hits) {
        let per_metre = self.per_metre;
        let clip = |axis: usize| {
            let middle = (core.mean[axis] - self.centers[axis][0]) as f32;
            let half = core.form.half_box[axis];
            rounded(((middle - half) * per_metre + 0.49).clamp(0.0, SIDE as f32))
                ..rounded(((middle + half) * per_metre + 0.51).clamp(0.0, self.most[axis]))
        };
        let (xs, ys, zs) = (clip(0), clip(1), clip(2));
        let offset = |axis: usize, i: usize| (self.centers[axis][i & 15] - core.mean[axis]) as f32;
        // Twice as long as a row: runs are copied whole rows at a time.
        let mut x = [0.0; 2 * SIDE as usize];
        for i in 0..SIDE as usize {
            x[i] = offset(0, i);
        }
        let middle = -x[0] * per_metre;
        // A long or flat ellipsoid fills little of its ball: two slabs across its shorter axes cut most of it away.
        let slab = |axis: usize| Slab::new(core, axis, 1.0 / per_metre, self.reach_of(core));
        let sprawls = core.form.semi_axes[2] > core.form.reach;
        let slabs = if sprawls { [Some(slab(0)), Some(slab(1))] } else { [None, None] };
        for start in ys.clone().step_by(ROW) {
            let mut y = [0.0; ROW];
            for j in 0..ROW {
                y[j] = offset(1, start as usize + j);
            }
            for k in zs.clone() {
                let z = offset(2, k as usize);
                // The ball around the mean cuts each row in one run: its first voxel and the one after its last,
                // generous by a hundredth of a voxel. The kernel decides; this only spares it work.
                let (mut first, mut end) = ([0; ROW], [0; ROW]);
                for j in 0..ROW {
                    let squared = hits.limit() - z * z - y[j] * y[j];
                    let half = if squared > 0.0 { squared.sqrt() * per_metre } else { -1.0 };
                    first[j] = rounded((middle - half + 0.49).clamp(-1.0, 17.0)).max(xs.start);
                    end[j] = rounded((middle + half + 0.51).clamp(-1.0, 17.0)).min(xs.end);
                }
                for slab in slabs.iter().flatten() {
                    slab.cut([x[0], z], &y, &mut first, &mut end);
                }
                for j in 0..(ys.end - start).min(ROW as i32) {
                    let lane = j as usize & 7;
                    let (first, end, y) = (first[lane], end[lane], y[lane]);
                    if first >= end {
                        continue;
                    }
                    let number = ((start + j) & 15) + SIDE * (k & 15);
                    let (row, wanted) = ((SIDE * number) as u16, self.mask.0[number as usize & 255]);
                    let run = run(first..end);
                    if wanted & run == run {
                        hits.take_run(&x, y, z, row, first as usize, end as usize);
                    } else {
                        hits.offer(&x, &[y; ROW], &[z; ROW], (wanted & run) as u8, row);
                        hits.offer(&x[ROW..], &[y; ROW], &[z; ROW], ((wanted & run) >> 8) as u8, row + 8);
                    }
                }
            }
        }
    }
}

impl BlockVoxels<'_> {
    /// Distance from an ellipsoid's surface at which its kernel ends, metres.
    #[inline(always)]
    fn reach_of(&self, core: &Core) -> f32 {
        support_of(core.form.reach, self.distance)
    }
}

/// The space between two planes across an axis of an ellipsoid, outside of which its kernel is zero.
struct Slab {
    axis: [f32; 3],
    half: f32,
    /// Voxels along a row per metre across the slab.
    per_metre: f32,
}

impl Slab {
    #[inline(always)]
    fn new(core: &Core, axis: usize, resolution: f32, reach: f32) -> Self {
        let half = core.form.semi_axes[axis] + reach + 1e-4;
        let axis = core.form.axes[axis];
        let step = axis[0] * resolution;
        // A row along the slab never leaves it: a step of nearly nothing keeps all of it, or none.
        let step = if step.abs() < 1e-6 { 1e-6 } else { step };
        Self { axis, half, per_metre: 1.0 / step }
    }

    /// Shortens the runs of a layer of rows that start at (x, y, z).
    #[inline(always)]
    fn cut(&self, [x, z]: [f32; 2], y: &[f32; ROW], first: &mut [i32; ROW], end: &mut [i32; ROW]) {
        for j in 0..ROW {
            let across = self.axis[0] * x + self.axis[1] * y[j] + self.axis[2] * z;
            let (a, b) = ((-self.half - across) * self.per_metre, (self.half - across) * self.per_metre);
            first[j] = first[j].max(rounded((a.min(b) + 0.49).clamp(-1.0, 17.0)));
            end[j] = end[j].min(rounded((a.max(b) + 0.51).clamp(-1.0, 17.0)));
        }
    }
}

/// Nearest whole number of a small value, by the rounding of f32 itself: unlike a cast it becomes vector instructions.
#[inline(always)]
fn rounded(value: f32) -> i32 {
    const WHOLE: f32 = 12_582_912.0;
    (value + WHOLE).to_bits() as i32 - WHOLE.to_bits() as i32
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
    let mut masks = FxHashMap::default();
    for slot in set.by_id() {
        let core = set.core(slot);
        if core.form.reach > 0.0 {
            lattice.mark(&Aabb::of_support(core), &mut masks);
        }
    }
    let mut blocks: Vec<(BlockKey, Mask)> = masks.into_iter().collect();
    blocks.sort_unstable_by_key(|(key, _)| *key);
    let parts: Vec<(Vec<[f64; 3]>, Vec<f32>)> = blocks
        .par_iter()
        .map_init(Scratch::default, |scratch, (block, mask)| {
            lattice.evaluate(set, terms, distance, (*block, mask), true, scratch);
            let (mut centers, mut sums) = (Vec::new(), Vec::new());
            for (voxel, (row, mass, weighted)) in
                scratch.rows().iter().flat_map(|rows| (0..VOLUME).map(|voxel| (voxel, rows.get(voxel))))
            {
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
