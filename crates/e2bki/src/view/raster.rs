//! Regular grids in blocks of 8×8×8 voxels (8×8 cells in a bird's-eye view): which voxels a box covers, and the
//! posterior's sums at the centres of a block.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::belief::{Beliefs, Terms};
use super::evaluate::{Hits, Places, ROW, Scratch};
use crate::config::Distance;
use crate::kernel::support_of;
use crate::map::{Aabb, BlockKey, Core, PrimitiveSet};
use crate::maths::floor_i32;

/// Voxels along the side of a block.
pub(crate) const SIDE: i32 = 8;
/// Voxels of a block.
pub(crate) const VOLUME: usize = 512;
/// One bit per voxel, a word per layer of constant z, a byte per row of constant y.
pub(crate) type Mask = [u64; 8];

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
        let local = [voxel & 7, voxel >> 3 & 7, voxel >> 6];
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
        let blocks = spans.map(|(first, last)| (first >> 3, last >> 3));
        for x in blocks[0].0..=blocks[0].1 {
            for y in blocks[1].0..=blocks[1].1 {
                for z in blocks[2].0..=blocks[2].1 {
                    let block = BlockKey([x, y, z]);
                    let clip = |axis: usize| self.clip(region.low[axis], region.high[axis], block, axis);
                    let (xs, ys, zs) = (clip(0), clip(1), clip(2));
                    if xs.is_empty() || ys.is_empty() || zs.is_empty() {
                        continue;
                    }
                    let row = (0xff_u64 >> (8 - xs.len())) << xs.start;
                    let layer = ys.fold(0, |layer, y| layer | row << (8 * y));
                    let mask = masks.entry(block).or_default();
                    zs.for_each(|z| mask[z as usize] |= layer);
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
        let centers: [[f64; 8]; 3] =
            std::array::from_fn(|axis| std::array::from_fn(|i| self.center(block.0[axis] * SIDE + i as i32, axis)));
        set.supports_in(centers.map(|c| c[0]), centers.map(|c| c[7]), &mut scratch.found);
        if all_classes {
            scratch.sum_all_classes(terms);
        } else {
            scratch.sum_plausible_classes(set, terms);
        }
        let most = [8, 8, if self.planar { 1 } else { 8 }];
        let per_metre = 1.0 / self.resolution as f32;
        scratch.evaluate(set, distance, VOLUME, &BlockVoxels { mask, centers, most, per_metre, distance });
    }
}

/// The masked voxels of a block.
struct BlockVoxels<'a> {
    mask: &'a Mask,
    centers: [[f64; 8]; 3],
    /// Voxels along each axis.
    most: [u8; 3],
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
            rounded(((middle - half) * per_metre + 0.49).clamp(0.0, 8.0))
                ..rounded(((middle + half) * per_metre + 0.51).clamp(0.0, f32::from(self.most[axis])))
        };
        let (xs, ys, zs) = (clip(0), clip(1), clip(2));
        let offset = |axis: usize, i: usize| (self.centers[axis][i] - core.mean[axis]) as f32;
        let (mut x, mut y) = ([0.0; 2 * ROW], [0.0; ROW]);
        for i in 0..ROW {
            x[i] = offset(0, i);
            y[i] = offset(1, i);
        }
        let middle = -x[0] * per_metre;
        // A long or flat ellipsoid fills little of its ball: two slabs across its shorter axes cut most of it away.
        let slab = |axis: usize| Slab::new(core, axis, 1.0 / per_metre, self.reach_of(core));
        let sprawls = core.form.semi_axes[2] > core.form.reach;
        let slabs = if sprawls { [Some(slab(0)), Some(slab(1))] } else { [None, None] };
        for k in zs {
            let z = offset(2, k as usize);
            // The ball around the mean cuts each row in one run: its first voxel and the one after its last, generous
            // by a hundredth of a voxel. The kernel decides; this only spares it work.
            let (mut first, mut end) = ([0; ROW], [0; ROW]);
            for j in 0..ROW {
                let squared = hits.limit() - z * z - y[j] * y[j];
                let half = if squared > 0.0 { squared.sqrt() * per_metre } else { -1.0 };
                first[j] = rounded((middle - half + 0.49).clamp(-1.0, 9.0)).max(xs.start);
                end[j] = rounded((middle + half + 0.51).clamp(-1.0, 9.0)).min(xs.end);
            }
            for slab in slabs.iter().flatten() {
                slab.cut([x[0], z], &y, &mut first, &mut end);
            }
            let layer = self.mask[k as usize];
            for j in ys.clone() {
                let (first, end) = (first[j as usize & 7], end[j as usize & 7]);
                if first >= end {
                    continue;
                }
                let wanted = (layer >> (8 * j)) as u8;
                let run = (0xff_u8 >> (8 - (end - first))) << first;
                let row = (SIDE * j + SIDE * SIDE * k) as u16;
                let y = y[j as usize & 7];
                if wanted & run == run {
                    hits.take_run(&x, y, z, row, first as usize, end as usize);
                } else {
                    hits.offer(&x, &[y; ROW], &[z; ROW], wanted & run, row);
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
            first[j] = first[j].max(rounded((a.min(b) + 0.49).clamp(-1.0, 9.0)));
            end[j] = end[j].min(rounded((a.max(b) + 0.51).clamp(-1.0, 9.0)));
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
            for voxel in 0..VOLUME {
                if let Some((row, mass, weighted)) = scratch.row(voxel).filter(|(_, mass, _)| *mass > 0.0) {
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
