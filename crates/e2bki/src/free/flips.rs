//! Where counting changes what views show: cubic metres in which a cube becomes free, or is free no more, for the hits of
//! some class. Everything else that counts do is seen only by who asks for them.

use rayon::prelude::*;

use super::block::Block;
use super::counters::Counters;
use super::cubes::{BlockKey, Passed, half_of, quarter_of};
use super::sight::{SeenBlock, Sight};

/// Blocks per parallel task.
const CHUNK: usize = 128;

/// A cubic metre: its low corner, whole metres.
pub(crate) type Metre = [i32; 3];

/// The weights of hits that are in use, each once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weights(Vec<f32>);

impl Weights {
    pub(crate) fn new(of_classes: &[f32]) -> Self {
        let mut all = of_classes.to_vec();
        all.sort_by(f32::total_cmp);
        all.dedup();
        Self(all)
    }

    /// Bit k: free for hits of the k-th weight. The last bit: hit, and free for some; what is below goes with it.
    #[inline(always)]
    fn free(&self, hits: u32, passes: u32) -> u64 {
        if passes == 0 {
            return 0;
        }
        let mut bits = 0;
        for (k, weight) in self.0.iter().take(63).enumerate() {
            bits |= u64::from(f64::from(passes) >= f64::from(*weight) * f64::from(hits)) << k;
        }
        bits | u64::from(hits > 0 && bits != 0) << 63
    }
}

/// Cubes of a cubic metre that a frame saw through, at any size.
fn passed_in(passed: &Passed, metre: usize) -> u64 {
    if passed.whole || passed.metres >> metre & 1 == 1 {
        return u64::MAX;
    }
    let mut cubes = passed.quarters[metre];
    for child in 0..8 {
        let half = half_of(metre, child);
        if passed.halves >> half & 1 == 1 {
            cubes |= (0..8).fold(0, |bits, part| bits | 1 << quarter_of(half, part).1);
        }
    }
    cubes
}

/// Whether counting a frame changes what is free in a cubic metre of a block.
fn changes(block: &Block, metre: usize, passed: u64, hit: u64, weights: &Weights) -> bool {
    if passed | hit == 0 {
        return false;
    }
    let mut changed = passed | hit;
    // Where nothing was ever hit, nothing changes once it was seen through.
    if block.whole + block.metres[metre] > 0 {
        changed &= hit | block.fine.as_ref().map_or(0, |fine| fine.hits[metre].mask());
    }
    while changed != 0 {
        let bit = changed.trailing_zeros() as usize;
        changed &= changed - 1;
        let (hits, passes) = block.get(super::cubes::in_block(metre, bit));
        let (more_hits, more_passes) = ((hit >> bit & 1) as u32, (passed >> bit & 1) as u32);
        if weights.free(hits, passes)
            != weights.free(hits.saturating_add(more_hits), passes.saturating_add(more_passes))
        {
            return true;
        }
    }
    false
}

/// Low corner of a cubic metre of a block.
fn corner(key: BlockKey, metre: usize) -> Metre {
    let within = [metre >> 2, metre >> 1 & 1, metre & 1];
    std::array::from_fn(|axis| key[axis] * 2 + within[axis] as i32)
}

impl Counters {
    /// Where counting a frame will change what is free.
    pub(crate) fn flips_of(&self, sight: &Sight, weights: &Weights) -> Vec<Metre> {
        let none = Block::default();
        let metres = |SeenBlock { key, passed, hits }| {
            let block = self.blocks.get(&key).unwrap_or(&none);
            let flips = (0..8).filter(move |metre| {
                let passed = passed.map_or(0, |passed| passed_in(passed, *metre));
                changes(block, *metre, passed, hits.map_or(0, |hits| hits[*metre]), weights)
            });
            flips.map(move |metre| corner(key, metre))
        };
        let seen: Vec<SeenBlock<'_>> = sight.seen().collect();
        seen.par_chunks(CHUNK).flat_map_iter(|seen| seen.iter().copied().flat_map(metres)).collect()
    }
}

/// Where two states of a block differ in what is free.
pub(super) fn between(key: BlockKey, before: &Block, after: &Block, weights: &Weights) -> Vec<Metre> {
    let differs = |metre: &usize| {
        (0..64).any(|bit| {
            let place = super::cubes::in_block(*metre, bit);
            let ((h, p), (hits, passes)) = (before.get(place), after.get(place));
            weights.free(h, p) != weights.free(hits, passes)
        })
    };
    (0..8).filter(differs).map(|metre| corner(key, metre)).collect()
}
