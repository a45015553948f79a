//! Brown's lens distortion, with or without a denominator (OpenCV's rational model), used only where it can be undone: far outside the image the polynomial folds back.

/// Coefficients of a lens; all zero for rectified images.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Brown {
    /// Radial terms k1, k2, k3.
    pub radial: [f64; 3],
    /// Radial terms of the denominator, k4, k5, k6; zero in the plain model.
    pub denominator: [f64; 3],
    /// Tangential terms p1, p2.
    pub tangential: [f64; 2],
    /// Square of the radius up to which the radial polynomial grows.
    limit: Option<f64>,
}

impl Brown {
    /// From k1, k2, p1, p2, k3, the usual order.
    pub fn new([k1, k2, p1, p2, k3]: [f64; 5]) -> Self {
        Self::rational([k1, k2, p1, p2, k3, 0.0, 0.0, 0.0])
    }

    /// From k1, k2, p1, p2, k3, k4, k5, k6, the order of OpenCV and ROS.
    pub fn rational([k1, k2, p1, p2, k3, k4, k5, k6]: [f64; 8]) -> Self {
        let (radial, denominator) = ([k1, k2, k3], [k4, k5, k6]);
        Self { radial, denominator, tangential: [p1, p2], limit: first_fold(radial, denominator) }
    }

    /// Distorted coordinates on the plane z = 1; nothing where the lens model folds back.
    pub fn bend(&self, [x, y]: [f64; 2]) -> Option<[f64; 2]> {
        let r2 = x * x + y * y;
        if self.limit.is_some_and(|limit| r2 >= limit) {
            return None;
        }
        let [k1, k2, k3] = self.radial;
        let [p1, p2] = self.tangential;
        let mut scale = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3));
        if self.denominator != [0.0; 3] {
            scale /= polynomial(self.denominator, r2);
        }
        Some([
            x * scale + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x),
            y * scale + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y,
        ])
    }
}

/// 1 + a s + b s² + c s³.
fn polynomial([a, b, c]: [f64; 3], s: f64) -> f64 {
    1.0 + s * (a + s * (b + s * c))
}

/// Smallest s = r² at which the image of r no longer grows with r. With numerator N and denominator D that is where
/// d/dr r N/D = ((N + 2 s N') D − 2 s N D') / D² is no longer positive; N + 2 s N' = 1 + 3 k1 s + 5 k2 s² + 7 k3 s³.
fn first_fold([k1, k2, k3]: [f64; 3], denominator: [f64; 3]) -> Option<f64> {
    let slope = |s: f64| {
        let plain = 1.0 + s * (3.0 * k1 + s * (5.0 * k2 + s * 7.0 * k3));
        if denominator == [0.0; 3] {
            return plain;
        }
        let d = polynomial(denominator, s);
        let rise = denominator[0] + s * (2.0 * denominator[1] + s * 3.0 * denominator[2]);
        // A denominator that has reached zero has passed a pole.
        if d > 0.0 { plain * d - 2.0 * s * polynomial([k1, k2, k3], s) * rise } else { -1.0 }
    };
    // Radii beyond 10 (84° off the axis) never meet a picture.
    const STEP: f64 = 0.01;
    let mut low = 0.0;
    for i in 1..=10_000 {
        let high = STEP * f64::from(i);
        if slope(high) <= 0.0 {
            let mut high = high;
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                *(if slope(middle) > 0.0 { &mut low } else { &mut high }) = middle;
            }
            return Some(low);
        }
        low = high;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lens_stops_where_it_folds() {
        let lens = Brown::new([-0.134313, -0.025905, 0.0, 0.0, 0.0]);
        let limit = lens.limit.unwrap();
        assert!((1.0 - 3.0 * 0.134313 * limit - 5.0 * 0.025905 * limit * limit).abs() < 1e-9, "{limit}");
        // Up to there a larger radius is imaged further out, beyond there nothing is imaged.
        let mut before = -1.0;
        for i in 0..1000 {
            let r = f64::from(i) * 0.005;
            match lens.bend([r, 0.0]) {
                Some([x, _]) => {
                    assert!(x > before && r * r < limit);
                    before = x;
                }
                None => assert!(r * r >= limit),
            }
        }
        assert_eq!(Brown::default().bend([30.0, 2.0]), Some([30.0, 2.0]));
        assert!(Brown::new([0.1, 0.0, 0.0, 0.0, 0.0]).limit.is_none());
    }

    #[test]
    fn a_denominator_divides_and_moves_the_fold() {
        let lens = Brown::rational([0.4, -0.1, 0.001, -0.002, 0.01, 0.3, 0.05, 0.02]);
        let [x, y] = [0.3, -0.2];
        let r2: f64 = x * x + y * y;
        let scale = (1.0 + 0.4 * r2 - 0.1 * r2.powi(2) + 0.01 * r2.powi(3))
            / (1.0 + 0.3 * r2 + 0.05 * r2.powi(2) + 0.02 * r2.powi(3));
        let found = lens.bend([x, y]).unwrap();
        let across = x * scale + 2.0 * 0.001 * x * y - 0.002 * (r2 + 2.0 * x * x);
        let down = y * scale + 0.001 * (r2 + 2.0 * y * y) - 2.0 * 0.002 * x * y;
        assert!((found[0] - across).abs() < 1e-12 && (found[1] - down).abs() < 1e-12, "{found:?}");
        let folding = Brown::rational([0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0]);
        // r / (1 + r²/2) grows up to r² = 2.
        assert!((folding.limit.unwrap() - 2.0).abs() < 1e-9);
    }
}
