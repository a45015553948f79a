//! Places near one another at which a posterior is wanted: voxels of a block here, points anywhere in `scattered.rs`.

use pulp::Simd;

use super::hits::Hits;
use super::lattice::{ALL, Lattice, Mask, ROWS, SHIFT, SIDE, run_bits};
use super::runs::{BlockRows, ROW, Runs};
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
    /// Rows with masked voxels, a bit for every y, by z.
    asked: [u16; SIDE as usize],
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
        Self { mask, asked: mask.rows(), first, count, block, runs, reached: Mask::default() }
    }

    /// Goes through all voxels of the block. Only rows with masked voxels have sums of their own: the others share some
    /// that nobody reads.
    pub(super) fn whole_block(self) -> Self {
        Self { mask: &ALL, asked: ALL.rows(), reached: ALL.clone(), ..self }
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
    let BlockVoxels { asked, first, block, reached, .. } = voxels;
    let [xs, ys, zs] = block.clip(seen.mean, &seen.form);
    if xs.is_empty() || ys.is_empty() {
        return 0;
    }
    let (begin, len, bits) = (xs.start as usize & 15, xs.len().min(16), run_bits(xs.start, xs.end));
    let in_box = run_bits(ys.start, ys.end);
    let [along_x, along_y, z] = block.offsets(seen.mean);
    let (mut x, mut y) = ([0.0; ROW_ROOM], [0.0; SIDE as usize + ROW]);
    x[..along_x.len()].copy_from_slice(&along_x);
    y[..along_y.len()].copy_from_slice(&along_y);
    let (along, [_, [_, d, e], [_, _, f]]) = (AlongRows::new(simd, &seen.form), seen.form.axes);
    let (mut kernel, mut values) = ([0.0; ROW_ROOM], 0);
    let sums = sums.as_chunks_mut::<N>().0;
    for k in zs {
        let k = k as usize & 15;
        let z = z[k];
        // The others are outside of the support whatever x is, by more than rounding. Eight at once: which ones they are is
        // hard to predict, so that a branch for each would cost more than the arithmetic.
        let (mut rows, mut start) = (0, ys.start as usize);
        while start < ys.end as usize {
            let Some(y) = y[start & 15..].first_chunk::<ROW>() else { break };
            let mut inside = 0;
            for j in 0..ROW {
                let squared = (d * y[j] + e * z) * (d * y[j] + e * z) + (f * z) * (f * z);
                inside |= u32::from(squared <= 1.0 + 1e-4) << j;
            }
            rows |= inside << (start & 15);
            start += ROW;
        }
        let mut rows = rows as u16 & in_box & asked[k];
        while rows != 0 {
            let j = rows.trailing_zeros() as usize & 15;
            rows &= rows - 1;
            let row = j + SIDE as usize * k;
            along.row(&x, begin, [y[j], z], len, &mut kernel);
            reached.0[row] |= bits;
            let at = usize::from(first[row]) + begin;
            let Some(sums) = sums.get_mut(at..at + len) else { continue };
            values += len;
            // Two at a time: a loop over one after the other is mostly counting.
            let (pairs, last) = sums.as_chunks_mut::<2>();
            for (pair, k) in pairs.iter_mut().zip(kernel.as_chunks::<2>().0) {
                for (sums, k) in pair.iter_mut().zip(k) {
                    for i in 0..N {
                        sums[i] += k * share[i];
                    }
                }
            }
            for (sums, k) in last.iter_mut().zip(&kernel[len - len % 2..]) {
                for i in 0..N {
                    sums[i] += k * share[i];
                }
            }
        }
    }
    values
}
