//! Counters after a rigid motion of what was seen: corrected poses, and maps moved into one world.
//!
//! The scans are not kept, so they cannot be looked at again; their counts are sampled anew. A cube takes the most hits
//! and the fewest passes of the cubes that it meets where it was. So a motion never calls free what was not seen through
//! as a whole, and never loses a surface: at the border of free space up to a cube becomes unknown, and nothing else
//! changes. Counts are always sampled from those that were counted, however often poses are corrected, and a motion by
//! whole cubes is exact. A block takes the times of the blocks that it meets where it was.

use rayon::prelude::*;

use super::block::{Block, Fine};
use super::cells::Cells;
use super::counters::{Counters, Tally};
use super::cubes::{BlockKey, centre_of, in_block, join};
use super::moments::Moments;
use super::settings::{BLOCK_M, CUBE_M};
use crate::error::{Error, Result};
use crate::maths::floor_i32;
use crate::pose::{Pose, WORLD_LIMIT_M};

/// How much of a cube another must cover to count, metres: more than rounding makes of a common face.
const COVER_M: f64 = 1e-6;

impl Counters {
    /// The counters after a rigid motion. Fails if it leaves the world.
    pub fn moved(&self, motion: &Pose) -> Result<Self> {
        if *motion == Pose::IDENTITY || self.rests(motion) {
            return Ok(self.clone());
        }
        let mut targets: Vec<BlockKey> = Vec::new();
        for key in self.keys() {
            let centre = motion.apply(centre_of(key));
            if centre.iter().any(|v| v.abs() > WORLD_LIMIT_M - BLOCK_M) {
                return Err(Error::Pose(format!("it takes free space to {centre:?}, outside ±{WORLD_LIMIT_M} m")));
            }
            let half = reach(motion, BLOCK_M);
            let low: [i32; 3] = std::array::from_fn(|i| floor_i32((centre[i] - half[i]) / BLOCK_M));
            let high: [i32; 3] = std::array::from_fn(|i| floor_i32((centre[i] + half[i]) / BLOCK_M));
            for x in low[0]..=high[0] {
                for y in low[1]..=high[1] {
                    targets.extend((low[2]..=high[2]).map(|z| [x, y, z]));
                }
            }
        }
        targets.par_sort_unstable();
        targets.dedup();
        let back = motion.inverse();
        let made: Vec<(BlockKey, Block)> =
            targets.par_iter().map(|key| (*key, self.sampled(*key, &back))).filter(|(_, b)| !b.is_zero()).collect();
        let mut moved = Self::default();
        moved.blocks.extend(made);
        moved.set_frames(self.frames());
        Ok(moved)
    }

    /// Whether a motion is nothing but rounding, as of a pose that was written down and read again: every cube would be
    /// sampled from itself alone, but a block does not tell any more which of its frames saw through all of it.
    fn rests(&self, motion: &Pose) -> bool {
        let turns = |i: usize, j: usize| (motion.rotation()[i][j] - f64::from(u8::from(i == j))).abs();
        // The corners of a block turn with it.
        let corner = BLOCK_M * (0..9).map(|k| turns(k / 3, k % 3)).sum::<f64>();
        self.blocks.keys().all(|key| {
            let (from, to) = (centre_of(*key), motion.apply(centre_of(*key)));
            (0..3).all(|i| (to[i] - from[i]).abs() + corner < 0.5 * COVER_M)
        })
    }

    /// The counts of a block, sampled where it was.
    fn sampled(&self, key: BlockKey, back: &Pose) -> Block {
        let half = reach(back, CUBE_M).map(|v| v - COVER_M);
        let mut tallies = [[Tally::default(); 64]; 8];
        for (metre, tallies) in tallies.iter_mut().enumerate() {
            for (bit, tally) in tallies.iter_mut().enumerate() {
                let centre = back.apply(join(key, metre, bit).map(|v| (f64::from(v) + 0.5) * CUBE_M));
                let low: [i32; 3] = std::array::from_fn(|i| floor_i32((centre[i] - half[i]) / CUBE_M));
                let high: [i32; 3] = std::array::from_fn(|i| floor_i32((centre[i] + half[i]) / CUBE_M));
                let mut found = Tally { hits: 0, passes: u32::MAX };
                for x in low[0]..=high[0] {
                    for y in low[1]..=high[1] {
                        for z in low[2]..=high[2] {
                            let there = self.of([x, y, z]);
                            found.hits = found.hits.max(there.hits);
                            found.passes = found.passes.min(there.passes);
                        }
                    }
                }
                *tally = found;
            }
        }
        let mut block = Block::of_tallies(&tallies);
        if !block.is_zero() {
            block.moments = self.moments_met(key, back);
        }
        block
    }

    /// When the blocks were seen that a block meets where it was: at every second the most of their frames.
    fn moments_met(&self, key: BlockKey, back: &Pose) -> Moments {
        let (centre, half) = (back.apply(centre_of(key)), reach(back, BLOCK_M).map(|v| v - COVER_M));
        let low: [i32; 3] = std::array::from_fn(|i| floor_i32((centre[i] - half[i]) / BLOCK_M));
        let high: [i32; 3] = std::array::from_fn(|i| floor_i32((centre[i] + half[i]) / BLOCK_M));
        let mut moments = Moments::default();
        for x in low[0]..=high[0] {
            for y in low[1]..=high[1] {
                for z in low[2]..=high[2] {
                    if let Some(block) = self.blocks.get(&[x, y, z]) {
                        moments.join(&block.moments);
                    }
                }
            }
        }
        moments
    }
}

/// Half sides of the box around a turned cube.
fn reach(motion: &Pose, side: f64) -> [f64; 3] {
    motion.rotation().map(|row| 0.5 * side * row.iter().map(|v| v.abs()).sum::<f64>())
}

impl Block {
    /// The block of these counts, as much as possible of them for the block as a whole.
    fn of_tallies(tallies: &[[Tally; 64]; 8]) -> Self {
        let mut passes = tallies.map(|metre| metre.map(|tally| tally.passes));
        let least = |passes: &[[u32; 64]; 8], metres: std::ops::Range<usize>| {
            metres.flat_map(|metre| passes[metre]).min().unwrap_or(0)
        };
        let mut block = Self { whole: least(&passes, 0..8), ..Self::default() };
        passes.as_flattened_mut().iter_mut().for_each(|count| *count -= block.whole);
        let mut halves = [u32::MAX; 64];
        for metre in 0..8 {
            block.metres[metre] = least(&passes, metre..metre + 1);
            for bit in 0..64 {
                passes[metre][bit] -= block.metres[metre];
                let half = in_block(metre, bit).half;
                halves[half] = halves[half].min(passes[metre][bit]);
            }
        }
        for (metre, passes) in passes.iter_mut().enumerate() {
            passes.iter_mut().enumerate().for_each(|(bit, count)| *count -= halves[in_block(metre, bit).half]);
        }
        block.halves = Cells::of(&halves);
        let fine = Fine {
            passes: passes.each_ref().map(Cells::of),
            hits: std::array::from_fn(|metre| Cells::of(&tallies[metre].map(|tally| tally.hits))),
        };
        block.fine = (fine != Fine::default()).then(|| Box::new(fine));
        block
    }
}
