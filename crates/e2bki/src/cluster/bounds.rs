//! Axis-aligned bounding box of points.
//!
//! One at a time, for building; queries use eight side by side.

/// Smallest box around points.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) low: [f32; 3],
    pub(super) high: [f32; 3],
}

impl Bounds {
    /// Box around nothing.
    pub(super) const EMPTY: Self = Self { low: [f32::INFINITY; 3], high: [f32::NEG_INFINITY; 3] };

    /// Box around one point.
    #[inline]
    pub(super) fn at(point: [f32; 3]) -> Self {
        Self { low: point, high: point }
    }

    /// Box around boxes.
    #[inline]
    pub(super) fn around(boxes: impl Iterator<Item = Self>) -> Self {
        let mut all = Self::EMPTY;
        boxes.for_each(|b| all.grow(&b));
        all
    }

    /// Widens the box to hold another one.
    #[inline]
    pub(super) fn grow(&mut self, other: &Self) {
        // Plain comparisons compile to one instruction each; `f32::min` would mind NaN.
        let smaller = |a: f32, b: f32| if b < a { b } else { a };
        let larger = |a: f32, b: f32| if b > a { b } else { a };
        for a in 0..3 {
            self.low[a] = smaller(self.low[a], other.low[a]);
            self.high[a] = larger(self.high[a], other.high[a]);
        }
    }

    /// The longest axis, the first on ties, and its length; negative for an empty box.
    #[inline]
    pub(super) fn longest(&self) -> (usize, f64) {
        let mut longest = (0, f64::NEG_INFINITY);
        for a in 0..3 {
            let side = f64::from(self.high[a]) - f64::from(self.low[a]);
            if side > longest.1 {
                longest = (a, side);
            }
        }
        longest
    }
}
