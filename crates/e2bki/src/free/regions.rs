//! Counters by region: what robots tell each other of free space. A region is told as it is, in place of what it was.

use super::block::Block;
use super::counters::{Counters, never_added};
use super::cubes::BlockKey;
use super::flips::{Metre, Weights, between};
use super::settings::BLOCK_M;
use crate::error::{Error, Result};
use crate::keys::TILE_M;

/// Blocks along a side of a region.
const BLOCKS: i32 = 4;

/// The region of a block: multiples of 8 m.
pub(super) fn region_of(key: BlockKey) -> [i32; 3] {
    key.map(|v| v.div_euclid(BLOCKS))
}

/// The column of ground that a region is in, multiples of [`TILE_M`].
pub(super) fn column_of_region([x, y, _]: [i32; 3]) -> [i32; 2] {
    let along = TILE_M / (BLOCKS * BLOCK_M as i32);
    [x.div_euclid(along), y.div_euclid(along)]
}

impl Counters {
    /// A copy of the blocks of a region, by multiples of 8 m. It has counted as many frames as its largest count says, so
    /// that it depends on nothing else.
    pub fn in_region(&self, region: [i32; 3]) -> Self {
        let low = region.map(|v| v.saturating_mul(BLOCKS));
        let along = |axis: usize| (0..BLOCKS).map(move |step| low[axis].saturating_add(step));
        let keys = along(0).flat_map(|x| along(1).flat_map(move |y| along(2).map(move |z| [x, y, z])));
        let mut part = Self::default();
        part.blocks.extend(keys.filter_map(|key| Some((key, self.blocks.get(&key)?.clone()))));
        part.set_frames(part.most());
        part
    }

    /// Whether it is what [`Self::in_region`] gives of some counters.
    pub fn is_of_region(&self, region: [i32; 3]) -> bool {
        self.blocks.keys().all(|key| region_of(*key) == region) && self.frames() == self.most()
    }

    /// What is left of a region without what others counted there. Fails if they counted more than there is.
    pub fn without(&self, others: &[Self]) -> Result<Self> {
        let mut left = self.clone();
        others.iter().try_for_each(|other| left.combine_blocks(other, true))?;
        left.set_frames(left.most());
        Ok(left)
    }

    /// Takes counters out and puts others in, whose frames are said apart; returns where that changes what is free. On an
    /// error nothing has changed.
    pub(super) fn replace(
        &mut self,
        (taken, frames_taken): (&[Self], u64),
        (added, frames_added): (&[Self], u64),
        weights: &Weights,
    ) -> Result<Vec<Metre>> {
        // No count of theirs is above the number of their frames, so that none of the sum can be too large.
        if added.iter().any(|counters| counters.frames() > frames_added) {
            return Err(Error::Unsupported("free space: more counts than frames are to be added".into()));
        }
        let left = self.frames().checked_sub(frames_taken).ok_or_else(|| never_added("part of a map"))?;
        let frames = Self::sum_of(left, frames_added)?;
        let mut keys: Vec<BlockKey> = taken.iter().chain(added).flat_map(|part| part.blocks.keys().copied()).collect();
        keys.sort_unstable();
        keys.dedup();
        let before: Vec<(BlockKey, Option<Block>)> =
            keys.into_iter().map(|key| (key, self.blocks.get(&key).cloned())).collect();
        let done = taken.iter().try_for_each(|part| self.combine_blocks(part, true));
        if let Err(error) = done.and_then(|()| added.iter().try_for_each(|part| self.combine_blocks(part, false))) {
            for (key, block) in before {
                match block {
                    Some(block) => self.blocks.insert(key, block),
                    None => self.blocks.remove(&key),
                };
            }
            return Err(error);
        }
        self.set_frames(frames);
        let none = Block::default();
        let differs = |(key, was): &(BlockKey, Option<Block>)| {
            between(*key, was.as_ref().unwrap_or(&none), self.blocks.get(key).unwrap_or(&none), weights)
        };
        Ok(before.iter().flat_map(differs).collect())
    }
}
