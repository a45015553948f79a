//! Brown's lens distortion, used only where it can be undone: far outside the image the polynomial folds back.

/// Coefficients of a lens; all zero for rectified images.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Brown {
    /// Radial terms k1, k2, k3.
    pub radial: [f64; 3],
    /// Tangential terms p1, p2.
    pub tangential: [f64; 2],
    /// Square of the radius up to which the radial polynomial grows.
    limit: Option<f64>,
}

impl Brown {
    /// From k1, k2, p1, p2, k3, the usual order.
    pub fn new([k1, k2, p1, p2, k3]: [f64; 5]) -> Self {
        let radial = [k1, k2, k3];
        Self { radial, tangential: [p1, p2], limit: first_fold(radial) }
    }

    /// Distorted coordinates on the plane z = 1; nothing where the lens model folds back.
    pub fn bend(&self, [x, y]: [f64; 2]) -> Option<[f64; 2]> {
        let r2 = x * x + y * y;
        if self.limit.is_some_and(|limit| r2 >= limit) {
            return None;
        }
        let [k1, k2, k3] = self.radial;
        let [p1, p2] = self.tangential;
        let scale = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3));
        Some([
            x * scale + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x),
            y * scale + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y,
        ])
    }
}

/// Smallest s = r² at which d/dr r(1 + k1 s + k2 s² + k3 s³) = 1 + 3 k1 s + 5 k2 s² + 7 k3 s³ is no longer positive.
fn first_fold([k1, k2, k3]: [f64; 3]) -> Option<f64> {
    let slope = |s: f64| 1.0 + s * (3.0 * k1 + s * (5.0 * k2 + s * 7.0 * k3));
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
}
