//! Places near one another at which a posterior is wanted: voxels of a block here, points anywhere in `scattered.rs`.

use pulp::Simd;

use super::hits::Hits;
use super::lattice::{ALL, Lattice, Mask, ROWS, SHIFT, SIDE, run_bits};
use super::runs::{BlockRows, Runs};
use crate::config::Distance;
use crate::kernel::{AlongRows, ROW_ROOM};
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

    /// Adds a kernel that follows a surface at every place it reaches, if there is a shorter way than through `within`, with
    /// the same result; returns how many values were computed. `share` is what a value of 1 adds to a place.
    fn add<S: Simd>(&mut self, _simd: S, _seen: &Seen, _share: &[f32], _sums: &mut [f32]) -> Option<usize> {
        None
    }
}

/// The masked voxels of a block; their rows of sums are those of [`Mask::places`].
pub(crate) struct BlockVoxels<'a> {
    mask: &'a Mask,
    /// First row of sums of every row of voxels.
    first: [u16; ROWS],
    count: usize,
    block: BlockRows,
    runs: Runs,
    /// At least the voxels that some kernel reached.
    pub(super) reached: Mask,
}

impl<'a> BlockVoxels<'a> {
    pub(crate) fn new(lattice: &Lattice, block: VoxelBlock, mask: &'a Mask, distance: Distance) -> Self {
        let (first, count) = mask.first_places();
        let (block, runs) = (BlockRows::new(lattice, block, distance), Runs::default());
        Self { mask, first, count, block, runs, reached: Mask::default() }
    }

    /// Goes through all voxels of the block. Only rows with masked voxels have sums of their own: the others share some
    /// that nobody reads.
    pub(super) fn whole_block(self) -> Self {
        Self { mask: &ALL, reached: ALL.clone(), ..self }
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
        for run in self.runs.found() {
            self.reached.0[usize::from(run.row)] |= run.bits();
        }
        hits.take_runs(&self.runs, self.mask);
    }

    #[inline(always)]
    fn row_of(&self, voxel: u16) -> usize {
        usize::from(self.first[usize::from(voxel >> SHIFT) & 255] + (voxel & 15))
    }

    #[inline(always)]
    fn add<S: Simd>(&mut self, simd: S, seen: &Seen, share: &[f32], sums: &mut [f32]) -> Option<usize> {
        // Short shares of a known length stay in registers.
        Some(match share.len() {
            4 => add_rows::<S, 4>(self, simd, seen, share, sums),
            8 => add_rows::<S, 8>(self, simd, seen, share, sums),
            12 => add_rows::<S, 12>(self, simd, seen, share, sums),
            16 => add_rows::<S, 16>(self, simd, seen, share, sums),
            20 => add_rows::<S, 20>(self, simd, seen, share, sums),
            24 => add_rows::<S, 24>(self, simd, seen, share, sums),
            _ => return None,
        })
    }
}

/// Goes through the rows of a kernel's box. Where a row may have a voxel inside of the support, all its voxels in the box are
/// added to, most of them something: that costs less than finding out which.
#[inline(always)]
fn add_rows<S: Simd, const N: usize>(
    voxels: &mut BlockVoxels<'_>,
    simd: S,
    seen: &Seen,
    share: &[f32],
    sums: &mut [f32],
) -> usize {
    let Some(share) = share.first_chunk::<N>().copied() else { return 0 };
    let BlockVoxels { mask, first, block, reached, .. } = voxels;
    let [xs, ys, zs] = block.clip(seen.mean, &seen.form);
    if xs.is_empty() || ys.is_empty() {
        return 0;
    }
    let (begin, len, bits) = (xs.start as usize & 15, xs.len().min(16), run_bits(xs.start, xs.end));
    let mut x = [0.0; ROW_ROOM];
    for i in 0..SIDE as usize {
        x[i] = block.offset(seen.mean, 0, begin + i);
    }
    let (along, [_, [_, d, e], [_, _, f]]) = (AlongRows::new(simd, &seen.form), seen.form.axes);
    let (mut kernel, mut values) = ([0.0; ROW_ROOM], 0);
    for k in zs {
        let z = block.offset(seen.mean, 2, k as usize);
        for j in ys.clone() {
            let row = ((j & 15) + SIDE * (k & 15)) as usize;
            if mask.0[row & 255] == 0 {
                continue;
            }
            let y = block.offset(seen.mean, 1, j as usize);
            // Outside of the support whatever x is, by more than rounding.
            if (d * y + e * z) * (d * y + e * z) + (f * z) * (f * z) > 1.0 + 1e-4 {
                continue;
            }
            values += len;
            along.row(&x, [y, z], len, &mut kernel);
            reached.0[row & 255] |= bits;
            let at = usize::from(first[row & 255]) + begin;
            let sums = sums.as_chunks_mut::<N>().0;
            let Some(sums) = sums.get_mut(at..at + len) else { continue };
            for (sums, k) in sums.iter_mut().zip(&kernel) {
                for i in 0..N {
                    sums[i] += k * share[i];
                }
            }
        }
    }
    values
}
