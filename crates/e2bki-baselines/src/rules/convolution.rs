//! ConvBKI: a frame's probabilities are binned into voxels; each class has its own filter of 5×5×5 voxels.

use e2bki::kernel::sparse_kernel;
use rayon::prelude::*;

use crate::block::Scratch;
use crate::conv::ConvKernels;
use crate::grid::{Grid, Spread};
use crate::lattice::{BlockKey, Place, SIDE, blocks_between, pack, unpack};
use crate::scan::Scan;

/// Voxels to each side that a filter covers: 5×5×5 in all.
pub(crate) const FILTER_REACH: i32 = 2;

/// Side of a filter.
const WIDTH: i32 = 2 * FILTER_REACH + 1;

/// The filters of all classes: for every offset a row of values, one per class, rounded up to a multiple of four.
#[derive(Debug, Clone)]
pub(crate) struct Filters {
    rows: Vec<f32>,
    active: Vec<bool>,
    stride: usize,
}

impl Filters {
    pub(crate) fn new(kernels: &ConvKernels, resolution: f64) -> Self {
        let classes = kernels.horizontal.len();
        let stride = classes.next_multiple_of(4);
        let mut rows = vec![0.0; (WIDTH * WIDTH * WIDTH) as usize * stride];
        for (offset, row) in rows.chunks_exact_mut(stride).enumerate() {
            let offset = offset as i32;
            let [x, y, z] =
                [offset % WIDTH, offset / WIDTH % WIDTH, offset / WIDTH / WIDTH].map(|v| f64::from(v - FILTER_REACH));
            for (class, value) in row.iter_mut().enumerate().take(classes) {
                let across = sparse_kernel(resolution * (x * x + y * y).sqrt(), kernels.horizontal[class]);
                let up = sparse_kernel(resolution * z.abs(), kernels.vertical[class]);
                *value = (across * up).clamp(0.0, 1.0) as f32;
            }
        }
        let active = rows.chunks_exact(stride).map(|row| row.iter().any(|v| *v > 0.0)).collect();
        Self { rows, active, stride }
    }

    /// Values at an offset; nothing where all are zero.
    fn row(&self, offset: [i32; 3]) -> Option<&[f32]> {
        let [x, y, z] = offset.map(|v| v + FILTER_REACH);
        let number = (x + WIDTH * (y + WIDTH * z)) as usize;
        self.active[number].then(|| &self.rows[number * self.stride..][..self.stride])
    }
}

/// Adds a frame.
pub(crate) fn add_convolution(grid: &mut Grid, scan: &Scan, places: &[Place], filters: &Filters) -> usize {
    let mut sorted: Vec<u128> = places.par_iter().enumerate().map(|(i, place)| pack(place.voxel, i as u32)).collect();
    sorted.par_sort_unstable();
    let bins: Vec<&[u128]> = sorted.chunk_by(|a, b| a >> 32 == b >> 32).collect();
    let mut sums = vec![0.0; bins.len() * filters.stride];
    sums.par_chunks_mut(filters.stride).zip(&bins).with_min_len(256).for_each(|(sums, bin)| {
        let points = bin.iter().map(|packed| *packed as u32 as usize);
        bin_probabilities(scan, points, &mut sums[..scan.classes]);
    });
    let axes = grid.lattice.axes();
    grid.add(&Convolution { classes: scan.classes, bins, sums, filters, axes })
}

/// Σ p of some points: beliefs, and the uncertain share spread over all classes.
pub(crate) fn bin_probabilities(scan: &Scan, points: impl Iterator<Item = usize>, sums: &mut [f32]) {
    let classes = sums.len();
    let mut uncertain = 0.0;
    for point in points {
        let (channels, weights) = scan.said(point);
        for (channel, weight) in channels.iter().zip(weights) {
            match sums.get_mut(usize::from(*channel)) {
                Some(sum) => *sum += weight,
                None => uncertain += weight,
            }
        }
    }
    sums.iter_mut().for_each(|sum| *sum += uncertain / classes as f32);
}

struct Convolution<'a> {
    classes: usize,
    bins: Vec<&'a [u128]>,
    sums: Vec<f32>,
    filters: &'a Filters,
    axes: usize,
}

impl Convolution<'_> {
    /// First and last voxel that a bin's filter covers.
    fn span(&self, bin: usize) -> ([i32; 3], [i32; 3], [i32; 3]) {
        let voxel = self.bins[bin].first().map_or([0; 3], |packed| unpack(*packed).0);
        let (mut low, mut high) = (voxel, voxel);
        for axis in 0..self.axes {
            low[axis] -= FILTER_REACH;
            high[axis] += FILTER_REACH;
        }
        (voxel, low, high)
    }
}

impl Spread for Convolution<'_> {
    fn sources(&self) -> usize {
        self.bins.len()
    }

    fn channels(&self) -> usize {
        self.classes + 1
    }

    fn touch(&self, source: usize, each: impl FnMut(BlockKey)) {
        let (_, low, high) = self.span(source);
        blocks_between(low, high, each);
    }

    fn fill(&self, block: BlockKey, sources: &[u128], scratch: &mut Scratch) {
        scratch.begin(0..self.classes as u16);
        for bin in sources.iter().map(|packed| *packed as u32 as usize) {
            let sums = &self.sums[bin * self.filters.stride..][..self.filters.stride];
            let (voxel, low, high) = self.span(bin);
            let first: [i32; 3] = std::array::from_fn(|axis| low[axis].max(block[axis] * SIDE));
            let last: [i32; 3] = std::array::from_fn(|axis| high[axis].min(block[axis] * SIDE + SIDE - 1));
            for z in first[2]..=last[2] {
                for y in first[1]..=last[1] {
                    for x in first[0]..=last[0] {
                        if let Some(filter) = self.filters.row([x - voxel[0], y - voxel[1], z - voxel[2]]) {
                            let place = Place { voxel: [x, y, z], offset: [0.0; 3] };
                            add_product(scratch.row(place.local()), filter, sums);
                        }
                    }
                }
            }
        }
    }
}

/// row += filter · sums, class by class.
#[inline(always)]
fn add_product(row: &mut [f32], filter: &[f32], sums: &[f32]) {
    let (filter, sums) = (filter.as_chunks::<4>().0, sums.as_chunks::<4>().0);
    for ((row, filter), sums) in row.as_chunks_mut::<4>().0.iter_mut().zip(filter).zip(sums) {
        for lane in 0..4 {
            row[lane] += filter[lane] * sums[lane];
        }
    }
}
