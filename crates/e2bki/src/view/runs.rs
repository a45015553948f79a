//! Which voxels of a block a kernel may reach: a run along every row, a little generous. The kernel decides; this only
//! spares it work.

use super::evaluate::ROW;
use super::raster::SIDE;
use crate::config::Distance;
use crate::kernel::support_of;
use crate::primitive::Form;

/// Bits of a row from a first voxel to before another.
#[inline(always)]
pub(super) fn run(first: i32, end: i32) -> u16 {
    (0xffff_u32 >> (16 - (end - first)) << first) as u16
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

/// Takes the runs that a kernel may reach.
pub(super) trait Visit {
    /// Voxels `first..end` of row `number`; offsets from the primitive's mean: x of the whole row, y and z of the run.
    fn run(&mut self, number: usize, first: i32, end: i32, x: &[f32; 4 * ROW], yz: [f32; 2]);
}

impl BlockRows {
    pub(super) fn new(centers: [[f64; SIDE as usize]; 3], resolution: f64, planar: bool, distance: Distance) -> Self {
        let most = [SIDE, SIDE, if planar { 1 } else { SIDE }].map(|v| v as f32);
        Self { centers, most, per_metre: 1.0 / resolution as f32, distance }
    }

    /// The first centre.
    pub(super) fn corner(&self) -> [f64; 3] {
        self.centers.map(|c| c[0])
    }

    /// The last centre.
    pub(super) fn opposite(&self) -> [f64; 3] {
        self.centers.map(|c| c[SIDE as usize - 1])
    }

    #[inline(always)]
    pub(super) fn visit(&self, mean: [f64; 3], form: &Form, visitor: &mut impl Visit) {
        let per_metre = self.per_metre;
        let clip = |axis: usize| {
            let middle = (mean[axis] - self.centers[axis][0]) as f32;
            let half = form.half_box[axis];
            rounded(((middle - half) * per_metre + 0.49).clamp(0.0, SIDE as f32))
                ..rounded(((middle + half) * per_metre + 0.51).clamp(0.0, self.most[axis]))
        };
        let (xs, ys, zs) = (clip(0), clip(1), clip(2));
        let offset = |axis: usize, i: usize| (self.centers[axis][i & 15] - mean[axis]) as f32;
        // Longer than a row: runs are copied eight voxels at a time.
        let mut x = [0.0; 4 * ROW];
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
                for j in 0..ROW {
                    let squared = limit - z * z - y[j] * y[j];
                    let half = if squared > 0.0 { squared.sqrt() * per_metre } else { -1.0 };
                    first[j] = rounded((middle - half + 0.49).clamp(-1.0, 17.0)).max(xs.start);
                    end[j] = rounded((middle + half + 0.51).clamp(-1.0, 17.0)).min(xs.end);
                }
                for slab in slabs.iter().flatten() {
                    slab.cut([x[0], z], &y, &mut first, &mut end);
                }
                for j in 0..(ys.end - start).min(ROW as i32) {
                    let lane = j as usize & 7;
                    if first[lane] < end[lane] {
                        let number = (((start + j) & 15) + SIDE * (k & 15)) as usize;
                        visitor.run(number, first[lane], end[lane], &x, [y[lane], z]);
                    }
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
