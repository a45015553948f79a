//! The spatial index: a hash map of cubic metres, each with short records of the primitives whose mean it holds.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHashMap;

/// Corner of a block in whole metres.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BlockKey(pub(crate) [i32; 3]);

impl Hash for BlockKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [x, y, z] = self.0.map(|v| u64::from(v as u32));
        state.write_u64(x | y << 32);
        state.write_u64(z);
    }
}

/// What a neighbour search needs of a primitive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Near {
    /// Mean, relative to the block's corner, metres.
    pub(crate) local: [f32; 3],
    /// Mean range, metres (paper: δ).
    pub(crate) range: f32,
    pub(crate) slot: u32,
    pub(crate) label: u16,
    /// New or changed in the frame being inserted.
    pub(crate) fresh: bool,
}

/// Primitives of one cubic metre, in no particular order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    pub(crate) near: Vec<Near>,
    /// Bit `label % 64` of every label present.
    pub(crate) labels: u64,
}

/// The index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Blocks {
    blocks: FxHashMap<BlockKey, Block>,
}

impl Blocks {
    pub(crate) fn get(&self, key: BlockKey) -> Option<&Block> {
        self.blocks.get(&key)
    }

    pub(crate) fn insert(&mut self, key: BlockKey, near: Near) {
        let block = self.blocks.entry(key).or_default();
        block.labels |= 1 << (near.label % 64);
        block.near.push(near);
    }

    pub(crate) fn remove(&mut self, key: BlockKey, slot: u32) {
        let Some(block) = self.blocks.get_mut(&key) else { return };
        if let Some(i) = block.near.iter().position(|near| near.slot == slot) {
            block.near.swap_remove(i);
        }
        block.labels = block.near.iter().fold(0, |bits, near| bits | 1 << (near.label % 64));
        if block.near.is_empty() {
            self.blocks.remove(&key);
        }
    }

    /// Replaces the record of a primitive that stayed in its block.
    pub(crate) fn update(&mut self, key: BlockKey, near: Near) {
        if let Some(old) = self.blocks.get_mut(&key).and_then(|b| b.near.iter_mut().find(|old| old.slot == near.slot)) {
            *old = near;
        }
    }

    /// Calls `visit(offset, near)` for every primitive with its mean in the blocks that a ball overlaps; `offset` is
    /// the vector from the centre to the mean.
    pub(crate) fn around(&self, center: [f64; 3], radius: f64, mut visit: impl FnMut([f32; 3], &Near)) {
        let each = |offset: [f32; 3], near: &Near| {
            visit(offset, near);
            false
        };
        self.any_around(center, radius, each, |_| false);
    }

    /// As [`Self::around`], until `visit` returns true, without the blocks that `skip` names; returns whether it did.
    pub(crate) fn any_around(
        &self,
        center: [f64; 3],
        radius: f64,
        mut visit: impl FnMut([f32; 3], &Near) -> bool,
        skip: impl Fn(&Block) -> bool,
    ) -> bool {
        blocks_between(center.map(|v| v - radius), center.map(|v| v + radius)).any(|key| {
            let Some(block) = self.blocks.get(&key).filter(|block| !skip(block)) else { return false };
            let corner: [f32; 3] = std::array::from_fn(|i| (f64::from(key.0[i]) - center[i]) as f32);
            block.near.iter().any(|near| visit(std::array::from_fn(|i| corner[i] + near.local[i]), near))
        })
    }

    /// Makes a primitive old.
    pub(crate) fn make_old(&mut self, key: BlockKey, slot: u32) {
        if let Some(near) = self.blocks.get_mut(&key).and_then(|b| b.near.iter_mut().find(|near| near.slot == slot)) {
            near.fresh = false;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    pub(crate) fn byte_size(&self) -> usize {
        // One control byte per bucket, and the records; order is irrelevant to a sum.
        #[allow(clippy::iter_over_hash_type)]
        let records: usize = self.blocks.values().map(|block| block.near.capacity() * size_of::<Near>()).sum();
        self.blocks.capacity() * (size_of::<(BlockKey, Block)>() + 1) + records
    }
}

/// Blocks that an axis-aligned box overlaps, in lexicographic order.
pub(crate) fn blocks_between(low: [f64; 3], high: [f64; 3]) -> impl Iterator<Item = BlockKey> {
    let low = low.map(crate::maths::floor_i32);
    let high = high.map(crate::maths::floor_i32);
    (low[0]..=high[0])
        .flat_map(move |x| (low[1]..=high[1]).flat_map(move |y| (low[2]..=high[2]).map(move |z| BlockKey([x, y, z]))))
}
