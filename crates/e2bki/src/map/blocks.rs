//! The spatial index: a hash map of cubic metres, each with short records of the primitives whose mean it holds, and
//! the box in which views are out of date because of them.

use rustc_hash::FxHashMap;

use super::aabb::{Aabb, Stale, StaleOfOne, Support};
use super::slots::Slots;
use crate::keys::BlockKey;
use crate::prefetch::prefetch;

/// What a search needs of a primitive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Near {
    /// Mean, relative to the block's corner, metres.
    pub(crate) local: [f32; 3],
    /// Mean range, metres (paper: δ).
    pub(crate) range: f32,
    /// Longest half side of the support box, metres; 0 if the kernel is zero or found through the large ones.
    pub(crate) extent: f32,
    pub(crate) slot: u32,
    /// Number of the latest change that made or changed the primitive.
    pub(crate) stamp: u32,
    pub(crate) label: u16,
}

/// Primitives of one cubic metre, in no particular order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Block {
    pub(crate) near: Vec<Near>,
    /// Bit `label % 64` of every label present.
    pub(crate) labels: u64,
    /// Latest stamp of a record.
    stamp: u32,
    /// Latest stamp for which [`Blocks::near_fresh`] named this block.
    named: u32,
    /// One more than this block's number among the touched ones; 0 if it is none.
    touched: u32,
}

impl Block {
    /// Whether a primitive of a label may be here.
    pub(crate) fn has_label(&self, label: u16) -> bool {
        self.labels & 1 << (label % 64) != 0
    }

    /// Whether a primitive of any other label, of so many, may be here.
    pub(crate) fn has_other_label(&self, label: u16, classes: usize) -> bool {
        classes > 64 || self.labels != 1 << (label % 64)
    }

    /// Whether a record of this stamp may be here, which must be the latest one.
    pub(super) fn may_have(&self, stamp: u32) -> bool {
        self.stamp == stamp
    }

    /// Puts a record in place; true if it is the first of its stamp here.
    fn note(&mut self, near: &Near) -> bool {
        self.labels |= 1 << (near.label % 64);
        std::mem::replace(&mut self.stamp, near.stamp) != near.stamp
    }
}

/// Notes that a block is touched, and joins a box to its stale one.
fn touch(block: &mut Block, key: BlockKey, small: Option<&Aabb>, all: &mut Touched) {
    if block.touched == 0 {
        all.blocks.push((key, NO_BOX));
        block.touched = all.blocks.len() as u32;
    }
    let Some(((_, at), small)) = all.blocks.get_mut(block.touched as usize - 1).zip(small) else { return };
    match all.boxes.get_mut(*at as usize) {
        Some(known) => known.join(small),
        None => {
            *at = all.boxes.len() as u32;
            all.boxes.push(*small);
        }
    }
}

/// No box.
const NO_BOX: u32 = u32::MAX;

/// Blocks in which something changed. Where nobody has looked yet there is no box.
#[derive(Debug, Clone, Default)]
struct Touched {
    /// With the number of its box.
    blocks: Vec<(BlockKey, u32)>,
    boxes: Vec<Aabb>,
}

/// The index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Blocks {
    blocks: FxHashMap<BlockKey, Block>,
    /// Blocks in which something changed since the views were last brought up to date, with the union of the old and new
    /// supports of it.
    touched: Touched,
    /// Stale supports that are too large to be joined with others.
    stale_large: Vec<Support>,
    /// Blocks with records of the latest stamp; some may be gone or empty again.
    fresh: Vec<BlockKey>,
    /// Blocks that became empty since then; some may hold something again.
    emptied: usize,
}

impl Blocks {
    pub(crate) fn get(&self, key: BlockKey) -> Option<&Block> {
        self.blocks.get(&key)
    }

    /// All blocks, in no order; some may be empty.
    pub(crate) fn keys(&self) -> impl Iterator<Item = BlockKey> {
        self.blocks.keys().copied()
    }

    /// Number of blocks.
    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Blocks in which something changed since views were last brought up to date.
    pub(crate) fn touched(&self) -> impl Iterator<Item = BlockKey> {
        self.touched.blocks.iter().map(|(key, _)| *key)
    }

    /// Adds a record, and marks supports as stale; returns its position in the block.
    pub(crate) fn insert(&mut self, key: BlockKey, near: Near, stale: &StaleOfOne) -> u32 {
        self.insert_all(key, [near].into_iter(), stale)
    }

    /// Adds records, and marks supports as stale; returns the position of the first, which the others follow.
    pub(crate) fn insert_all(
        &mut self,
        key: BlockKey,
        records: impl ExactSizeIterator<Item = Near>,
        stale: &StaleOfOne,
    ) -> u32 {
        let block = self.blocks.entry(key).or_default();
        touch(block, key, stale.small.as_ref(), &mut self.touched);
        self.stale_large.extend_from_slice(&stale.large);
        let first = block.near.len();
        if first + records.len() > block.near.capacity() {
            // By little: most blocks stay small, and there are many.
            block.near.reserve_exact((first / 4).max(2).max(records.len()));
        }
        for near in records {
            if block.note(&near) {
                self.fresh.push(key);
            }
            block.near.push(near);
        }
        first as u32
    }

    /// Removes the records of primitives, and says in `slots` where others are then. An empty block goes when views are
    /// brought up to date.
    pub(crate) fn remove_all(&mut self, key: BlockKey, gone: impl Iterator<Item = u32>, slots: &mut Slots) {
        let Some(block) = self.blocks.get_mut(&key) else { return };
        for slot in gone {
            let position = slots.head(slot).position;
            block.near.swap_remove(position as usize);
            if let Some(moved) = block.near.get(position as usize) {
                slots.head_mut(moved.slot).position = position;
            }
        }
        self.emptied += usize::from(block.near.is_empty());
        block.labels = block.near.iter().fold(0, |bits, near| bits | 1 << (near.label % 64));
        touch(block, key, None, &mut self.touched);
    }

    /// Replaces the record at a position, and marks supports as stale; the label must not change.
    pub(crate) fn update(&mut self, key: BlockKey, position: u32, near: Near, stale: &StaleOfOne) {
        self.update_all(key, [(position, near, stale)].into_iter());
    }

    /// The same for several of a block.
    pub(crate) fn update_all<'a>(&mut self, key: BlockKey, records: impl Iterator<Item = (u32, Near, &'a StaleOfOne)>) {
        let Some(block) = self.blocks.get_mut(&key) else { return };
        for (position, near, stale) in records {
            if block.note(&near) {
                self.fresh.push(key);
            }
            block.near[position as usize] = near;
            touch(block, key, stale.small.as_ref(), &mut self.touched);
            self.stale_large.extend_from_slice(&stale.large);
        }
    }

    /// Asks for the memory of the records of a block.
    pub(crate) fn prefetch(&self, key: BlockKey) {
        prefetch(self.blocks.get(&key).and_then(|block| block.near.first()).map(|near| near.extent));
    }

    /// Tells the records of a block, in their order, the extent and class that were derived since, where they are new; they are
    /// no fresher for that. Returns the largest of these extents.
    pub(crate) fn renew(&mut self, key: BlockKey, new: &mut impl Iterator<Item = Option<(f32, u16)>>) -> f32 {
        let Some(block) = self.blocks.get_mut(&key) else { return 0.0 };
        let mut largest: f32 = 0.0;
        for (near, new) in block.near.iter_mut().zip(new) {
            if let Some((extent, label)) = new {
                block.labels |= 1 << (label % 64);
                (near.extent, near.label) = (extent, label);
                largest = largest.max(extent);
            }
        }
        largest
    }

    /// Forgets which blocks are fresh, before records of a new stamp come.
    pub(crate) fn begin(&mut self) {
        self.fresh.clear();
    }

    /// Blocks that are not empty and hold a record of this stamp, or are within `span` blocks of one that does; sorted.
    pub(crate) fn near_fresh(&mut self, span: i32, stamp: u32) -> Vec<BlockKey> {
        let mut keys = Vec::new();
        for BlockKey([x, y, z]) in &self.fresh {
            for key in cube(span).map(|[i, j, k]| BlockKey([x + i, y + j, z + k])) {
                if let Some(block) = self.blocks.get_mut(&key).filter(|block| block.named != stamp) {
                    block.named = stamp;
                    if !block.near.is_empty() {
                        keys.push(key);
                    }
                }
            }
        }
        keys.sort_unstable();
        keys
    }

    /// Remembers where views are out of date because of a primitive of this block.
    pub(crate) fn mark(&mut self, key: BlockKey, stale: &StaleOfOne) {
        touch(self.blocks.entry(key).or_default(), key, stale.small.as_ref(), &mut self.touched);
        self.stale_large.extend_from_slice(&stale.large);
    }

    /// Large supports and emptied blocks that were marked.
    pub(crate) fn waiting(&self) -> usize {
        self.stale_large.len() + self.emptied
    }

    /// Takes what was marked.
    pub(crate) fn take_stale(&mut self) -> Stale {
        self.emptied = 0;
        let Touched { blocks, boxes } = std::mem::take(&mut self.touched);
        for (key, _) in &blocks {
            if let Some(block) = self.blocks.get_mut(key) {
                block.touched = 0;
                if block.near.is_empty() {
                    self.blocks.remove(key);
                }
            }
        }
        let touched = blocks.into_iter().map(|(key, at)| (key, boxes.get(at as usize).copied())).collect();
        Stale { touched, boxes, supports: std::mem::take(&mut self.stale_large), reshaped: Vec::new() }
    }

    /// Calls `visit(offset, near)` for every primitive with its mean in the blocks that a ball overlaps, but for those that
    /// `skip` names, until it returns true; returns whether it did. `offset` is the vector from the centre to the mean.
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

    pub(crate) fn byte_size(&self) -> usize {
        // Order is irrelevant to a sum.
        #[allow(clippy::iter_over_hash_type)]
        let records: usize = self.blocks.values().map(|block| block.near.capacity() * size_of::<Near>()).sum();
        // One control byte per bucket.
        let waiting = self.touched.blocks.capacity() * size_of::<(BlockKey, u32)>()
            + self.touched.boxes.capacity() * size_of::<Aabb>()
            + self.stale_large.capacity() * size_of::<Support>()
            + self.fresh.capacity() * size_of::<BlockKey>();
        self.blocks.capacity() * (size_of::<(BlockKey, Block)>() + 1) + records + waiting
    }
}

/// Offsets from −span to span along each axis.
pub(crate) fn cube(span: i32) -> impl Iterator<Item = [i32; 3]> {
    (-span..=span).flat_map(move |i| (-span..=span).flat_map(move |j| (-span..=span).map(move |k| [i, j, k])))
}

/// Blocks that an axis-aligned box overlaps, in lexicographic order.
pub(crate) fn blocks_between(low: [f64; 3], high: [f64; 3]) -> impl Iterator<Item = BlockKey> {
    let low = low.map(crate::maths::floor_i32);
    let high = high.map(crate::maths::floor_i32);
    (low[0]..=high[0])
        .flat_map(move |x| (low[1]..=high[1]).flat_map(move |y| (low[2]..=high[2]).map(move |z| BlockKey([x, y, z]))))
}
