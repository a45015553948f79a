//! Which voxels of a block a kernel may reach: a run along every row, a little generous. The kernel decides; this only
//! spares it work.

use std::ops::Range;

use super::lattice::{Lattice, ROWS, SIDE, run_bits};
use crate::config::Distance;
use crate::kernel::{Form, support_of};
use crate::keys::VoxelBlock;

/// Rows, and places, handled at a time.
pub(super) const ROW: usize = 8;

/// Voxels `first..end` of a row, and the row's offset from the mean of a primitive, metres.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Run {
    pub(super) row: u8,
    pub(super) first: u8,
    pub(super) end: u8,
    pub(super) y: f32,
    pub(super) z: f32,
}

impl Run {
    /// Its voxels as bits of their row.
    #[inline(always)]
    pub(super) fn bits(&self) -> u16 {
        run_bits(i32::from(self.first), i32::from(self.end))
    }
}

/// The runs of a block that one kernel may reach.
pub(super) struct Runs {
    /// Offsets of a row's voxels from the primitive's mean along x, metres. Longer than a row: runs are copied eight
    /// voxels at a time.
    pub(super) x: [f32; 4 * ROW],
    /// One more than there are rows: every candidate is written, and stays if it is not empty.
    found: [Run; ROWS + 1],
    len: usize,
}

impl Default for Runs {
    fn default() -> Self {
        Self { x: [0.0; 4 * ROW], found: [Run::default(); ROWS + 1], len: 0 }
    }
}

impl Runs {
    #[inline(always)]
    pub(super) fn found(&self) -> &[Run] {
        &self.found[..self.len.min(ROWS)]
    }
}

/// The rows of a block of voxels.
pub(super) struct BlockRows {
    /// Coordinates of the centres along each axis, metres.
    centers: [[f64; SIDE as usize]; 3],
    /// Voxels along each axis.
    most: [f32; 3],
    per_metre: f32,
    distance: Distance,
}

impl BlockRows {
    pub(super) fn new(lattice: &Lattice, block: VoxelBlock, distance: Distance) -> Self {
        let centers =
            std::array::from_fn(|axis| std::array::from_fn(|i| lattice.center(block.0[axis] * SIDE + i as i32, axis)));
        let most = [SIDE, SIDE, if lattice.planar { 1 } else { SIDE }].map(|v| v as f32);
        Self { centers, most, per_metre: 1.0 / lattice.resolution as f32, distance }
    }

    /// The first centre.
    pub(super) fn corner(&self) -> [f64; 3] {
        self.centers.map(|c| c[0])
    }

    /// The last centre.
    pub(super) fn opposite(&self) -> [f64; 3] {
        self.centers.map(|c| c[SIDE as usize - 1])
    }

    /// The voxels along each axis that the box of a kernel may cover.
    #[inline(always)]
    pub(super) fn clip(&self, mean: [f64; 3], form: &Form) -> [Range<i32>; 3] {
        let clip = |axis: usize| {
            let middle = (mean[axis] - self.centers[axis][0]) as f32;
            let half = form.half_box[axis];
            rounded(((middle - half) * self.per_metre + 0.49).clamp(0.0, SIDE as f32))
                ..rounded(((middle + half) * self.per_metre + 0.51).clamp(0.0, self.most[axis]))
        };
        [clip(0), clip(1), clip(2)]
    }

    /// Offset of voxels from a mean along an axis, metres.
    #[inline(always)]
    pub(super) fn offset(&self, mean: [f64; 3], axis: usize, voxel: usize) -> f32 {
        (self.centers[axis][voxel & 15] - mean[axis]) as f32
    }

    /// Offsets of all voxels from a mean along each axis, metres.
    #[inline(always)]
    pub(super) fn offsets(&self, mean: [f64; 3]) -> [[f32; SIDE as usize]; 3] {
        let mut offsets = [[0.0; SIDE as usize]; 3];
        for axis in 0..3 {
            for i in 0..SIDE as usize {
                offsets[axis][i] = (self.centers[axis][i] - mean[axis]) as f32;
            }
        }
        offsets
    }

    /// Finds the runs that a kernel may reach.
    #[inline(always)]
    pub(super) fn find(&self, mean: [f64; 3], form: &Form, runs: &mut Runs) {
        let per_metre = self.per_metre;
        let [xs, ys, zs] = self.clip(mean, form);
        let offset = |axis: usize, i: usize| self.offset(mean, axis, i);
        let Runs { x, found, len } = runs;
        *len = 0;
        for i in 0..SIDE as usize {
            x[i] = offset(0, i);
        }
        let middle = -x[0] * per_metre;
        let reach = support_of(form.reach, self.distance);
        let radius = form.semi_axes[2] + reach;
        let limit = radius * radius * (1.0 + 1e-5);
        // A long or flat ellipsoid fills little of its ball: two slabs across its shorter axes cut most of it away.
        let slab = |axis: usize| Slab::new(form, axis, 1.0 / per_metre, reach);
        let sprawls = form.semi_axes[2] > form.reach;
        let [[a, b, c], [_, d, e], [_, _, f]] = form.axes;
        // Of a support that follows the surface every row is cut where it leaves the ellipsoid itself.
        let per_a = if form.follows { 1.0 / a } else { 0.0 };
        let slabs = if sprawls { [Some(slab(0)), Some(slab(1))] } else { [None, None] };
        for start in ys.clone().step_by(ROW) {
            let mut y = [0.0; ROW];
            for j in 0..ROW {
                y[j] = offset(1, start as usize + j);
            }
            for k in zs.clone() {
                let z = offset(2, k as usize);
                // The ball around the mean cuts each row in one run: its first voxel and the one after its last.
                let (mut first, mut end) = ([0; ROW], [0; ROW]);
                if form.follows {
                    for j in 0..ROW {
                        let (v, w) = (d * y[j] + e * z, f * z);
                        let squared = 1.0 + 1e-4 - v * v - w * w;
                        let half = if squared > 0.0 { squared.sqrt() * per_a * per_metre } else { -1.0 };
                        let middle = middle - (b * y[j] + c * z) * per_a * per_metre;
                        first[j] = rounded((middle - half + 0.49).clamp(-1.0, 17.0)).max(xs.start);
                        end[j] = rounded((middle + half + 0.51).clamp(-1.0, 17.0)).min(xs.end);
                    }
                } else {
                    for j in 0..ROW {
                        let squared = limit - z * z - y[j] * y[j];
                        let half = if squared > 0.0 { squared.sqrt() * per_metre } else { -1.0 };
                        first[j] = rounded((middle - half + 0.49).clamp(-1.0, 17.0)).max(xs.start);
                        end[j] = rounded((middle + half + 0.51).clamp(-1.0, 17.0)).min(xs.end);
                    }
                }
                for slab in slabs.iter().flatten() {
                    slab.cut([x[0], z], &y, &mut first, &mut end);
                }
                for j in 0..(ys.end - start).min(ROW as i32) {
                    let lane = j as usize & 7;
                    let row = (((start + j) & 15) + SIDE * (k & 15)) as u8;
                    let run = Run { row, first: first[lane] as u8, end: end[lane] as u8, y: y[lane], z };
                    found[(*len).min(ROWS)] = run;
                    *len += usize::from(first[lane] < end[lane]);
                }
            }
        }
    }
}

/// The space between two planes across an axis of an ellipsoid, outside of which its kernel is zero.
struct Slab {
    axis: [f32; 3],
    half: f32,
    /// Voxels along a row per metre across the slab.
    per_metre: f32,
}

impl Slab {
    #[inline(always)]
    fn new(form: &Form, axis: usize, resolution: f32, reach: f32) -> Self {
        let half = form.semi_axes[axis] + reach + 1e-4;
        let axis = form.axes[axis];
        let step = axis[0] * resolution;
        // A row along the slab never leaves it: a step of nearly nothing keeps all of it, or none.
        let step = if step.abs() < 1e-6 { 1e-6 } else { step };
        Self { axis, half, per_metre: 1.0 / step }
    }

    /// Shortens the runs of a layer of rows that start at (x, y, z).
    #[inline(always)]
    fn cut(&self, [x, z]: [f32; 2], y: &[f32; ROW], first: &mut [i32; ROW], end: &mut [i32; ROW]) {
        for j in 0..ROW {
            let across = self.axis[0] * x + self.axis[1] * y[j] + self.axis[2] * z;
            let (a, b) = ((-self.half - across) * self.per_metre, (self.half - across) * self.per_metre);
            first[j] = first[j].max(rounded((a.min(b) + 0.49).clamp(-1.0, 17.0)));
            end[j] = end[j].min(rounded((a.max(b) + 0.51).clamp(-1.0, 17.0)));
        }
    }
}

/// Nearest whole number of a small value, by the rounding of f32 itself: unlike a cast it becomes vector instructions.
#[inline(always)]
fn rounded(value: f32) -> i32 {
    const WHOLE: f32 = 12_582_912.0;
    (value + WHOLE).to_bits() as i32 - WHOLE.to_bits() as i32
}
