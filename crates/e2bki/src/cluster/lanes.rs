//! Eight points, or eight boxes, side by side in SIMD lanes.
//!
//! Every distance in this folder is computed here, in f32, with one fixed order of operations.
//! Rounding is monotone, so the box distance is never above the distance of a point inside the
//! box *as computed*: pruning by boxes is exact, no safety margin is needed.

use wide::f32x8;

/// Lanes of one SIMD vector, points of a leaf, children of a node.
pub(super) const LANES: usize = 8;

/// Coordinates beyond this are pulled in, so that no squared distance overflows.
const LIMIT_M: f32 = 1e18;

/// A point with every coordinate finite and within the limit; NaN becomes 0.
#[inline]
pub(super) fn tame([x, y, z]: [f32; 3]) -> [f32; 3] {
    let tame = |v: f32| {
        if v.is_nan() { 0.0 } else { v.clamp(-LIMIT_M, LIMIT_M) }
    };
    [tame(x), tame(y), tame(z)]
}

/// Eight points, one axis per vector.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    x: f32x8,
    y: f32x8,
    z: f32x8,
}

impl Lanes {
    /// The same point in all lanes.
    #[inline]
    pub(super) fn splat([x, y, z]: [f32; 3]) -> Self {
        Self { x: f32x8::splat(x), y: f32x8::splat(y), z: f32x8::splat(z) }
    }

    /// Eight points given by lane.
    #[inline]
    pub(super) fn gather(point: impl Fn(usize) -> [f32; 3]) -> Self {
        let points: [_; LANES] = std::array::from_fn(point);
        Self {
            x: f32x8::new(points.map(|p| p[0])),
            y: f32x8::new(points.map(|p| p[1])),
            z: f32x8::new(points.map(|p| p[2])),
        }
    }

    /// The point in one lane.
    #[inline]
    pub(super) fn get(&self, lane: usize) -> [f32; 3] {
        [self.x.as_array()[lane], self.y.as_array()[lane], self.z.as_array()[lane]]
    }

    /// Squared distances, lane by lane.
    #[inline]
    pub(super) fn distance2(&self, other: &Self) -> f32x8 {
        let x = self.x - other.x;
        let y = self.y - other.y;
        let z = self.z - other.z;
        x * x + y * y + z * z
    }
}

/// Eight axis-aligned boxes.
#[derive(Clone, Copy)]
pub(super) struct Boxes {
    pub(super) low: Lanes,
    pub(super) high: Lanes,
}

impl Boxes {
    /// Squared distance from each lane's point to the nearest point of the lane's box.
    #[inline]
    pub(super) fn nearest2(&self, point: &Lanes) -> f32x8 {
        let outside = |low: f32x8, high: f32x8, at: f32x8| (low - at).fast_max(at - high).fast_max(f32x8::ZERO);
        let x = outside(self.low.x, self.high.x, point.x);
        let y = outside(self.low.y, self.high.y, point.y);
        let z = outside(self.low.z, self.high.z, point.z);
        x * x + y * y + z * z
    }
}

/// Largest of eight numbers.
#[inline]
pub(super) fn max8([a, b, c, d, e, f, g, h]: [f32; LANES]) -> f32 {
    let pick = |x: f32, y: f32| if x > y { x } else { y };
    pick(pick(pick(a, e), pick(b, f)), pick(pick(c, g), pick(d, h)))
}
