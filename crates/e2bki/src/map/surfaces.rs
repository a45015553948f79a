//! How the surface runs at every primitive: moments of the primitives of its class around it, added up.
//!
//! A cube of 0.25 m has too few points to tell a wall from a pole. Space is divided into cubes of half a metre (see
//! `pools.rs`); a primitive's surface is that of its class in its own cube and in those around it, which count 2 : 1 along
//! each axis. They are added in one order, so that a surface too depends on which primitives there are and on nothing else.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::pools::{Buffers, Chunk, Member, Pool, SIDE, block_in, chunk_of, eighth_of};
use crate::keys::{BlockKey, ChunkKey};
use crate::primitive::{block_of, largest_eigenvalue};
use crate::threads::in_threads;

/// Cells along the side of a chunk with a border of one.
const WIDE: usize = 18;
const CELLS: usize = WIDE * WIDE * WIDE;
/// No pool.
const NONE: u32 = u32::MAX;

/// Variance that stands for how little a few points tell about the surface, m²: one point alone has none.
const UNSURE_M2: f64 = 0.05 * 0.05;

/// Shape of a surface.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Surface {
    /// Its covariance divided by the largest variance, as xx, yy, zz, xy, xz, yz.
    pub(crate) covariance: [f32; 6],
    /// How much of a plane it is, (λ₂ − λ₃)/λ₁ of its variances from the largest down: 1 for a plane, 0 for a line and a ball.
    pub(crate) flatness: f32,
}

impl Surface {
    /// What it is made of, to be compared bit by bit.
    fn bits(&self) -> ([u32; 6], u32) {
        (self.covariance.map(f32::to_bits), self.flatness.to_bits())
    }
}

/// A surface whose bits are not what they were.
#[derive(Clone, Copy)]
pub(super) struct Renewed {
    pub(super) now: Surface,
    /// Whether it differs in more than the sign of a zero.
    pub(super) differs: bool,
}

/// A new surface of a block.
struct Kept {
    /// Eighth and class.
    key: (u16, u16),
    /// Number of its pool in the chunk.
    pool: u32,
    renewed: Renewed,
}

/// Surfaces that differ from what they were, in a block.
pub(super) struct BlockSurfaces {
    pub(super) block: BlockKey,
    surfaces: Vec<Kept>,
}

impl BlockSurfaces {
    /// No surface of a block differs.
    pub(super) fn unchanged(block: BlockKey) -> Self {
        Self { block, surfaces: Vec::new() }
    }

    /// The surface of a class at a place in the block, if it is new.
    pub(super) fn get(&self, local: [f32; 3], label: u16) -> Option<Renewed> {
        let key = (eighth_of(local), label);
        self.surfaces.iter().find(|kept| kept.key == key).map(|kept| kept.renewed)
    }
}

/// The pools of all blocks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surfaces {
    chunks: FxHashMap<ChunkKey, Chunk>,
    /// Chunks with pools that changed, until surfaces are kept.
    unsettled: Vec<ChunkKey>,
}

impl Surfaces {
    /// Takes note of what blocks hold now; returns, block by block, the surfaces that differ because of it.
    pub(super) fn update<M: Iterator<Item = Member>>(
        &mut self,
        blocks: impl Iterator<Item = BlockKey>,
        members: impl Fn(BlockKey) -> M + Sync,
        threads: usize,
    ) -> Vec<BlockSurfaces> {
        let mut changed: Vec<(ChunkKey, u16)> = blocks.map(chunk_of).collect();
        changed.sort_unstable();
        let nothing = Chunk::default();
        let of_chunks: Vec<&[(ChunkKey, u16)]> = changed.chunk_by(|a, b| a.0 == b.0).collect();
        let made = in_threads(&of_chunks, threads, 16, Buffers::default, |buffers, of_one| {
            let (key, numbers) = (of_one[0].0, of_one.iter().map(|(_, number)| *number));
            let old = self.chunks.get(&key).unwrap_or(&nothing);
            old.replaced(numbers, |number| members(block_in(key, number)), buffers)
        });
        let keys: Vec<ChunkKey> = of_chunks.iter().map(|of_one| of_one[0].0).collect();
        self.chunks.extend(keys.iter().copied().zip(made));

        let near: FxHashSet<ChunkKey> = changed.iter().flat_map(|(key, number)| chunks_beside(*key, *number)).collect();
        let near: Vec<ChunkKey> = near.into_iter().filter(|key| self.chunks.contains_key(key)).collect();
        let each = in_threads(&near, threads, 16, Hood::default, |hood, key| {
            hood.gather(*key, &self.chunks);
            self.chunks.get(key).map_or_else(Vec::new, |chunk| hood.surfaces(*key, chunk))
        });
        let mut all: Vec<BlockSurfaces> = each.into_iter().flatten().collect();
        all.sort_unstable_by_key(|surfaces| surfaces.block);
        self.unsettled = keys;
        all
    }

    /// The surface of a class at a place as it was last kept; none runs anywhere where that is not known.
    pub(crate) fn at(&self, place: [f64; 3], label: u16) -> Surface {
        if self.chunks.is_empty() {
            return Surface::default();
        }
        let block = block_of(place);
        let local = std::array::from_fn(|i| (place[i] - f64::from(block[i])) as f32);
        let (key, number) = chunk_of(BlockKey(block));
        let found = self
            .chunks
            .get(&key)
            .and_then(|chunk| chunk.find(number, eighth_of(local), label).map(|pool| chunk.pools[pool].surface));
        found.unwrap_or_default()
    }

    /// Keeps surfaces as they are now, once after each update.
    pub(super) fn keep(&mut self, surfaces: &[BlockSurfaces]) {
        for BlockSurfaces { block, surfaces } in surfaces {
            let Some(chunk) = self.chunks.get_mut(&chunk_of(*block).0) else { continue };
            for kept in surfaces {
                if let Some(pool) = chunk.pools.get_mut(kept.pool as usize) {
                    pool.surface = kept.renewed.now;
                }
            }
        }
        // Only now: until here every pool is where it was.
        for key in std::mem::take(&mut self.unsettled) {
            if self.chunks.get_mut(&key).is_some_and(|chunk| !chunk.settle()) {
                self.chunks.remove(&key);
            }
        }
    }

    pub(crate) fn byte_size(&self) -> usize {
        #[allow(clippy::iter_over_hash_type)] // order is irrelevant to a sum
        self.chunks.values().map(|chunk| chunk.byte_size() + size_of::<(ChunkKey, Chunk)>()).sum()
    }
}

/// The chunk of a block and those that the block touches.
fn chunks_beside(ChunkKey(chunk): ChunkKey, number: u16) -> impl Iterator<Item = ChunkKey> {
    let local = [number % 8, number / 8 % 8, number / 64];
    let beside = local.map(|v| match v {
        0 => -1..=0,
        7 => 0..=1,
        _ => 0..=0,
    });
    let [x, y, z] = beside;
    x.flat_map(move |i| {
        let z = z.clone();
        y.clone().flat_map(move |j| z.clone().map(move |k| [i, j, k]))
    })
    .map(move |d: [i32; 3]| ChunkKey(std::array::from_fn(|axis| chunk[axis].saturating_add(d[axis]))))
}

/// Number of points, Σx, and Σxxᵀ.
type Moments = [f64; 10];

/// A pool as a neighbourhood reads it: with moments about the middle of the chunk.
struct Gathered {
    at: u32,
    /// Its number in the chunk that it is from.
    number: u32,
    label: u16,
    changed: bool,
    moments: Moments,
}

impl Gathered {
    fn new(pool: &Pool, corner: [f64; 3], [at, number]: [usize; 2], changed: bool) -> Self {
        let w = f64::from(pool.weight);
        let m: [f64; 3] = std::array::from_fn(|i| corner[i] + f64::from(pool.mean[i]));
        let c = pool.covariance.map(f64::from);
        let second = [
            c[0] + m[0] * m[0],
            c[1] + m[1] * m[1],
            c[2] + m[2] * m[2],
            c[3] + m[0] * m[1],
            c[4] + m[0] * m[2],
            c[5] + m[1] * m[2],
        ];
        let [xx, yy, zz, xy, xz, yz] = second.map(|v| w * v);
        let moments = [w, w * m[0], w * m[1], w * m[2], xx, yy, zz, xy, xz, yz];
        Self { at: at as u32, number: number as u32, label: pool.label, changed, moments }
    }
}

/// The cells of a chunk with a border of one.
struct Hood {
    pools: Vec<Gathered>,
    /// The first pool of every cell.
    first: Vec<u32>,
    /// Whether a pool in or beside a cell changed.
    near_change: Vec<bool>,
    /// What lies around a cell: the way there, and how much it counts.
    around: [(isize, f64); 27],
}

impl Default for Hood {
    fn default() -> Self {
        let around = std::array::from_fn(|n| {
            let d = [n % 3, n / 3 % 3, n / 9].map(|v| v as isize - 1);
            let level = d.iter().filter(|v| **v == 0).count();
            (d[0] + WIDE as isize * (d[1] + WIDE as isize * d[2]), f64::from(1_u8 << level))
        });
        Self { pools: Vec::new(), first: vec![NONE; CELLS], near_change: vec![false; CELLS], around }
    }
}

impl Hood {
    /// Reads a chunk and what touches it.
    fn gather(&mut self, ChunkKey(key): ChunkKey, chunks: &FxHashMap<ChunkKey, Chunk>) {
        self.pools.clear();
        self.first.fill(NONE);
        self.near_change.fill(false);
        for n in 0..27_i32 {
            let offset = [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1];
            let beside = ChunkKey(std::array::from_fn(|i| key[i].saturating_add(offset[i])));
            let Some(chunk) = chunks.get(&beside).filter(|_| n == 13 || beside.0 != key) else { continue };
            // Of a neighbour, the blocks that touch the chunk.
            let [x, y, z] = offset.map(|d| match d {
                -1 => 7..8_u16,
                0 => 0..8,
                _ => 0..1,
            });
            for row in z.flat_map(|z| y.clone().map(move |y| 8 * (y + 8 * z))) {
                self.read(chunk, row, &x, offset);
            }
        }
    }

    /// Reads blocks of a row of a chunk that is `offset` chunks away.
    fn read(&mut self, chunk: &Chunk, row: u16, blocks: &Range<u16>, offset: [i32; 3]) {
        for i in chunk.of_row(row) {
            let pool = &chunk.pools[i];
            let number = pool.cell / 8;
            if !blocks.contains(&(number % 8)) {
                continue;
            }
            let local = [number % 8, number / 8 % 8, number / 64].map(i32::from);
            let block: [i32; 3] = std::array::from_fn(|i| SIDE * offset[i] + local[i]);
            let corner = block.map(|v| f64::from(v - SIDE / 2));
            let cell: [i32; 3] = std::array::from_fn(|axis| 2 * block[axis] + i32::from(pool.cell >> axis & 1) + 1);
            if cell.iter().any(|v| !(0..WIDE as i32).contains(v)) {
                continue;
            }
            let [x, y, z] = cell.map(|v| v as usize);
            let at = x + WIDE * (y + WIDE * z);
            let changed = chunk.changed.get(i).copied().unwrap_or(false);
            if self.first[at] == NONE {
                self.first[at] = self.pools.len() as u32;
            }
            self.pools.push(Gathered::new(pool, corner, [at, i], changed));
            if changed {
                for (way, _) in &self.around {
                    if let Some(near) = self.near_change.get_mut(at.wrapping_add_signed(*way)) {
                        *near = true;
                    }
                }
            }
        }
    }

    /// Surfaces of the chunk that differ from what its pools keep.
    fn surfaces(&self, key: ChunkKey, chunk: &Chunk) -> Vec<BlockSurfaces> {
        let mut found: Vec<BlockSurfaces> = Vec::new();
        for own in &self.pools {
            let at = own.at as usize;
            let cell = [at % WIDE, at / WIDE % WIDE, at / (WIDE * WIDE)];
            let inside = cell.iter().all(|v| (1..WIDE - 1).contains(v));
            if !inside || !self.near_change[at] || own.moments[0] <= 0.0 {
                continue;
            }
            let Some(now) = self.surface(at, own.label) else { continue };
            let before = chunk.pools[own.number as usize].surface;
            if before.bits() == now.bits() {
                continue;
            }
            let renewed = Renewed { now, differs: before != now };
            let [x, y, z] = cell.map(|v| v as u16 - 1);
            let block = block_in(key, x / 2 + 8 * (y / 2 + 8 * (z / 2)));
            let eighth = x % 2 + 2 * (y % 2) + 4 * (z % 2);
            if found.last().is_none_or(|last| last.block != block) {
                found.push(BlockSurfaces::unchanged(block));
            }
            if let Some(last) = found.last_mut() {
                last.surfaces.push(Kept { key: (eighth, own.label), pool: own.number, renewed });
            }
        }
        found
    }

    /// The surface of a class at a cell, unless nothing that it is made of changed.
    fn surface(&self, at: usize, label: u16) -> Option<Surface> {
        let (mut sum, mut changed) = ([0.0; 10], false);
        for (way, factor) in &self.around {
            let beside = at.wrapping_add_signed(*way);
            let first = self.first[beside];
            if first == NONE {
                continue;
            }
            let here = self.pools[first as usize..].iter().take_while(|pool| pool.at as usize == beside);
            for pool in here.filter(|pool| pool.label == label) {
                changed |= pool.changed;
                for i in 0..10 {
                    sum[i] += factor * pool.moments[i];
                }
            }
        }
        changed.then(|| surface_of(&sum))
    }
}

/// Covariance over its largest eigenvalue.
fn surface_of(moments: &Moments) -> Surface {
    let per_point = 1.0 / moments[0];
    let [_, x, y, z, ..] = moments.map(|v| v * per_point);
    let product = [x * x, y * y, z * z, x * y, x * z, y * z];
    let covariance: [f64; 6] = std::array::from_fn(|i| {
        let value = moments[4 + i] * per_point - product[i];
        if i < 3 { value.max(0.0) + UNSURE_M2 } else { value }
    });
    let per_largest = 1.0 / largest_eigenvalue(covariance);
    let scaled = covariance.map(|v| v * per_largest);
    Surface { covariance: scaled.map(|v| v as f32), flatness: flatness(scaled) as f32 }
}

/// λ₂ − λ₃ of a covariance with λ₁ = 1: their sum is the trace less 1, their product the determinant.
fn flatness([xx, yy, zz, xy, xz, yz]: [f64; 6]) -> f64 {
    let sum = xx + yy + zz - 1.0;
    let product = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    (sum * sum - 4.0 * product).max(0.0).sqrt().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::symmetric_eigen;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn flatness_is_the_difference_of_the_two_smaller_variances(
            c in prop::array::uniform3(prop::array::uniform3(-1.0..1.0_f64)), least in 0.001..0.5_f64,
        ) {
            let b = |i: usize, j: usize| (0..3).map(|k| c[i][k] * c[j][k]).sum::<f64>() + if i == j { least } else { 0.0 };
            let matrix = [b(0, 0), b(1, 1), b(2, 2), b(0, 1), b(0, 2), b(1, 2)];
            let [third, second, first] = symmetric_eigen(matrix).0;
            let found = flatness(matrix.map(|v| v / first));
            prop_assert!((found - (second - third) / first).abs() < 1e-5, "{found} {third} {second} {first}");
        }
    }

    #[test]
    fn planes_are_flat_and_lines_balls_and_lone_points_are_not() {
        for (variances, expected) in
            [([1.0, 1.0, 0.0], 1.0), ([1.0, 0.0, 0.0], 0.0), ([1.0, 1.0, 1.0], 0.0), ([1.0, 0.5, 0.1], 0.4)]
        {
            let [xx, yy, zz] = variances;
            assert!((flatness([xx, yy, zz, 0.0, 0.0, 0.0]) - expected).abs() < 1e-9, "{variances:?}");
        }
        let mut lone = [0.0; 10];
        lone[0] = 1.0;
        assert_eq!(surface_of(&lone).flatness, 0.0);
    }
}
