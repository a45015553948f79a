//! How the surface runs at every primitive: moments of the primitives of its class around it, added up.
//!
//! A cube of 0.25 m has too few points to tell a wall from a pole. The moments are sums, and sums of multiples of the
//! quantum are exact, so that what is pooled here depends on which primitives there are and on nothing else.
//! Space is divided into cubes of half a metre; a primitive's surface is that of its class in its own cube and in those
//! around it, which count 2 : 1 along each axis.

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::blocks::BlockKey;
use crate::primitive::{QUANTUM_M, QUANTUM_M2, Sums, symmetric_eigen};

/// Blocks along the side of a chunk.
const SIDE: i32 = 8;
const BLOCKS: usize = 512;
/// The same with a border of one block.
const WIDE: usize = 10;

/// A metre is 2¹⁶ quanta.
const METRE_BITS: u32 = 16;

/// Variance that stands for how little a few points tell about the surface, m²: one point alone has none.
const UNSURE_M2: f64 = 0.05 * 0.05;

/// Shape of a surface: its covariance divided by the largest variance, as xx, yy, zz, xy, xz, yz.
pub(crate) type Surface = [f32; 6];

/// Number of points, Σx, and Σxxᵀ, about the corner of a block, in quanta of [`Sums`]: exact, whatever is added.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Moments {
    weight: i64,
    first: [i64; 3],
    second: [i128; 6],
}

impl Moments {
    /// Adds `factor` times other moments about a corner that is `d` metres away.
    fn add(&mut self, other: &Self, factor: i64, d: [i32; 3]) {
        let d = d.map(|metres| i64::from(metres) << METRE_BITS);
        self.weight += factor * other.weight;
        for i in 0..3 {
            self.first[i] += factor * (other.first[i] + other.weight * d[i]);
        }
        let (factor, d, m, w) =
            (i128::from(factor), d.map(i128::from), other.first.map(i128::from), i128::from(other.weight));
        let cross = |i: usize, j: usize| d[i] * m[j] + m[i] * d[j] + w * d[i] * d[j];
        let shift = [cross(0, 0), cross(1, 1), cross(2, 2), cross(0, 1), cross(0, 2), cross(1, 2)];
        for i in 0..6 {
            self.second[i] += factor * (other.second[i] + shift[i]);
        }
    }

    /// Covariance over its largest eigenvalue.
    fn surface(&self) -> Surface {
        let weight = self.weight as f64;
        let m = self.first.map(|v| v as f64 * QUANTUM_M / weight);
        let product = [m[0] * m[0], m[1] * m[1], m[2] * m[2], m[0] * m[1], m[0] * m[2], m[1] * m[2]];
        let covariance: [f64; 6] = std::array::from_fn(|i| {
            let value = self.second[i] as f64 * QUANTUM_M2 / weight - product[i];
            if i < 3 { value.max(0.0) + UNSURE_M2 } else { value }
        });
        let (values, _) = symmetric_eigen(covariance);
        covariance.map(|v| (v / values[2]) as f32)
    }
}

/// What the primitives of a class in an eighth of a block add up to.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pool {
    eighth: u8,
    label: u16,
    moments: Moments,
}

/// The pools of a block.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pools(Vec<Pool>);

impl Pools {
    /// Adds a primitive: where it is in its block, its class, and its sums, which are about the corner of the block.
    pub(crate) fn add(&mut self, local: [f32; 3], label: u16, sums: &Sums) {
        let eighth = eighth_of(local);
        let added = Moments {
            weight: sums.weight as i64,
            first: sums.first.map(|v| (v * (1.0 / QUANTUM_M)) as i64),
            second: sums.second.map(i128::from),
        };
        match self.0.iter_mut().find(|pool| pool.eighth == eighth && pool.label == label) {
            Some(pool) => pool.moments.add(&added, 1, [0; 3]),
            None => self.0.push(Pool { eighth, label, moments: added }),
        }
    }
}

/// Which eighth of its block a place is in.
fn eighth_of(local: [f32; 3]) -> u8 {
    (0..3).fold(0, |bits, i| bits | u8::from(local[i] >= 0.5) << i)
}

/// Surfaces of a block by eighth and class.
pub(crate) struct BlockSurfaces(Vec<(u8, u16, Surface)>);

impl BlockSurfaces {
    /// The surface of a class at a place in the block.
    pub(crate) fn at(&self, local: [f32; 3], label: u16) -> Option<Surface> {
        let eighth = eighth_of(local);
        self.0.iter().find(|(e, l, _)| (*e, *l) == (eighth, label)).map(|(.., surface)| *surface)
    }
}

/// Pools of 8×8×8 blocks, and which of them are out of date for what surrounds them.
#[derive(Debug, Clone)]
struct Chunk {
    pools: Vec<Pools>,
    changed: Vec<bool>,
}

impl Default for Chunk {
    fn default() -> Self {
        Self { pools: vec![Pools::default(); BLOCKS], changed: vec![false; BLOCKS] }
    }
}

/// The pools of all blocks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surfaces {
    chunks: FxHashMap<BlockKey, Chunk>,
}

fn chunk_of(BlockKey(block): BlockKey) -> (BlockKey, usize) {
    let local = block.map(|v| v.rem_euclid(SIDE) as usize);
    (BlockKey(block.map(|v| v.div_euclid(SIDE))), local[0] + 8 * (local[1] + 8 * local[2]))
}

impl Surfaces {
    /// Replaces the pools of blocks; returns, block by block, those in which surfaces may differ because of it.
    pub(crate) fn replace(&mut self, fresh: Vec<(BlockKey, Pools)>) -> Vec<(BlockKey, BlockSurfaces)> {
        let mut near = FxHashSet::default();
        let mut changed = Vec::new();
        for (block, pools) in fresh {
            let (key, number) = chunk_of(block);
            let chunk = self.chunks.entry(key).or_default();
            chunk.pools[number] = pools;
            chunk.changed[number] = true;
            changed.push((key, number));
            // The block itself and those that touch it, by the corners of the cube that they make.
            for corner in 0..8 {
                let at = std::array::from_fn(|i| block.0[i].saturating_add(if corner >> i & 1 == 1 { 1 } else { -1 }));
                near.insert(chunk_of(BlockKey(at)).0);
            }
        }
        let near: Vec<BlockKey> = near.into_iter().filter(|key| self.chunks.contains_key(key)).collect();
        let mut all: Vec<(BlockKey, BlockSurfaces)> = near.par_iter().flat_map_iter(|key| self.around(*key)).collect();
        all.par_sort_unstable_by_key(|(block, _)| *block);
        for (key, number) in changed {
            if let Some(chunk) = self.chunks.get_mut(&key) {
                chunk.changed[number] = false;
                if chunk.pools.iter().all(|pools| pools.0.is_empty()) {
                    self.chunks.remove(&key);
                }
            }
        }
        all
    }

    /// Surfaces of the blocks of a chunk that touch a changed one.
    fn around(&self, key: BlockKey) -> Vec<(BlockKey, BlockSurfaces)> {
        static NOTHING: Pools = Pools(Vec::new());
        let corner = key.0.map(|v| v.saturating_mul(SIDE));
        let neighbours: [Option<&Chunk>; 27] = std::array::from_fn(|n| {
            let offset = [n % 3, n / 3 % 3, n / 9];
            self.chunks.get(&BlockKey(std::array::from_fn(|i| key.0[i].saturating_add(offset[i] as i32 - 1))))
        });
        // Pools of the chunk with a border of one block.
        let mut pools: Vec<&Pools> = vec![&NOTHING; WIDE * WIDE * WIDE];
        let mut changed = vec![false; WIDE * WIDE * WIDE];
        for (at, (pools, changed)) in pools.iter_mut().zip(&mut changed).enumerate() {
            let wide = [at % WIDE, at / WIDE % WIDE, at / (WIDE * WIDE)].map(|v| v + 7);
            let chunk = neighbours[wide[0] / 8 + 3 * (wide[1] / 8) + 9 * (wide[2] / 8)];
            let number = wide[0] % 8 + 8 * (wide[1] % 8) + 64 * (wide[2] % 8);
            if let Some(chunk) = chunk {
                (*pools, *changed) = (&chunk.pools[number], chunk.changed[number]);
            }
        }
        let mut found = Vec::new();
        for number in 0..BLOCKS {
            let local = [number % 8, number / 8 % 8, number / 64];
            let at = |d: usize| {
                let d = [d % 3, d / 3 % 3, d / 9];
                (local[0] + d[0]) + WIDE * (local[1] + d[1]) + WIDE * WIDE * (local[2] + d[2])
            };
            if !pools[at(13)].0.is_empty() && (0..27).any(|d| changed[at(d)]) {
                let block = BlockKey(std::array::from_fn(|i| corner[i].saturating_add(local[i] as i32)));
                found.push((block, pooled(&std::array::from_fn(|d| pools[at(d)]))));
            }
        }
        found
    }

    pub(crate) fn byte_size(&self) -> usize {
        #[allow(clippy::iter_over_hash_type)] // order is irrelevant to a sum
        self.chunks
            .values()
            .map(|chunk| {
                let pools: usize = chunk.pools.iter().map(|pools| pools.0.capacity() * size_of::<Pool>()).sum();
                BLOCKS * (size_of::<Pools>() + 1) + pools
            })
            .sum()
    }
}

/// The surfaces of the block in the middle of 27.
fn pooled(blocks: &[&Pools; 27]) -> BlockSurfaces {
    let own = &blocks[13].0;
    let mut sums: Vec<Moments> = vec![Moments::default(); own.len()];
    for (number, block) in blocks.iter().enumerate() {
        let offset = [number % 3, number / 3 % 3, number / 9].map(|v| v as i32 - 1);
        for pool in &block.0 {
            let theirs: [i32; 3] = std::array::from_fn(|i| 2 * offset[i] + i32::from(pool.eighth >> i & 1));
            // Only what touches the eighth counts: 2 along an axis on which it is level with it, 1 beside it.
            let factor = |eighth: u8| {
                let along = |i: usize| match (theirs[i] - i32::from(eighth >> i & 1)).abs() {
                    0 => 2,
                    1 => 1,
                    _ => 0,
                };
                along(0) * along(1) * along(2)
            };
            for (sum, own) in sums.iter_mut().zip(own).filter(|(_, own)| own.label == pool.label) {
                let factor = factor(own.eighth);
                if factor > 0 {
                    sum.add(&pool.moments, factor, offset);
                }
            }
        }
    }
    BlockSurfaces(own.iter().zip(&sums).map(|(own, sum)| (own.eighth, own.label, sum.surface())).collect())
}
