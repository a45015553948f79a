//! Who reaches which block of voxels: every primitive is looked at once, and told to the blocks that its kernel may reach.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::lattice::{Lattice, Mask, SHIFT, SIDE};
use crate::keys::{BlockKey, ChunkKey, VoxelBlock};
use crate::map::{Aabb, Block, PrimitiveSet};
use crate::maths::floor_i32;

/// Cubic metres along the side of a cube of which a bit each is kept.
const CUBE: i32 = 8;

/// More than rounding can shift a coordinate, voxels.
const MARGIN: f64 = 1e-6;

/// The primitives that may reach each of some blocks of voxels, but for those that are found through the large ones.
pub(super) struct Reaching {
    /// Where the primitives of each block begin, and the end.
    starts: Vec<u32>,
    /// (order, slot), in no particular order.
    found: Vec<(u64, u32)>,
    /// Classes that are plausible for any of a block's primitives.
    plausible: Vec<u64>,
}

/// A primitive that reaches a block: the block's number, slot, order, plausible classes.
type Pair = (u32, u32, u64, u64);

impl Reaching {
    /// Of blocks that are named once.
    pub(super) fn new(set: &PrimitiveSet, lattice: &Lattice, blocks: &[(VoxelBlock, Mask)]) -> Self {
        let numbers: FxHashMap<VoxelBlock, u32> = blocks.iter().map(|(block, _)| *block).zip(0..).collect();
        let cubes = cubes_around(set, lattice, blocks);
        let pairs: Vec<Vec<Pair>> = cubes
            .par_iter()
            .map(|(cube, bits)| {
                let mut pairs = Vec::new();
                // Short loops first: then the processor waits for the memory of many at once.
                let near: Vec<&Block> = blocks_in(*cube, *bits).filter_map(|key| set.blocks().get(key)).collect();
                for block in near {
                    block.near.iter().for_each(|near| set.prefetch_seen(near.slot));
                    for near in &block.near {
                        if near.extent > 0.0 {
                            let seen = set.seen(near.slot);
                            let span = span(lattice, &Aabb::around(seen.mean, seen.form.half_box));
                            each_block(span, blocks, &numbers, |number| {
                                pairs.push((number, near.slot, seen.order, seen.plausible));
                            });
                        }
                    }
                }
                pairs
            })
            .collect();
        // By block: counted, then put in their places.
        let (mut starts, mut plausible) = (vec![0; blocks.len() + 1], vec![0; blocks.len()]);
        for (number, _, _, classes) in pairs.iter().flatten() {
            starts[*number as usize + 1] += 1;
            plausible[*number as usize] |= classes;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut next = starts.clone();
        let mut found = vec![(0, 0); starts.last().map_or(0, |end| *end as usize)];
        for (number, slot, order, _) in pairs.iter().flatten() {
            let at = &mut next[*number as usize];
            found[*at as usize] = (*order, *slot);
            *at += 1;
        }
        Self { starts, found, plausible }
    }

    /// Those of a block, by its number, and the classes that are plausible for any of them.
    pub(super) fn of(&self, number: usize) -> (&[(u64, u32)], u64) {
        (&self.found[self.starts[number] as usize..self.starts[number + 1] as usize], self.plausible[number])
    }
}

/// Cubic metres of which a primitive may reach some of the blocks, as bits of cubes of 8×8×8 of them.
fn cubes_around(set: &PrimitiveSet, lattice: &Lattice, blocks: &[(VoxelBlock, Mask)]) -> Vec<(ChunkKey, [u64; 8])> {
    let reach = f64::from(set.small_reach());
    let mut cubes: FxHashMap<ChunkKey, [u64; 8]> = FxHashMap::default();
    for (VoxelBlock(block), _) in blocks {
        let corner = |i: i32, axis: usize| lattice.center(block[axis].saturating_mul(SIDE).saturating_add(i), axis);
        let low: [i32; 3] = std::array::from_fn(|axis| floor_i32(corner(0, axis) - reach));
        let high: [i32; 3] = std::array::from_fn(|axis| floor_i32(corner(SIDE - 1, axis) + reach));
        let (first, last) = (low.map(|v| v.div_euclid(CUBE)), high.map(|v| v.div_euclid(CUBE)));
        for x in first[0]..=last[0] {
            for y in first[1]..=last[1] {
                for z in first[2]..=last[2] {
                    let cube = [x, y, z];
                    let clip = |axis: usize| {
                        let corner = i64::from(cube[axis]) * i64::from(CUBE);
                        let inside = |v: i32| (i64::from(v) - corner).clamp(0, 7) as u32;
                        inside(low[axis])..=inside(high[axis])
                    };
                    let row = clip(0).fold(0_u64, |bits, x| bits | 1 << x);
                    let plane = clip(1).fold(0_u64, |bits, y| bits | row << (8 * y));
                    let planes = cubes.entry(ChunkKey(cube)).or_default();
                    clip(2).for_each(|z| planes[z as usize & 7] |= plane);
                }
            }
        }
    }
    cubes.into_iter().collect()
}

/// The cubic metres that bits of a cube stand for.
fn blocks_in(ChunkKey(cube): ChunkKey, bits: [u64; 8]) -> impl Iterator<Item = BlockKey> {
    (0..8).flat_map(move |z| {
        let set = (0..64).filter(move |bit| bits[z as usize & 7] >> bit & 1 == 1);
        set.map(move |bit| {
            let local = [bit % 8, bit / 8, z];
            BlockKey(std::array::from_fn(|i| cube[i].saturating_mul(CUBE).saturating_add(local[i])))
        })
    })
}

/// The blocks along each axis, first and last, of which a box may cover the centre of a voxel.
#[inline(always)]
fn span(lattice: &Lattice, bounds: &Aabb) -> [(i32, i32); 3] {
    let per_metre = 1.0 / lattice.resolution;
    std::array::from_fn(|axis| {
        if lattice.planar && axis == 2 {
            return (0, 0);
        }
        let voxel = |metres: f64| metres * per_metre - 0.5;
        let first = floor_i32(voxel(bounds.low[axis]) - MARGIN).saturating_add(1);
        (first >> SHIFT, floor_i32(voxel(bounds.high[axis]) + MARGIN) >> SHIFT)
    })
}

/// Calls `visit` with the numbers of the blocks in a span: looked up, or looked through if they are fewer than the span has.
#[inline(always)]
fn each_block(
    span: [(i32, i32); 3],
    blocks: &[(VoxelBlock, Mask)],
    numbers: &FxHashMap<VoxelBlock, u32>,
    mut visit: impl FnMut(u32),
) {
    let [x, y, z] = span;
    let count: f64 = span.iter().map(|(first, last)| (f64::from(*last) - f64::from(*first) + 1.0).max(0.0)).product();
    if count > blocks.len() as f64 {
        let inside = |VoxelBlock(block): &VoxelBlock| (0..3).all(|i| (span[i].0..=span[i].1).contains(&block[i]));
        blocks.iter().zip(0..).filter(|((block, _), _)| inside(block)).for_each(|(_, number)| visit(number));
        return;
    }
    for i in x.0..=x.1 {
        for j in y.0..=y.1 {
            (z.0..=z.1).filter_map(|k| numbers.get(&VoxelBlock([i, j, k]))).for_each(|number| visit(*number));
        }
    }
}
