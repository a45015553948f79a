//! Lenses: Brown's model with its rational extension, and fisheyes.

use super::brown::Brown;

/// How a lens bends what a pinhole would show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lens {
    /// Radial and tangential distortion, as `plumb_bob` and `rational_polynomial` of ROS.
    Brown(Brown),
    /// A fisheye, as `equidistant` of ROS.
    Fisheye(Fisheye),
}

impl Default for Lens {
    fn default() -> Self {
        Self::Brown(Brown::default())
    }
}

impl From<Brown> for Lens {
    fn from(lens: Brown) -> Self {
        Self::Brown(lens)
    }
}

impl Lens {
    /// Distorted coordinates on the plane z = 1; nothing where the lens model folds back.
    pub fn bend(&self, place: [f64; 2]) -> Option<[f64; 2]> {
        match self {
            Self::Brown(lens) => lens.bend(place),
            Self::Fisheye(lens) => lens.bend(place),
        }
    }
}

/// A fisheye lens: the angle θ off the axis is imaged at θ (1 + k1 θ² + k2 θ⁴ + k3 θ⁶ + k4 θ⁸).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fisheye {
    terms: [f64; 4],
    /// Angle up to which the polynomial grows.
    limit: f64,
}

impl Fisheye {
    /// From k1 to k4.
    pub fn new(terms: [f64; 4]) -> Self {
        let [k1, k2, k3, k4] = terms;
        let slope = |q: f64| 1.0 + q * (3.0 * k1 + q * (5.0 * k2 + q * (7.0 * k3 + q * 9.0 * k4)));
        const STEPS: u32 = 2000;
        let angle = |i: u32| f64::from(i) * std::f64::consts::FRAC_PI_2 / f64::from(STEPS);
        let folds = (1..=STEPS).find(|i| slope(angle(*i) * angle(*i)) <= 0.0);
        Self { terms, limit: angle(folds.map_or(STEPS, |i| i - 1)) }
    }

    /// Distorted coordinates on the plane z = 1; nothing where the polynomial folds back.
    pub fn bend(&self, [x, y]: [f64; 2]) -> Option<[f64; 2]> {
        let r = (x * x + y * y).sqrt();
        let angle = libm::atan(r);
        if angle > self.limit {
            return None;
        }
        let [k1, k2, k3, k4] = self.terms;
        let q = angle * angle;
        let image = angle * (1.0 + q * (k1 + q * (k2 + q * (k3 + q * k4))));
        let scale = if r > 1e-9 { image / r } else { 1.0 };
        Some([x * scale, y * scale])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fisheye_images_angles() {
        let plain = Fisheye::new([0.0; 4]);
        // 45° to the side: at a distance of π/4 from the centre.
        let [x, y] = plain.bend([0.6, 0.8]).unwrap();
        assert!((x.hypot(y) - std::f64::consts::FRAC_PI_4).abs() < 1e-12 && (y / x - 0.8 / 0.6).abs() < 1e-12);
        assert_eq!(plain.bend([0.0, 0.0]), Some([0.0, 0.0]));
        let bent = Fisheye::new([0.1, -0.02, 0.003, -0.004]);
        let t: f64 = 0.3_f64.atan();
        let expected = t * (1.0 + 0.1 * t.powi(2) - 0.02 * t.powi(4) + 0.003 * t.powi(6) - 0.004 * t.powi(8));
        assert!((bent.bend([0.3, 0.0]).unwrap()[0] - expected).abs() < 1e-12);
        // θ (1 − θ²) grows up to θ = 1/√3.
        let folding = Fisheye::new([-1.0, 0.0, 0.0, 0.0]);
        assert!((folding.limit - (1.0 / 3.0_f64).sqrt()).abs() < 1e-3);
        assert!(folding.bend([1.0, 0.0]).is_none());
    }
}
