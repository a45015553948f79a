//! The order of primitives that does not depend on how the map came to be.
//!
//! In a map that is a sum there is at most one primitive for every cube and class, and adding points to it changes
//! neither. So cube and class give an order of summation and of rows that any run over the same frames finds again.

use super::slots::Core;
use crate::cluster::cell_of;
use crate::keys::BlockKey;
use crate::maths::argmax;
use crate::state::PrimitiveState;

/// Where a primitive stands among all of a map: its block along a curve, the block, its cube and class. Of a map that
/// is not a sum it is the age alone.
pub type Rank = (u64, [i32; 3], u64);

/// A cube and a class as a number. Cubes repeat after 65,536: farther than any two kernels that meet.
pub(crate) fn order_of(cell: [i32; 3], label: u16) -> u64 {
    let [x, y, z] = cell.map(|v| u64::from(v as u16));
    x << 48 | y << 32 | z << 16 | u64::from(label)
}

impl Core {
    /// The order in a map of such cubes.
    pub(crate) fn order_in(&self, side: f64) -> u64 {
        order_of(cell_of(self.mean, side), self.label)
    }
}

impl PrimitiveState {
    /// Where the primitive stands among those of a map that is a sum with cubes of this side (metres): the order of rows
    /// in map files, whatever the order in which frames came.
    pub fn rank(&self, side: f64) -> Rank {
        let order = order_of(cell_of(self.sums.mean(), side), argmax(&self.log_evidence) as u16);
        (BlockKey(self.sums.origin).along_curve(), self.sums.origin, order)
    }
}
