//! Where a point is on the voxel grid, exactly as far from the origin as near it.

use e2bki::maths::floor_i32;

/// Voxels per side of a block, as a power of two.
const SIDE_BITS: i32 = 3;

/// Voxels per side of a block.
pub(crate) const SIDE: i32 = 1 << SIDE_BITS;

/// Voxels of a block.
pub(crate) const VOLUME: usize = 512;

/// Largest voxel index: sums of a few indices stay far within i32.
const MOST_INDEX: f64 = 1_073_741_824.0;

/// A block of 8×8×8 voxels, by its index.
pub(crate) type BlockKey = [i32; 3];

/// Cubic voxels: voxel i spans [i, i+1) times the resolution. A planar lattice has one layer, voxels of height 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lattice {
    pub(crate) resolution: f64,
    pub(crate) planar: bool,
    /// Added to every index before it is stored, so that blocks begin where a rule wants them to.
    pub(crate) shift: i32,
}

/// A point: its voxel, and its offset from the voxel's centre in voxels, −½ to ½.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    pub(crate) voxel: [i32; 3],
    pub(crate) offset: [f32; 3],
}

impl Lattice {
    /// The place of a world position; nothing if it is not finite or too far out.
    pub(crate) fn place(&self, position: [f64; 3]) -> Option<Place> {
        let mut place = Place { voxel: [0; 3], offset: [0.0; 3] };
        for axis in 0..self.axes() {
            let scaled = position[axis] / self.resolution;
            // NaN is in no range.
            if !(-MOST_INDEX..MOST_INDEX).contains(&scaled) {
                return None;
            }
            let index = floor_i32(scaled);
            place.voxel[axis] = index + self.shift;
            place.offset[axis] = (scaled - f64::from(index) - 0.5) as f32;
        }
        Some(place)
    }

    pub(crate) fn axes(&self) -> usize {
        if self.planar { 2 } else { 3 }
    }

    /// Centre of a voxel of a block, metres.
    pub(crate) fn center(&self, block: BlockKey, voxel: usize) -> [f64; 3] {
        let local = [voxel & 7, voxel >> 3 & 7, voxel >> 6];
        std::array::from_fn(|axis| {
            (f64::from(block[axis] * SIDE + local[axis] as i32 - self.shift) + 0.5) * self.resolution
        })
    }
}

impl Place {
    /// The same place with its height dropped.
    pub(crate) fn flat(mut self) -> Self {
        (self.voxel[2], self.offset[2]) = (0, 0.0);
        self
    }

    pub(crate) fn block(&self) -> BlockKey {
        self.voxel.map(|v| v >> SIDE_BITS)
    }

    /// Number of its voxel within the block.
    pub(crate) fn local(&self) -> usize {
        let [x, y, z] = self.voxel.map(|v| (v & (SIDE - 1)) as usize);
        x + 8 * y + 64 * z
    }
}

/// Calls for every block that holds a voxel from `low` to `high`.
pub(crate) fn blocks_between(low: [i32; 3], high: [i32; 3], mut each: impl FnMut(BlockKey)) {
    let (low, high) = (low.map(|v| v >> SIDE_BITS), high.map(|v| v >> SIDE_BITS));
    for z in low[2]..=high[2] {
        for y in low[1]..=high[1] {
            for x in low[0]..=high[0] {
                each([x, y, z]);
            }
        }
    }
}

/// A block (or cell) and the number of something in it, ordered by block, then number.
pub(crate) fn pack(key: BlockKey, number: u32) -> u128 {
    let [x, y, z] = key.map(|v| u128::from(v as u32 ^ 0x8000_0000));
    z << 96 | y << 64 | x << 32 | u128::from(number)
}

/// The block and the number.
pub(crate) fn unpack(packed: u128) -> (BlockKey, u32) {
    let axis = |bits: u32| ((packed >> bits) as u32 ^ 0x8000_0000) as i32;
    ([axis(32), axis(64), axis(96)], packed as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_blocks_and_centres_agree_with_the_floor_grid() {
        for (planar, shift) in [(false, 0), (false, 1), (true, 0)] {
            let lattice = Lattice { resolution: 0.2, planar, shift };
            for position in [[0.0, -0.05, 1.7], [-3.21, 1e6 + 0.1, 0.3], [-1.6, 1.6, -0.2]] {
                let place = lattice.place(position).unwrap();
                let center = lattice.center(place.block(), place.local());
                for axis in 0..lattice.axes() {
                    assert!((center[axis] - position[axis]).abs() < 0.1 + 1e-9, "{position:?} {center:?}");
                    let back = center[axis] + f64::from(place.offset[axis]) * 0.2;
                    assert!((back - position[axis]).abs() < 1e-7, "{position:?} {back}");
                }
                let packed = pack(place.block(), 7);
                assert_eq!(unpack(packed), (place.block(), 7));
            }
            assert!(lattice.place([f64::NAN, 0.0, 0.0]).is_none());
            assert!(lattice.place([0.0, f64::NEG_INFINITY, 0.0]).is_none());
            assert!(lattice.place([1e12, 0.0, 0.0]).is_none());
        }
        assert!(pack([-1, 0, 0], 9) < pack([0, 0, 0], 0) && pack([5, -1, 0], 0) < pack([-5, 0, 0], 0));
    }
}
