//! The route's shape: a graph `y(x)` that never turns back, so it has no end and no self-crossings.
//! Off-road it wanders; in town it is a zig-zag of straight streets with rounded corners.

use super::WorldKind;
use crate::maths::{hash2, noise1, unit_from};

/// Mean distance along x between street corners, metres.
const CORNER_PITCH_M: f64 = 170.0;
/// Half width along x of the rounding of a corner, metres.
const CORNER_ROUND_M: f64 = 15.0;

/// The curve itself, without arc length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Curve {
    pub seed: u64,
    pub kind: WorldKind,
}

impl Curve {
    /// Lateral position of the centre line at `x`.
    pub(super) fn y(&self, x: f64) -> f64 {
        match self.kind {
            WorldKind::Offroad => 24.0 * noise1(self.seed ^ 0x11, x / 125.0) + 3.5 * noise1(self.seed ^ 0x12, x / 41.0),
            WorldKind::Urban => self.street(x),
        }
    }

    /// Corner `k` of the zig-zag.
    pub(super) fn corner(&self, k: i64) -> [f64; 2] {
        let h = hash2(self.seed ^ 0x21, k, 0);
        let (a, b) = (unit_from(h), unit_from(hash2(h, k, 1)));
        let side = if k.rem_euclid(2) == 0 { 1.0 } else { -1.0 };
        [CORNER_PITCH_M * (k as f64 + 0.35 * (a - 0.5)), side * (18.0 + 50.0 * b)]
    }

    fn street(&self, x: f64) -> f64 {
        let k = (x / CORNER_PITCH_M).floor() as i64;
        let corners = [k - 1, k, k + 1, k + 2].map(|k| self.corner(k));
        let leg = if x < corners[1][0] {
            0
        } else if x < corners[2][0] {
            1
        } else {
            2
        };
        let (a, b) = (corners[leg], corners[leg + 1]);
        let slope = (b[1] - a[1]) / (b[0] - a[0]);
        a[1] + slope * (x - a[0]) + self.round(x, k + leg as i64 - 1) + self.round(x, k + leg as i64)
    }

    /// How far the rounded corner `k` lies off the sharp one at `x`.
    fn round(&self, x: f64, k: i64) -> f64 {
        let (a, b, c) = (self.corner(k - 1), self.corner(k), self.corner(k + 1));
        let bend = (c[1] - b[1]) / (c[0] - b[0]) - (b[1] - a[1]) / (b[0] - a[0]);
        let u = (x - b[0]).abs();
        if u >= CORNER_ROUND_M {
            return 0.0;
        }
        bend * (CORNER_ROUND_M - u).powi(2) / (4.0 * CORNER_ROUND_M)
    }

    /// Slope `dy/dx`.
    pub(super) fn slope(&self, x: f64) -> f64 {
        (self.y(x + 0.25) - self.y(x - 0.25)) / 0.5
    }

    /// Curvature of the centre line, 1/m.
    pub(super) fn curvature(&self, x: f64) -> f64 {
        let h = 1.0;
        let (a, b, c) = (self.y(x - h), self.y(x), self.y(x + h));
        let (first, second) = ((c - a) / (2.0 * h), (a - 2.0 * b + c) / (h * h));
        second / (1.0 + first * first).powf(1.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_routes_are_smooth_enough_to_drive() {
        for kind in [WorldKind::Offroad, WorldKind::Urban] {
            for seed in 0..8 {
                let curve = Curve { seed, kind };
                for k in 0..8000 {
                    let x = f64::from(k) * 0.25;
                    assert!((curve.y(x + 0.25) - curve.y(x)).abs() < 0.5, "{kind:?} {seed} {x}");
                    assert!(curve.curvature(x).abs() < 0.12, "{kind:?} {seed} {x}: {}", curve.curvature(x));
                }
            }
        }
    }
}
