//! What the primitives of a class in a cube of half a metre add up to, cube by cube.
//!
//! The sums of primitives are whole numbers, so that what is pooled here depends on which primitives there are and on
//! nothing else; it is rounded once, when the pool is made.

use std::ops::Range;

use super::surfaces::Surface;
use crate::keys::{BlockKey, ChunkKey};
use crate::primitive::{QUANTUM_M, QUANTUM_M2, Sums};

/// Blocks along the side of a chunk.
pub(super) const SIDE: i32 = 8;
/// Rows of blocks along x.
const ROWS: usize = 64;

/// Points of a class in an eighth of a block. None are left in one that is about to go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pool {
    /// Number of the block in its chunk, and of the eighth in the block.
    pub(super) cell: u16,
    pub(super) label: u16,
    pub(super) weight: f32,
    /// Mean from the corner of the block, metres.
    pub(super) mean: [f32; 3],
    pub(super) covariance: [f32; 6],
    /// How the surface runs that the primitives of this pool are a part of, as it was last derived.
    pub(super) surface: Surface,
}

/// A pool in the making.
struct Growing {
    cell: u16,
    label: u16,
    weight: i64,
    first: [i64; 3],
    second: [i128; 6],
}

impl Growing {
    fn add(&mut self, sums: &Sums) {
        self.weight += sums.weight as i64;
        for i in 0..3 {
            self.first[i] += (sums.first[i] * (1.0 / QUANTUM_M)) as i64;
        }
        for i in 0..6 {
            self.second[i] += i128::from(sums.second[i]);
        }
    }

    fn done(&self) -> Pool {
        let per_point = 1.0 / self.weight as f64;
        let m = self.first.map(|v| v as f64 * QUANTUM_M * per_point);
        let product = [m[0] * m[0], m[1] * m[1], m[2] * m[2], m[0] * m[1], m[0] * m[2], m[1] * m[2]];
        // The short way gives the same number where it can be gone.
        let wide = |v: i128| i64::try_from(v).map_or_else(|_| v as f64, |v| v as f64);
        let covariance = std::array::from_fn(|i| (wide(self.second[i]) * QUANTUM_M2 * per_point - product[i]) as f32);
        let Self { cell, label, weight, .. } = *self;
        let surface = Surface::default();
        Pool { cell, label, weight: weight as f32, mean: m.map(|v| v as f32), covariance, surface }
    }
}

/// Number of the eighth of its block that a place is in.
pub(super) fn eighth_of(local: [f32; 3]) -> u16 {
    (0..3).fold(0, |bits, i| bits | u16::from(local[i] >= 0.5) << i)
}

/// The chunk of a block, and the block's number in it.
pub(super) fn chunk_of(BlockKey(block): BlockKey) -> (ChunkKey, u16) {
    let local = block.map(|v| v.rem_euclid(SIDE) as u16);
    (ChunkKey(block.map(|v| v.div_euclid(SIDE))), local[0] + 8 * (local[1] + 8 * local[2]))
}

/// The block of a number in a chunk.
pub(super) fn block_in(ChunkKey(chunk): ChunkKey, number: u16) -> BlockKey {
    let local = [number % 8, number / 8 % 8, number / 64].map(i32::from);
    BlockKey(std::array::from_fn(|i| chunk[i].saturating_mul(SIDE).saturating_add(local[i])))
}

/// A primitive of a block: where it is in the block, its class, and its sums about the block's corner.
pub(super) type Member = ([f32; 3], u16, Sums);

/// Buffers for [`Chunk::replaced`].
#[derive(Default)]
pub(super) struct Buffers {
    growing: Vec<Growing>,
    pools: Vec<Pool>,
    changed: Vec<bool>,
}

/// Pools of 8×8×8 blocks.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    /// By cell and class.
    pub(super) pools: Vec<Pool>,
    /// Whether a pool is not what it was when surfaces were last brought up to date; empty if all are.
    pub(super) changed: Vec<bool>,
    /// Where the pools of every row of blocks begin, and the end.
    starts: Box<[u32; ROWS + 1]>,
}

impl Default for Chunk {
    fn default() -> Self {
        Self { pools: Vec::new(), changed: Vec::new(), starts: Box::new([0; ROWS + 1]) }
    }
}

impl Chunk {
    /// Pools of a row of blocks, by the number of one of them: where they are.
    pub(super) fn of_row(&self, number: u16) -> Range<usize> {
        let row = usize::from(number / 8);
        self.starts[row] as usize..self.starts[row + 1] as usize
    }

    /// Pools of a block: where they are.
    fn of_block(&self, number: u16) -> Range<usize> {
        let row = self.of_row(number);
        let before = |number: u16| self.pools[row.clone()].iter().take_while(|pool| pool.cell / 8 < number).count();
        row.start + before(number)..row.start + before(number + 1)
    }

    /// Where the pool of a class in an eighth of a block is, if there is one.
    pub(super) fn find(&self, number: u16, eighth: u16, label: u16) -> Option<usize> {
        let (key, row) = ((8 * number + eighth, label), self.of_row(number));
        let found = self.pools[row.clone()].binary_search_by_key(&key, |pool| (pool.cell, pool.label));
        found.ok().map(|i| row.start + i)
    }

    /// The chunk with the pools of some blocks (ascending numbers) made anew; `members` gives the primitives of a block.
    pub(super) fn replaced<M: Iterator<Item = Member>>(
        &self,
        blocks: impl Iterator<Item = u16>,
        members: impl Fn(u16) -> M,
        buffers: &mut Buffers,
    ) -> Self {
        let Buffers { growing, pools, changed } = buffers;
        pools.clear();
        changed.clear();
        let mut copied = 0;
        for number in blocks {
            let old = self.of_block(number);
            pools.extend_from_slice(&self.pools[copied..old.start]);
            changed.resize(pools.len(), false);
            copied = old.end;
            grow(growing, number, members(number));
            let mut old = self.pools[old].iter().copied().peekable();
            let gone = |pool: Pool| Pool { weight: 0.0, mean: [0.0; 3], covariance: [0.0; 6], ..pool };
            for mut fresh in growing.iter().map(Growing::done) {
                let key = (fresh.cell, fresh.label);
                while let Some(before) = old.next_if(|before| (before.cell, before.label) < key) {
                    pools.push(gone(before));
                    changed.push(true);
                }
                let before = old.next_if(|before| (before.cell, before.label) == key);
                fresh.surface = before.map_or(fresh.surface, |before| before.surface);
                pools.push(fresh);
                changed.push(before != Some(fresh));
            }
            for before in old {
                pools.push(gone(before));
                changed.push(true);
            }
        }
        pools.extend_from_slice(&self.pools[copied..]);
        changed.resize(pools.len(), false);
        let mut made = Self { pools: pools.clone(), changed: changed.clone(), ..Self::default() };
        made.index();
        made
    }

    /// Forgets what changed; false if no pool is left.
    pub(super) fn settle(&mut self) -> bool {
        self.changed = Vec::new();
        let before = self.pools.len();
        self.pools.retain(|pool| pool.weight > 0.0);
        if self.pools.len() != before {
            self.index();
        }
        if self.pools.capacity() > 2 * self.pools.len() {
            self.pools.shrink_to_fit();
        }
        !self.pools.is_empty()
    }

    fn index(&mut self) {
        let mut end = 0;
        for row in 0..ROWS {
            self.starts[row] = end as u32;
            end += self.pools[end..].iter().take_while(|pool| usize::from(pool.cell / 64) == row).count();
        }
        self.starts[ROWS] = end as u32;
    }

    pub(super) fn byte_size(&self) -> usize {
        size_of_val(&*self.starts) + self.pools.capacity() * size_of::<Pool>()
    }
}

/// Sums up the primitives of a block by eighth and class, in that order.
fn grow(growing: &mut Vec<Growing>, number: u16, members: impl Iterator<Item = Member>) {
    growing.clear();
    for (local, label, sums) in members {
        let cell = 8 * number + eighth_of(local);
        match growing.iter_mut().find(|pool| (pool.cell, pool.label) == (cell, label)) {
            Some(pool) => pool.add(&sums),
            None => {
                let mut pool = Growing { cell, label, weight: 0, first: [0; 3], second: [0; 6] };
                pool.add(&sums);
                growing.push(pool);
            }
        }
    }
    growing.sort_unstable_by_key(|pool| (pool.cell, pool.label));
}
