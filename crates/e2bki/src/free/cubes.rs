//! How places are named: blocks of 2 m in the world, and the cubes of 1, 0.5 and 0.25 m in them, as bits.

use super::settings::{BLOCK_M, CUBE_M};
use crate::maths::floor_i32;
use crate::primitive::snapped;

/// Corner of a block in multiples of 2 m.
pub type BlockKey = [i32; 3];

/// Cubes of 0.25 m along a side of a block.
pub(super) const ALONG: i32 = 8;

/// A cube of 0.25 m: multiples of its side.
pub fn cube_of(world: [f64; 3]) -> [i32; 3] {
    snapped(world).map(|v| floor_i32(v / CUBE_M))
}

/// A cube in its block: the number of the cubic metre, and of the cube in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InBlock {
    pub(super) metre: usize,
    pub(super) bit: usize,
    /// Number of the cube of 0.5 m in the block.
    pub(super) half: usize,
}

/// The block of a cube, and where in it the cube is.
#[inline(always)]
pub(super) fn split(cube: [i32; 3]) -> (BlockKey, InBlock) {
    let [i, j, k] = cube.map(|v| v.rem_euclid(ALONG) as usize);
    let place = InBlock {
        metre: (i >> 2) * 4 + (j >> 2) * 2 + (k >> 2),
        bit: (i & 3) * 16 + (j & 3) * 4 + (k & 3),
        half: (i >> 1) * 16 + (j >> 1) * 4 + (k >> 1),
    };
    (cube.map(|v| v.div_euclid(ALONG)), place)
}

/// A cube in its block by the cubic metre that it is in and its number there.
#[inline(always)]
pub(super) fn in_block(metre: usize, bit: usize) -> InBlock {
    let at = |shift: usize| (metre >> shift & 1) * 2 + (bit >> (2 * shift) >> 1 & 1);
    InBlock { metre, bit, half: at(2) * 16 + at(1) * 4 + at(0) }
}

/// The cube of a place in a block.
pub(super) fn join(key: BlockKey, metre: usize, bit: usize) -> [i32; 3] {
    let local = [metre >> 2, metre >> 1 & 1, metre & 1];
    let fine = [bit >> 4, bit >> 2 & 3, bit & 3];
    std::array::from_fn(|axis| key[axis] * ALONG + (local[axis] * 4 + fine[axis]) as i32)
}

/// Centre of a block in the world, metres.
pub(super) fn centre_of(key: BlockKey) -> [f64; 3] {
    key.map(|v| (f64::from(v) + 0.5) * BLOCK_M)
}

/// What one frame saw through in a block: a bit per cube of each size, each place at one size only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Passed {
    pub(super) whole: bool,
    pub(super) metres: u8,
    pub(super) halves: u64,
    /// Cubes of 0.25 m, by cubic metre.
    pub(super) quarters: [u64; 8],
}

impl Passed {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a cube was passed, at any size.
    #[cfg(test)]
    pub(super) fn holds(&self, place: InBlock) -> bool {
        self.whole
            || self.metres >> place.metre & 1 == 1
            || self.halves >> place.half & 1 == 1
            || self.quarters[place.metre] >> place.bit & 1 == 1
    }
}

/// Number of the `child`-th (0 to 7) cube of 0.5 m in a cubic metre.
#[inline(always)]
pub(super) fn half_of(metre: usize, child: usize) -> usize {
    let at = |shift: usize| (metre >> shift & 1) * 2 + (child >> shift & 1);
    at(2) * 16 + at(1) * 4 + at(0)
}

/// Cubic metre and bit of the `child`-th cube of 0.25 m in a cube of 0.5 m.
#[inline(always)]
pub(super) fn quarter_of(half: usize, child: usize) -> (usize, usize) {
    let at = |shift: usize| (half >> (2 * shift) & 3) * 2 + (child >> shift & 1);
    let [i, j, k] = [at(2), at(1), at(0)];
    ((i >> 2) * 4 + (j >> 2) * 2 + (k >> 2), (i & 3) * 16 + (j & 3) * 4 + (k & 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cube_has_one_name_and_its_parents_hold_it() {
        for i in -9..9 {
            for j in -9..9 {
                for k in -9..9 {
                    let cube = [i, j, k];
                    let (key, place) = split(cube);
                    assert_eq!(join(key, place.metre, place.bit), cube);
                    assert_eq!(key, cube.map(|v| (f64::from(v) * CUBE_M / BLOCK_M).floor() as i32));
                }
            }
        }
        let mut named = std::collections::BTreeSet::new();
        for metre in 0..8 {
            for child in 0..8 {
                let half = half_of(metre, child);
                for child in 0..8 {
                    let (in_metre, bit) = quarter_of(half, child);
                    assert_eq!(in_metre, metre);
                    let (_, place) = split(join([0; 3], in_metre, bit));
                    assert_eq!(place, InBlock { metre, bit, half });
                    assert_eq!(in_block(metre, bit), place);
                    named.insert((in_metre, bit));
                }
            }
        }
        assert_eq!(named.len(), 512);
    }
}
