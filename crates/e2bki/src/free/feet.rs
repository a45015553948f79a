//! Feet and wheels. No beam passes the cubes that the ground runs through, nor those right above it, so that the lowest
//! half metre of what moved would stay for ever. It is read from what was above it: something that can move, in the same
//! cube as something that stays or in the one above that, goes with the cube over it if that was hit and is free for sure:
//! by the weight of what stays, since with poses that err the tops of parked cars are passed now and then.
//!
//! A way of reading like the rest: nothing is stored, and what comes back is there again.

use super::cubes::cube_of;
use super::settings::CUBE_M;
use super::space::{Existence, Known};
use super::state::State;
use crate::keys::BlockKey;
use crate::map::PrimitiveSet;
use crate::maths::floor_i32;

impl Existence<'_> {
    /// Whether a primitive is there no more.
    pub(crate) fn is_gone_in(&self, set: &PrimitiveSet, mean: [f64; 3], class: usize) -> bool {
        self.is_gone(mean, class) || self.is_movable(class) && self.left_above(mean) && self.stands(set, mean)
    }

    /// What is known of a primitive, by the cube that decides whether it is gone: its own, or the one above.
    pub(crate) fn of_primitive(&self, mean: [f64; 3], class: usize, gone: bool) -> Known {
        let own = self.in_cube(mean, class);
        if gone && own.state() != State::Free { self.above(mean) } else { own }
    }

    /// What is known of the cube above, for something that stays.
    fn above(&self, mean: [f64; 3]) -> Known {
        let [x, y, z] = cube_of(mean);
        self.of_cube([x, y, z + 1])
    }

    /// Whether something was in the cube above, and is there no more.
    fn left_above(&self, mean: [f64; 3]) -> bool {
        let above = self.above(mean);
        above.tally.has_left(f64::from(above.kappa))
    }

    /// Whether something that stays, and is there, has its mean in the same cube or in the one below.
    fn stands(&self, set: &PrimitiveSet, [x, y, z]: [f64; 3]) -> bool {
        self.holds_static(set, [x, y, z]) || self.holds_static(set, [x, y, z - CUBE_M])
    }

    fn holds_static(&self, set: &PrimitiveSet, place: [f64; 3]) -> bool {
        let cube = cube_of(place);
        let block = set.blocks().get(BlockKey(place.map(floor_i32)));
        block.is_some_and(|block| {
            block.near.iter().filter(|near| !self.is_movable(usize::from(near.label))).any(|near| {
                let core = set.core(near.slot);
                let class = usize::from(core.label);
                cube_of(core.mean) == cube && !self.is_movable(class) && !self.is_gone(core.mean, class)
            })
        })
    }

    /// Whether a cubic metre may hold something that can move.
    pub(crate) fn holds_movable(&self, set: &PrimitiveSet, metre: BlockKey) -> bool {
        set.blocks().get(metre).is_some_and(|block| block.labels & self.movable_labels() != 0)
    }
}
