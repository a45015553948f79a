//! Primitives as grids of the ground read them: cubic metre by cubic metre, without copies of what was derived.

use crate::keys::BlockKey;
use crate::mapper::Mapper;
use crate::primitive::Sums;

/// What a primitive holds of geometry, and its opinion.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The additive geometry.
    pub sums: Sums,
    /// Mean, metres.
    pub mean: [f64; 3],
    /// Probability of every class.
    pub probability: &'a [f32],
}

impl Mapper {
    /// Cubic metres that hold primitives, ascending.
    pub fn occupied_blocks(&self) -> Vec<[i32; 3]> {
        let mut blocks: Vec<[i32; 3]> = self.seen().set.blocks().keys().map(|key| key.0).collect();
        blocks.sort_unstable();
        blocks
    }

    /// Calls for every primitive of a cubic metre that is not [gone](crate::Primitive::is_gone), in the order of
    /// [`Self::primitives`].
    pub fn pieces_of(&self, block: [i32; 3], mut each: impl FnMut(&Piece<'_>)) {
        let set = &self.seen().set;
        let Some(block) = set.blocks().get(BlockKey(block)) else { return };
        let there = block.near.iter().map(|near| near.slot).filter(|slot| !set.head(*slot).gone());
        // All memory is asked for before any of it is worked on: primitives lie far apart.
        let order = |slot: u32| {
            set.prefetch(slot);
            (set.seen(slot).order, slot)
        };
        let mut slots: Vec<(u64, u32)> = there.map(order).collect();
        slots.sort_unstable();
        for (_, slot) in slots {
            let (sums, mean) = (set.sums(slot), set.seen(slot).mean);
            each(&Piece { sums, mean, probability: set.probability(slot) });
        }
    }
}
