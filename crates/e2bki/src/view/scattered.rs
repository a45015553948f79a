//! Points anywhere, near one another, at which a posterior is wanted.

use pulp::Simd;

use super::hits::Hits;
use super::places::Places;
use super::runs::ROW;
use crate::kernel::{AtPoints, LANES};
use crate::map::Seen;

/// Points anywhere, eight by eight; their rows of sums are in their order.
pub(crate) struct Scattered {
    chunks: Vec<Chunk>,
    len: usize,
    low: [f64; 3],
    high: [f64; 3],
}

/// Eight points, the last of them repeated where there are fewer, and two corners of a box around them.
struct Chunk {
    points: [[f64; ROW]; 3],
    low: [f64; 3],
    high: [f64; 3],
}

impl Chunk {
    /// Whether a box around a place holds one of the points, or may.
    #[inline(always)]
    fn meets(&self, mean: [f64; 3], half_box: [f32; 3]) -> bool {
        let mut meets = true;
        for axis in 0..3 {
            let half = f64::from(half_box[axis]);
            meets &= self.low[axis] - mean[axis] <= half && mean[axis] - self.high[axis] <= half;
        }
        meets
    }

    /// The points as seen from a place.
    #[inline(always)]
    fn from(&self, mean: [f64; 3]) -> [[f32; ROW]; 3] {
        let mut offsets = [[0.0; ROW]; 3];
        for axis in 0..3 {
            for lane in 0..ROW {
                offsets[axis][lane] = (self.points[axis][lane] - mean[axis]) as f32;
            }
        }
        offsets
    }
}

impl Scattered {
    pub(crate) fn new(points: impl ExactSizeIterator<Item = [f64; 3]>) -> Self {
        let len = points.len();
        let nowhere = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        let mut whole = Self { chunks: Vec::with_capacity(len.div_ceil(ROW)), len, low: nowhere.0, high: nowhere.1 };
        for (place, point) in points.enumerate() {
            if place % ROW == 0 {
                let points = point.map(|v| [v; ROW]);
                whole.chunks.push(Chunk { points, low: nowhere.0, high: nowhere.1 });
            }
            let Some(chunk) = whole.chunks.last_mut() else { continue };
            for (axis, v) in point.into_iter().enumerate() {
                chunk.points[axis][place % ROW..].fill(v);
                (chunk.low[axis], chunk.high[axis]) = (chunk.low[axis].min(v), chunk.high[axis].max(v));
                (whole.low[axis], whole.high[axis]) = (whole.low[axis].min(v), whole.high[axis].max(v));
            }
        }
        whole
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
            if !chunk.meets(seen.mean, seen.form.half_box) {
                continue;
            }
            let [x, y, z] = chunk.from(seen.mean);
            let first = number * ROW;
            let filled = 0xff_u8 >> (ROW - ROW.min(self.len - first));
            hits.offer(&x, &y, &z, filled, first as u16);
        }
    }

    #[inline(always)]
    fn row_of(&self, number: u16) -> usize {
        usize::from(number)
    }

    #[inline(always)]
    fn add<S: Simd>(&mut self, simd: S, seen: &Seen, share: &[f32], sums: &mut [f32]) -> Option<usize> {
        // Short shares of a known length stay in registers.
        Some(match share.len() {
            4 => add_chunks::<S, 4>(self, simd, seen, share, sums),
            8 => add_chunks::<S, 8>(self, simd, seen, share, sums),
            12 => add_chunks::<S, 12>(self, simd, seen, share, sums),
            16 => add_chunks::<S, 16>(self, simd, seen, share, sums),
            20 => add_chunks::<S, 20>(self, simd, seen, share, sums),
            24 => add_chunks::<S, 24>(self, simd, seen, share, sums),
            _ => return None,
        })
    }
}

/// Adds a kernel that follows a surface to the points inside of its support: eight values at a time, of those eight whose box
/// meets that of the kernel.
#[inline(always)]
fn add_chunks<S: Simd, const N: usize>(
    points: &Scattered,
    simd: S,
    seen: &Seen,
    share: &[f32],
    sums: &mut [f32],
) -> usize {
    let Some(share) = share.first_chunk::<N>().copied() else { return 0 };
    let at_points = AtPoints::new(simd, &seen.form);
    let (mut offsets, mut kernel, mut values) = ([[0.0; LANES]; 3], [0.0; LANES], 0);
    for (number, chunk) in points.chunks.iter().enumerate() {
        if !chunk.meets(seen.mean, seen.form.half_box) {
            continue;
        }
        let from = chunk.from(seen.mean);
        for axis in 0..3 {
            offsets[axis][..ROW].copy_from_slice(&from[axis]);
        }
        at_points.values(&offsets, ROW, &mut kernel);
        let first = number * ROW;
        let Some(sums) = sums.as_chunks_mut::<N>().0.get_mut(first..points.len.min(first + ROW)) else { continue };
        values += sums.len();
        for (sums, k) in sums.iter_mut().zip(&kernel) {
            // Nothing added to a sum leaves it as it is, but takes as long as something.
            if *k > 0.0 {
                for i in 0..N {
                    sums[i] += k * share[i];
                }
            }
        }
    }
    values
}
