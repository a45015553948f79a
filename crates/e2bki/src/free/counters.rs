//! The counters of a map: how many frames had a return in a cube (H), and how many saw through it (P).
//!
//! They are sums over frames of what each frame alone says, so any order, grouping and number of threads give the same
//! counters, maps can be added together, and a frame or a map can be taken out again. No counter can exceed the number of
//! frames, because a frame counts a place once, at one size: refusing the 2³²th frame keeps every sum exact.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::block::Block;
use super::cubes::{BlockKey, centre_of, cube_of, join, split};
use super::moments::Span;
use super::settings::BLOCK_M;
use super::sight::Sight;
use crate::error::{Error, Result};
use crate::keys::TILE_M;
use crate::maths::floor_i32;

/// Most frames that may be counted.
pub const MAX_FRAMES: u64 = u32::MAX as u64;

/// Counts of one cube.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Frames with a return in it (H).
    pub hits: u32,
    /// Frames that saw through it (P).
    pub passes: u32,
}

/// H and P of every cube of 0.25 m that a frame said anything of.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counters {
    pub(super) blocks: FxHashMap<BlockKey, Block>,
    frames: u64,
    pub(super) span: Span,
}

impl Counters {
    /// Number of frames counted.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Counts of the cube that holds a place in the world; zero where the place is not finite.
    pub fn at(&self, world: [f64; 3]) -> Tally {
        if world.iter().all(|v| v.is_finite()) { self.of(cube_of(world)) } else { Tally::default() }
    }

    /// Counts of a cube, by multiples of 0.25 m.
    pub fn of(&self, cube: [i32; 3]) -> Tally {
        let (key, place) = split(cube);
        let (hits, passes) = self.blocks.get(&key).map_or((0, 0), |block| block.get(place));
        Tally { hits, passes }
    }

    /// How many of these cubes have counts of a kind. Those that follow each other are near each other, so that their
    /// block is rarely looked up.
    pub(super) fn count(&self, cubes: &[[i32; 3]], wanted: impl Fn(Tally) -> bool) -> usize {
        let (mut known, mut block) = (None, None);
        let wanted = |cube: &&[i32; 3]| {
            let (key, place) = split(**cube);
            if known != Some(key) {
                (known, block) = (Some(key), self.blocks.get(&key));
            }
            block.is_some_and(|block: &Block| {
                let (hits, passes) = block.get(place);
                wanted(Tally { hits, passes })
            })
        };
        cubes.iter().filter(wanted).count()
    }

    /// Counts a frame.
    pub fn add(&mut self, sight: &Sight) -> Result<()> {
        self.frames = Self::sum_of(self.frames, 1)?;
        for seen in sight.seen() {
            let block = self.blocks.entry(seen.key).or_default();
            if let Some(passed) = seen.passed {
                block.add_passed(passed);
            }
            if let Some(hits) = seen.hits {
                block.add_hits(hits);
            }
            if let Some(second) = sight.second {
                block.moments.add(second, 1);
                self.span.add(second);
            }
        }
        Ok(())
    }

    /// Takes a frame out that was counted before. Fails, and changes nothing, if it surely was not.
    pub fn subtract(&mut self, sight: &Sight) -> Result<()> {
        let block = |key: &BlockKey| self.blocks.get(key);
        let there = self.frames > 0
            && sight.passed.iter().all(|(key, passed)| block(key).is_some_and(|b| b.covers_passed(passed)))
            && sight.hits.iter().all(|(key, hits)| block(key).is_some_and(|b| b.covers_hits(hits)))
            && sight.second.is_none_or(|second| {
                sight.keys().iter().all(|key| block(key).is_some_and(|b| b.moments.holds(second, 1)))
            });
        if !there {
            return Err(never_added("frame"));
        }
        self.span.forget();
        if let Some(second) = sight.second {
            for key in sight.keys() {
                self.change(key, |block| block.moments.take(second, 1));
            }
        }
        for (key, passed) in &sight.passed {
            self.change(*key, |block| block.take_passed(passed));
        }
        for (key, hits) in &sight.hits {
            self.change(*key, |block| block.take_hits(hits));
        }
        self.frames -= 1;
        Ok(())
    }

    /// Adds the counters of another map.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.combine(other, false)
    }

    /// Takes the counters of a map out that was merged before. Fails, and changes nothing, if it surely was not.
    pub fn remove(&mut self, other: &Self) -> Result<()> {
        self.combine(other, true)
    }

    /// Adds another's counters or takes them away. On an error nothing has changed.
    fn combine(&mut self, other: &Self, take: bool) -> Result<()> {
        let frames = if take {
            self.frames.checked_sub(other.frames).ok_or_else(|| never_added("map"))?
        } else {
            Self::sum_of(self.frames, other.frames)?
        };
        self.combine_blocks(other, take)?;
        self.frames = frames;
        Ok(())
    }

    /// The same for the blocks alone: frames are counted by who calls.
    pub(super) fn combine_blocks(&mut self, other: &Self, take: bool) -> Result<()> {
        let covers = |(key, block): (&BlockKey, &Block)| self.blocks.get(key).is_some_and(|own| own.covers(block));
        if take && !other.blocks.iter().all(covers) {
            return Err(never_added("map"));
        }
        self.span.forget();
        // Neither sums nor differences depend on the order.
        #[allow(clippy::iter_over_hash_type)]
        for (key, theirs) in &other.blocks {
            let mine = self.blocks.entry(*key).or_default();
            mine.combine(theirs, take);
            if mine.is_zero() {
                self.blocks.remove(key);
            }
        }
        Ok(())
    }

    /// Forgets the blocks that lie outside of a box as a whole.
    pub fn keep_inside(&mut self, low: [f64; 3], high: [f64; 3]) {
        self.span.forget();
        self.blocks.retain(|key, _| {
            let centre = centre_of(*key);
            (0..3).all(|i| centre[i] + 0.5 * BLOCK_M >= low[i] && centre[i] - 0.5 * BLOCK_M <= high[i])
        });
    }

    /// Takes the blocks of some columns of ground out, by their numbers in multiples of [`TILE_M`].
    /// The counters of a column have counted as many frames as their largest count says, so that they depend on nothing
    /// else.
    pub fn take_columns(&mut self, wanted: impl Fn([i32; 2]) -> bool) -> BTreeMap<[i32; 2], Self> {
        self.span.forget();
        let mut columns: BTreeMap<[i32; 2], Self> = BTreeMap::new();
        for (key, block) in self.blocks.extract_if(|key, _| wanted(column_of(*key))) {
            columns.entry(column_of(key)).or_default().blocks.insert(key, block);
        }
        columns.values_mut().for_each(|column| column.frames = column.most());
        columns
    }

    /// Copies of the blocks of some columns of ground; see [`Self::take_columns`].
    pub fn columns(&self, wanted: impl Fn([i32; 2]) -> bool) -> BTreeMap<[i32; 2], Self> {
        let mut columns: BTreeMap<[i32; 2], Self> = BTreeMap::new();
        // Every block goes to a place of its own.
        #[allow(clippy::iter_over_hash_type)]
        for (key, block) in self.blocks.iter().filter(|(key, _)| wanted(column_of(**key))) {
            columns.entry(column_of(*key)).or_default().blocks.insert(*key, block.clone());
        }
        columns.values_mut().for_each(|column| column.frames = column.most());
        columns
    }

    /// The counters of columns of ground together, with the number of frames that were counted.
    pub fn of_columns(columns: impl IntoIterator<Item = Self>, frames: u64) -> Result<Self> {
        let mut whole = Self::default();
        columns.into_iter().for_each(|column| whole.put_back(column));
        whole.frames = Self::sum_of(0, frames.max(whole.most()))?;
        Ok(whole)
    }

    /// Puts the blocks of a column back, whose frames are counted already.
    pub(crate) fn put_back(&mut self, other: Self) {
        self.span.forget();
        self.blocks.extend(other.blocks);
    }

    /// The largest count.
    pub(super) fn most(&self) -> u64 {
        self.blocks.values().map(Block::most).max().unwrap_or(0)
    }

    /// A copy of the blocks that meet a box or hold one of some places: all that a part of a map depends on. It has counted
    /// as many frames as its largest count says.
    pub fn part(&self, low: [f64; 3], high: [f64; 3], places: impl IntoIterator<Item = [f64; 3]>) -> Self {
        let first: [i32; 3] = std::array::from_fn(|i| floor_i32(low[i] / BLOCK_M));
        let last: [i32; 3] = std::array::from_fn(|i| floor_i32(high[i] / BLOCK_M));
        let count: f64 = (0..3).map(|i| (f64::from(last[i]) - f64::from(first[i]) + 1.0).max(0.0)).product();
        let mut keys: Vec<BlockKey> = places.into_iter().map(|place| split(cube_of(place)).0).collect();
        // Looking up blocks pays only where there are fewer of them than the map has.
        if count < self.blocks.len() as f64 {
            for x in first[0]..=last[0] {
                for y in first[1]..=last[1] {
                    keys.extend((first[2]..=last[2]).map(|z| [x, y, z]));
                }
            }
        } else {
            let inside = |key: &&BlockKey| (0..3).all(|i| (first[i]..=last[i]).contains(&key[i]));
            keys.extend(self.blocks.keys().filter(inside));
        }
        keys.sort_unstable();
        keys.dedup();
        let mut part = Self::default();
        part.blocks.extend(keys.into_iter().filter_map(|key| Some((key, self.blocks.get(&key)?.clone()))));
        part.frames = part.most();
        part
    }

    /// Every cube with a count, in ascending order of block, cubic metre and cube.
    pub fn cubes(&self) -> impl Iterator<Item = ([i32; 3], Tally)> {
        self.keys().into_iter().flat_map(move |key| {
            let places = (0..8).flat_map(|metre| (0..64).map(move |bit| (metre, bit)));
            places.map(move |(metre, bit)| join(key, metre, bit)).filter_map(move |cube| {
                let tally = self.of(cube);
                (tally != Tally::default()).then_some((cube, tally))
            })
        })
    }

    /// Blocks with a count, in ascending order.
    pub fn keys(&self) -> Vec<BlockKey> {
        let mut keys: Vec<BlockKey> = self.blocks.keys().copied().collect();
        keys.sort_unstable();
        keys
    }

    /// Memory held, bytes.
    pub fn byte_size(&self) -> usize {
        // Order is irrelevant to a sum.
        #[allow(clippy::iter_over_hash_type)]
        let beyond: usize = self.blocks.values().map(Block::bytes).sum();
        self.blocks.capacity() * (size_of::<(BlockKey, Block)>() + 1) + beyond
    }

    pub(super) fn set_frames(&mut self, frames: u64) {
        self.frames = frames;
    }

    fn change(&mut self, key: BlockKey, change: impl FnOnce(&mut Block)) {
        if let Some(block) = self.blocks.get_mut(&key) {
            change(block);
            if block.is_zero() {
                self.blocks.remove(&key);
            }
        }
    }

    /// Frames together, if they can be counted.
    pub(super) fn sum_of(frames: u64, more: u64) -> Result<u64> {
        frames.checked_add(more).filter(|frames| *frames <= MAX_FRAMES).ok_or_else(|| {
            Error::Unsupported(format!(
                "free space: no more than {MAX_FRAMES} frames can be counted exactly in one map"
            ))
        })
    }
}

/// The column of ground that a block is in.
pub(super) fn column_of([x, y, _]: BlockKey) -> [i32; 2] {
    let along = TILE_M / BLOCK_M as i32;
    [x.div_euclid(along), y.div_euclid(along)]
}

pub(super) fn never_added(what: &str) -> Error {
    Error::Unsupported(format!("free space: the {what} to be taken out was never added to these counters"))
}
