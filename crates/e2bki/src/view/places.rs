//! Places near one another at which a posterior is wanted: voxels of a block, or points anywhere.

use super::hits::Hits;
use super::lattice::{ALL, Lattice, Mask, ROWS, SHIFT};
use super::runs::{BlockRows, ROW, Runs};
use crate::config::Distance;
use crate::keys::VoxelBlock;
use crate::map::Seen;

/// Places that an evaluation goes through together.
pub(crate) trait Places {
    /// Two corners of a box around all places, metres.
    fn bounds(&self) -> ([f64; 3], [f64; 3]);

    /// How many rows of sums the places need.
    fn rows(&self) -> usize;

    /// Gathers at least the places that a primitive's kernel reaches.
    fn within(&mut self, seen: &Seen, hits: &mut Hits);

    /// The row of sums of a place, by the number that `within` gave it.
    fn row_of(&self, number: u16) -> usize;
}

/// The masked voxels of a block; their rows of sums are those of [`Mask::places`].
pub(crate) struct BlockVoxels<'a> {
    mask: &'a Mask,
    /// First row of sums of every row of voxels.
    first: [u16; ROWS],
    count: usize,
    block: BlockRows,
    runs: Runs,
}

impl<'a> BlockVoxels<'a> {
    pub(crate) fn new(lattice: &Lattice, block: VoxelBlock, mask: &'a Mask, distance: Distance) -> Self {
        let (first, count) = mask.first_places();
        Self { mask, first, count, block: BlockRows::new(lattice, block, distance), runs: Runs::default() }
    }

    /// Goes through all voxels of the block. Only rows with masked voxels have sums of their own: the others share some
    /// that nobody reads.
    pub(super) fn whole_block(self) -> Self {
        Self { mask: &ALL, ..self }
    }
}

impl Places for BlockVoxels<'_> {
    fn bounds(&self) -> ([f64; 3], [f64; 3]) {
        (self.block.corner(), self.block.opposite())
    }

    fn rows(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn within(&mut self, seen: &Seen, hits: &mut Hits) {
        self.block.find(seen.mean, &seen.form, &mut self.runs);
        hits.take_runs(&self.runs, self.mask);
    }

    #[inline(always)]
    fn row_of(&self, voxel: u16) -> usize {
        usize::from(self.first[usize::from(voxel >> SHIFT) & 255] + (voxel & 15))
    }
}

/// Points anywhere, eight by eight; their rows of sums are in their order.
pub(crate) struct Scattered {
    chunks: Vec<[[f64; ROW]; 3]>,
    len: usize,
    low: [f64; 3],
    high: [f64; 3],
}

impl Scattered {
    pub(crate) fn new(points: impl ExactSizeIterator<Item = [f64; 3]>) -> Self {
        let len = points.len();
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        let mut chunks = vec![[[0.0; ROW]; 3]; len.div_ceil(ROW)];
        for (place, point) in points.enumerate() {
            for (axis, v) in point.into_iter().enumerate() {
                low[axis] = low[axis].min(v);
                high[axis] = high[axis].max(v);
                chunks[place / ROW][axis][place % ROW] = v;
            }
        }
        Self { chunks, len, low, high }
    }
}

impl Places for Scattered {
    fn bounds(&self) -> ([f64; 3], [f64; 3]) {
        (self.low, self.high)
    }

    fn rows(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn within(&mut self, seen: &Seen, hits: &mut Hits) {
        for (number, chunk) in self.chunks.iter().enumerate() {
            let [x, y, z]: [[f32; ROW]; 3] =
                std::array::from_fn(|axis| std::array::from_fn(|lane| (chunk[axis][lane] - seen.mean[axis]) as f32));
            let first = number * ROW;
            let filled = 0xff_u8 >> (ROW - ROW.min(self.len - first));
            hits.offer(&x, &y, &z, filled, first as u16);
        }
    }

    #[inline(always)]
    fn row_of(&self, number: u16) -> usize {
        usize::from(number)
    }
}
