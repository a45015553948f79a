//! Points with a kernel of exact radius: S-CSM (radius 0: the own voxel), S-BKI, EBS, and DST with another way to add.

use e2bki::kernel::kernel_of_nearness;
use e2bki::maths::{exp, floor_i32};

use crate::block::Scratch;
use crate::grid::{Grid, Spread};
use crate::lattice::{BlockKey, Place, SIDE, VOLUME, blocks_between};
use crate::scan::Scan;

/// Kernel values computed at a time.
const LANES: usize = 8;

/// How a weighted opinion joins the sums of a voxel.
pub(crate) trait Join: Sync {
    /// Adds what a point says (`share`, a value per column) with kernel value `k`; `u` is the point's uncertainty.
    fn join(k: f32, share: &[f32], u: f32, row: &mut [f32]);
}

/// row += k · share.
struct Add;

impl Join for Add {
    #[inline(always)]
    fn join(k: f32, share: &[f32], _: f32, row: &mut [f32]) {
        for (row, share) in row.as_chunks_mut::<4>().0.iter_mut().zip(share.as_chunks::<4>().0) {
            for lane in 0..4 {
                row[lane] += k * share[lane];
            }
        }
    }
}

/// Adds kernel times weight; `reach` gives the radius in voxels for a point's uncertainty, 0 = the own voxel alone.
pub(crate) fn add_points(grid: &mut Grid, scan: &Scan, places: &[Place], reach: impl Fn(f32) -> f32) -> usize {
    join_points::<Add>(grid, scan, places, reach)
}

/// Adds points with kernel and join of any form.
pub(crate) fn join_points<J: Join>(
    grid: &mut Grid,
    scan: &Scan,
    places: &[Place],
    reach: impl Fn(f32) -> f32,
) -> usize {
    let reach = scan.uncertainty.iter().map(|u| reach(*u)).collect();
    let axes = grid.lattice.axes();
    grid.add(&Points::<J> { scan, places, reach, axes, join: std::marker::PhantomData })
}

/// e^{−u}, the same on every platform.
pub(crate) fn exp_minus(u: f32) -> f32 {
    exp(-f64::from(u)) as f32
}

struct Points<'a, J> {
    scan: &'a Scan,
    places: &'a [Place],
    reach: Vec<f32>,
    axes: usize,
    join: std::marker::PhantomData<J>,
}

impl<J> Points<'_, J> {
    /// First and last voxel on each axis whose centre may be in reach.
    #[inline(always)]
    fn span(&self, point: usize) -> ([i32; 3], [i32; 3]) {
        let (place, reach) = (&self.places[point], self.reach[point]);
        let (mut low, mut high) = (place.voxel, place.voxel);
        if reach > 0.0 {
            for axis in 0..self.axes {
                low[axis] -= floor_i32(f64::from(reach - place.offset[axis]));
                high[axis] += floor_i32(f64::from(reach + place.offset[axis]));
            }
        }
        (low, high)
    }
}

impl<J: Join> Spread for Points<'_, J> {
    fn sources(&self) -> usize {
        self.places.len()
    }

    fn channels(&self) -> usize {
        self.scan.classes + 1
    }

    fn touch(&self, source: usize, each: impl FnMut(BlockKey)) {
        let (low, high) = self.span(source);
        blocks_between(low, high, each);
    }

    fn fill(&self, block: BlockKey, sources: &[u128], scratch: &mut Scratch) {
        let points = || sources.iter().map(|packed| *packed as u32 as usize);
        scratch.begin(points().flat_map(|point| self.scan.said(point).0.iter().copied()));
        let mut share = vec![0.0; scratch.stride()];
        let mut near = Near::default();
        let origin = block.map(|v| v * SIDE);
        for point in points() {
            near.find(&self.places[point], self.reach[point], self.span(point), origin);
            let (channels, weights) = self.scan.said(point);
            for (channel, weight) in channels.iter().zip(weights) {
                share[scratch.column(*channel)] = *weight;
            }
            for i in 0..near.len {
                if near.kernel[i] > 0.0 {
                    J::join(near.kernel[i], &share, self.scan.uncertainty[point], scratch.row(near.voxel[i].into()));
                }
            }
            channels.iter().for_each(|channel| share[scratch.column(*channel)] = 0.0);
        }
    }
}

/// Voxels of a block near a point, with the kernel at their centres.
struct Near {
    voxel: [u16; VOLUME],
    /// First the squared distance in voxels, then the kernel.
    kernel: [f32; VOLUME],
    len: usize,
}

impl Default for Near {
    fn default() -> Self {
        Self { voxel: [0; VOLUME], kernel: [0.0; VOLUME], len: 0 }
    }
}

impl Near {
    #[inline(always)]
    fn find(&mut self, place: &Place, reach: f32, (low, high): ([i32; 3], [i32; 3]), origin: [i32; 3]) {
        self.len = 0;
        let low: [i32; 3] = std::array::from_fn(|axis| (low[axis] - origin[axis]).max(0));
        let high: [i32; 3] = std::array::from_fn(|axis| (high[axis] - origin[axis]).min(SIDE - 1));
        let here: [i32; 3] = std::array::from_fn(|axis| place.voxel[axis] - origin[axis]);
        let square = |axis: usize, index: i32| {
            let d = (here[axis] - index) as f32 + place.offset[axis];
            d * d
        };
        if reach == 0.0 {
            (self.voxel[0], self.kernel[0], self.len) = (place.local() as u16, 1.0, 1);
            return;
        }
        let limit = reach * reach;
        for z in low[2]..=high[2] {
            let z_part = square(2, z);
            for y in low[1]..=high[1] {
                let yz_part = z_part + square(1, y);
                if yz_part >= limit {
                    continue;
                }
                for x in low[0]..=high[0] {
                    let squared = yz_part + square(0, x);
                    // Written in any case, kept if in reach: no branch to mispredict.
                    let at = self.len & (VOLUME - 1);
                    self.voxel[at] = (x + 8 * y + 64 * z) as u16;
                    self.kernel[at] = squared;
                    self.len += usize::from(squared < limit);
                }
            }
        }
        let per_reach = 1.0 / reach;
        let filled = self.len.min(VOLUME).next_multiple_of(LANES);
        for lanes in self.kernel[..filled].as_chunks_mut::<LANES>().0 {
            for value in lanes {
                *value = kernel_of_nearness((1.0 - value.sqrt() * per_reach).max(0.0));
            }
        }
    }
}
