//! Places on the grids that the engine uses, each with a type of its own so that they cannot be mixed up.

use std::hash::{Hash, Hasher};

/// Side of a tile, metres: a square of the ground with everything above and below it, in which maps are kept on disk, sent
/// to viewers and shared between machines.
pub const TILE_M: i32 = 32;

macro_rules! key {
    ($(#[$words:meta])* $name:ident) => {
        $(#[$words])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) struct $name(pub(crate) [i32; 3]);

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                let [x, y, z] = self.0.map(|v| u64::from(v as u32));
                state.write_u64(x | y << 32);
                state.write_u64(z);
            }
        }
    };
}

key! {
    /// A cubic metre, by its corner in whole metres: a block of primitives.
    BlockKey
}
key! {
    /// A cube of blocks, of which the pools of surfaces are kept together.
    ChunkKey
}
key! {
    /// A cell of one of the grids for kernels that reach farther than a block.
    CoarseCell
}
key! {
    /// A cube of voxels.
    VoxelBlock
}
key! {
    /// A voxel, by its number along each axis.
    VoxelKey
}

impl BlockKey {
    /// See [`along_curve`].
    pub(crate) fn along_curve(self) -> u64 {
        along_curve(self.0)
    }
}

impl VoxelBlock {
    /// See [`along_curve`].
    pub(crate) fn along_curve(self) -> u64 {
        along_curve(self.0)
    }
}

/// Position along a Z-curve: what is near on it is near in the world. Repeats every two million cells.
fn along_curve(cell: [i32; 3]) -> u64 {
    let [x, y, z] = cell.map(|v| three_apart((v as u64).wrapping_add(1 << 20) & 0x1f_ffff));
    x | y << 1 | z << 2
}

/// Moves the lowest 21 bits three apart, as a Z-curve through space has them.
#[inline(always)]
pub(crate) fn three_apart(mut v: u64) -> u64 {
    for (shift, mask) in [
        (32, 0x001f_0000_0000_ffff),
        (16, 0x001f_0000_ff00_00ff),
        (8, 0x100f_00f0_0f00_f00f),
        (4, 0x10c3_0c30_c30c_30c3),
        (2, 0x1249_2492_4924_9249),
    ] {
        v = (v | v << shift) & mask;
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_three_apart() {
        for v in [0, 1, 0b1011, 0x1f_ffff, 0x15_5555] {
            let expected: u64 = (0..21).filter(|bit| v >> bit & 1 == 1).map(|bit| 1 << (3 * bit)).sum();
            assert_eq!(three_apart(v), expected);
        }
    }
}
