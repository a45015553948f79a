//! The ellipsoid of a primitive, and the distance from a point to it.
//!
//! In the frame of the axes the closest surface point to y is v_i = a_i² y_i/(t + a_i²), where t ≥ 0 solves
//! |q(t)| = 1 with q_i = a_i y_i/(t + a_i²). Newton's method on 1/|q| = 1, a concave and nearly linear function of t,
//! climbs from a lower bound without overshooting; the distance is then t·|y/(t + a²)|, free of cancellation.

use super::eigen::symmetric_eigen;
use crate::config::Shape;

/// Smallest variance along an axis of a derived ellipsoid, m²; raw moments are never changed (docs/method.md#degenerate-clusters).
pub const EIGENVALUE_FLOOR_M2: f64 = 1e-4;

/// Radius that stands for a point, metres.
const POINT_RADIUS_M: f64 = 1e-6;

/// An ellipsoid in the world.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ellipsoid {
    /// Centre, metres.
    pub center: [f64; 3],
    /// Unit axes, one per row.
    pub axes: [[f64; 3]; 3],
    /// Half lengths along the axes, metres, ascending.
    pub semi_axes: [f64; 3],
}

impl Ellipsoid {
    /// The ellipsoid of a Gaussian at Mahalanobis threshold `tau`, with variances held above the floor.
    pub fn of_gaussian(mean: [f64; 3], covariance: [f64; 6], tau: f64, shape: Shape) -> Self {
        Self::spanning(3.0, mean, covariance, tau, shape)
    }

    /// The same of a Gaussian in the plane: one without height, whose mean variance is that of two directions.
    pub fn of_flat_gaussian(mean: [f64; 3], covariance: [f64; 6], tau: f64, shape: Shape) -> Self {
        Self::spanning(2.0, mean, covariance, tau, shape)
    }

    fn spanning(dimensions: f64, mean: [f64; 3], covariance: [f64; 6], tau: f64, shape: Shape) -> Self {
        let (values, axes) = match shape {
            Shape::Ellipsoid => symmetric_eigen(covariance),
            Shape::Sphere | Shape::Point => {
                let variance = (covariance[0] + covariance[1] + covariance[2]) / dimensions;
                ([variance; 3], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
            }
        };
        let floor = EIGENVALUE_FLOOR_M2.max(1e-6 * values[2]);
        let semi_axes = match shape {
            Shape::Point => [POINT_RADIUS_M; 3],
            Shape::Ellipsoid | Shape::Sphere => values.map(|value| (tau * value.max(floor)).sqrt()),
        };
        Self { center: mean, axes, semi_axes }
    }

    /// Half side of the axis-aligned box around the ellipsoid, metres.
    pub fn half_box(&self) -> [f64; 3] {
        std::array::from_fn(|i| (0..3).map(|k| (self.semi_axes[k] * self.axes[k][i]).powi(2)).sum::<f64>().sqrt())
    }

    /// Shortest Euclidean distance from `x` to the surface, metres; 0 inside (paper: d*).
    pub fn distance(&self, x: [f64; 3]) -> f64 {
        let d: [f64; 3] = std::array::from_fn(|i| x[i] - self.center[i]);
        let a = self.semi_axes;
        let y: [f64; 3] =
            std::array::from_fn(|k| (self.axes[k][0] * d[0] + self.axes[k][1] * d[1] + self.axes[k][2] * d[2]).abs());
        if (0..3).map(|i| (y[i] / a[i]).powi(2)).sum::<f64>() <= 1.0 {
            return 0.0;
        }
        let mut t = (0..3).map(|i| a[i] * (y[i] - a[i])).fold(0.0, f64::max);
        for _ in 0..30 {
            let (mut norm, mut slope) = (0.0, 0.0);
            for i in 0..3 {
                let inverse = 1.0 / (t + a[i] * a[i]);
                let q = a[i] * y[i] * inverse;
                norm += q * q;
                slope += q * q * inverse;
            }
            let step = norm / slope * (norm.sqrt() - 1.0);
            t += step;
            if step <= 1e-15 * t {
                break;
            }
        }
        t * (0..3).map(|i| (y[i] / (t + a[i] * a[i])).powi(2)).sum::<f64>().sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Independent root finder: bisection on Σ (a y/(t + a²))² = 1.
    fn bracketed(a: [f64; 3], y: [f64; 3]) -> f64 {
        let f = |t: f64| (0..3).map(|i| (a[i] * y[i] / (t + a[i] * a[i])).powi(2)).sum::<f64>() - 1.0;
        if f(0.0) <= 0.0 {
            return 0.0;
        }
        let (mut low, mut high) = (0.0, 1.0);
        while f(high) > 0.0 {
            high *= 2.0;
        }
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if f(middle) > 0.0 { low = middle } else { high = middle }
        }
        (0..3).map(|i| (y[i] - a[i] * a[i] * y[i] / (low + a[i] * a[i])).powi(2)).sum::<f64>().sqrt()
    }

    fn aligned(a: [f64; 3]) -> Ellipsoid {
        Ellipsoid { center: [0.0; 3], axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], semi_axes: a }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn distance_equals_the_bracketed_root(
            log_a in prop::array::uniform3(-3.0..1.0_f64), y in prop::array::uniform3(-5.0..5.0_f64), flat in 0..8_u8,
        ) {
            let a = log_a.map(|v| 10.0_f64.powf(v));
            // Queries on axes and in planes of symmetry are where such solvers break.
            let y: [f64; 3] = std::array::from_fn(|i| if flat >> i & 1 == 1 { 0.0 } else { y[i] });
            let (ours, theirs) = (aligned(a).distance(y), bracketed(a, y));
            prop_assert!((ours - theirs).abs() < 1e-9 * (1.0 + theirs), "{a:?} {y:?}: {ours} {theirs}");
        }
    }

    #[test]
    fn distance_equals_dense_sampling_of_the_surface() {
        let covariance = [0.09, 0.04, 0.01, 0.03, -0.01, 0.005];
        let ellipsoid = Ellipsoid::of_gaussian([10.0, -4.0, 2.0], covariance, 0.584_374_4, Shape::Ellipsoid);
        let mut surface = Vec::new();
        for i in 0..600 {
            for j in 0..600 {
                let (theta, phi) =
                    (std::f64::consts::PI * f64::from(i) / 599.0, std::f64::consts::TAU * f64::from(j) / 600.0);
                let s = [theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos()];
                surface.push(std::array::from_fn::<f64, 3, _>(|k| {
                    ellipsoid.center[k]
                        + (0..3).map(|m| ellipsoid.semi_axes[m] * s[m] * ellipsoid.axes[m][k]).sum::<f64>()
                }));
            }
        }
        for x in [[10.5, -4.0, 2.0], [10.1, -3.7, 2.4], [9.8, -4.4, 1.9], [10.0, -4.0, 2.3]] {
            let sampled = surface
                .iter()
                .map(|v| (0..3).map(|k| (v[k] - x[k]).powi(2)).sum::<f64>())
                .fold(f64::MAX, f64::min)
                .sqrt();
            assert!((ellipsoid.distance(x) - sampled).abs() < 1e-4, "{x:?}: {} {sampled}", ellipsoid.distance(x));
        }
        assert_eq!(ellipsoid.distance([10.0, -4.0, 2.0]), 0.0);
    }

    #[test]
    fn degenerate_covariances_get_the_floor_and_nothing_else() {
        let point = Ellipsoid::of_gaussian([0.0; 3], [0.0; 6], 0.5843744, Shape::Ellipsoid);
        assert!(point.semi_axes.iter().all(|a| (a - 0.007_644_4).abs() < 1e-6));
        assert!((point.distance([1.0, 0.0, 0.0]) - (1.0 - 0.007_644_4)).abs() < 1e-6);
        let sphere = Ellipsoid::of_gaussian([0.0; 3], [0.04, 0.01, 0.01, 0.0, 0.0, 0.0], 0.5843744, Shape::Sphere);
        assert!((sphere.semi_axes[0] - (0.5843744_f64 * 0.02).sqrt()).abs() < 1e-12);
        // In the plane two variances make the mean: the circle is not 18 % too small.
        let circle = Ellipsoid::of_flat_gaussian([0.0; 3], [0.04, 0.01, 0.0, 0.01, 0.0, 0.0], 0.2107210, Shape::Sphere);
        assert!((circle.semi_axes[0] - (0.2107210_f64 * 0.025).sqrt()).abs() < 1e-12);
        assert!((circle.distance([0.3, 0.4, 0.0]) - (0.5 - circle.semi_axes[0])).abs() < 1e-9);
        let mean = Ellipsoid::of_gaussian([0.0; 3], [0.04, 0.01, 0.01, 0.0, 0.0, 0.0], 0.5843744, Shape::Point);
        assert!((mean.distance([0.3, 0.4, 0.0]) - 0.5).abs() < 2e-6);
    }
}
