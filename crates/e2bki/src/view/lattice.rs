//! Regular grids in blocks of 16×16×16 voxels (16×16 cells in a bird's-eye view): numbers and centres of voxels, and sets
//! of them.

use crate::changes::Changes;
use crate::keys::{VoxelBlock, VoxelKey};
use crate::maths::floor_i32;

/// Voxels along the side of a block. Most primitives reach over five voxels: fewer blocks share one than with smaller
/// blocks, and the sums of larger ones would not fit a core's own cache.
pub(crate) const SIDE: i32 = 16;
/// The side as a power of two.
pub(super) const SHIFT: i32 = 4;
/// Rows of a block.
pub(super) const ROWS: usize = 256;

/// One bit per voxel, a word per row of constant y and z.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mask(pub(crate) [u16; ROWS]);

impl Default for Mask {
    fn default() -> Self {
        Self([0; ROWS])
    }
}

/// All voxels of a block.
pub(super) static ALL: Mask = Mask([u16::MAX; ROWS]);

impl Mask {
    /// Voxel numbers of the set bits, ascending.
    pub(crate) fn voxels(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().filter(|(_, row)| **row != 0).flat_map(|(number, row)| {
            let first = number << SHIFT;
            (0..16).filter(move |bit| row >> bit & 1 == 1).map(move |bit| first + bit)
        })
    }

    /// Where each row's places begin, when only rows with set bits have places of their own and the others share the
    /// last ones, and how many places there are.
    pub(super) fn first_places(&self) -> ([u16; ROWS], usize) {
        let shared = self.0.iter().filter(|row| **row != 0).count() * SIDE as usize;
        let (mut first, mut places) = ([shared as u16; ROWS], 0);
        for (first, _) in first.iter_mut().zip(self.0).filter(|(_, row)| *row != 0) {
            *first = places;
            places += SIDE as u16;
        }
        (first, shared + SIDE as usize)
    }

    /// Which rows have set bits: a bit for every y, by z.
    pub(super) fn rows(&self) -> [u16; SIDE as usize] {
        let mut rows = [0; SIDE as usize];
        for (rows, of_layer) in rows.iter_mut().zip(self.0.as_chunks::<{ SIDE as usize }>().0) {
            *rows = of_layer.iter().zip(0..).fold(0, |bits, (row, y)| bits | u16::from(*row != 0) << y);
        }
        rows
    }

    /// Set bits as (voxel number, place), ascending.
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let (first, _) = self.first_places();
        self.voxels().map(move |voxel| (voxel, usize::from(first[voxel >> SHIFT]) + (voxel & 15)))
    }

    /// Sets the bits of another.
    pub(super) fn join(&mut self, other: &Self) {
        for (row, more) in self.0.iter_mut().zip(&other.0) {
            *row |= more;
        }
    }

    /// Number of set bits.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|row| row.count_ones() as usize).sum()
    }
}

/// Bits of a row from a first voxel to before another.
#[inline(always)]
pub(super) fn run_bits(first: i32, end: i32) -> u16 {
    (0xffff_u32 >> (16 - (end - first)) << first) as u16
}

/// A grid of voxels, or of cells in the plane z = 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lattice {
    pub(crate) resolution: f64,
    pub(crate) planar: bool,
}

impl Lattice {
    /// Centre of voxel `i` along an axis, metres.
    pub(super) fn center(&self, i: i32, axis: usize) -> f64 {
        if self.planar && axis == 2 { 0.0 } else { (f64::from(i) + 0.5) * self.resolution }
    }

    /// Blocks that meet the cubic metres in which views can differ after changes, in ascending order.
    pub(crate) fn blocks_of(&self, changes: &Changes) -> Vec<VoxelBlock> {
        let side = self.resolution * f64::from(SIDE);
        let block = |metres: f64| floor_i32(metres / side);
        // Neighbours mostly concern the same blocks.
        let mut areas: Vec<([i32; 3], [i32; 3])> = (changes.blocks.iter().filter_map(|change| change.views))
            .map(|(low, high)| {
                (low.map(|v| block(f64::from(v))), high.map(|v| block((f64::from(v) + 1.0).next_down())))
            })
            .collect();
        areas.sort_unstable();
        areas.dedup();
        let mut keys: Vec<VoxelBlock> = Vec::new();
        for (low, high) in areas {
            for x in low[0]..=high[0] {
                for y in low[1]..=high[1] {
                    keys.extend((low[2]..=high[2]).map(|z| VoxelBlock([x, y, z])));
                }
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Number along each axis of a voxel of a block.
    pub(crate) fn voxel_of(block: VoxelBlock, voxel: usize) -> VoxelKey {
        let local = [voxel & 15, voxel >> 4 & 15, voxel >> 8];
        VoxelKey(std::array::from_fn(|axis| block.0[axis] * SIDE + local[axis] as i32))
    }

    /// Centre of a voxel of a block, metres.
    pub(crate) fn center_of(&self, block: VoxelBlock, voxel: usize) -> [f64; 3] {
        let number = Self::voxel_of(block, voxel).0;
        std::array::from_fn(|axis| self.center(number[axis], axis))
    }

    /// First and last voxel whose centre may lie between two coordinates.
    pub(super) fn span(&self, low: f64, high: f64, axis: usize) -> (i32, i32) {
        if self.planar && axis == 2 {
            return (0, 0);
        }
        (floor_i32(low / self.resolution - 0.5), floor_i32(high / self.resolution - 0.5) + 1)
    }

    /// The part of a span inside a block, as local indices.
    pub(super) fn clip(&self, low: f64, high: f64, block: VoxelBlock, axis: usize) -> std::ops::Range<i32> {
        let (first, last) = self.span(low, high, axis);
        let corner = block.0[axis] * SIDE;
        (first - corner).max(0)..(last - corner + 1).min(if self.planar && axis == 2 { 1 } else { SIDE })
    }
}
