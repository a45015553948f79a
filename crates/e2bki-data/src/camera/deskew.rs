//! The motion of the vehicle during one turn of the LiDAR, undone.
//!
//! The share of the turn is s = atan2(y, x) / 2π from −½ to ½, with the pose reported for straight ahead (s = 0). A
//! point is moved by the share s of the motion back to the frame before.

use e2bki::Pose;

/// Motion over one turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deskew {
    axis: [f64; 3],
    angle: f64,
    translation: [f64; 3],
}

impl Deskew {
    /// From the sensor's poses at a frame and at the one before, in the same world.
    pub fn between(now: &Pose, before: &Pose) -> e2bki::Result<Self> {
        Ok(Self::of(&now.inverse().after(before)?))
    }

    /// From the motion `sensor now ← sensor one turn before`.
    pub fn of(now_from_before: &Pose) -> Self {
        let r = now_from_before.rotation();
        // The rotation vector from the antisymmetric part: exact for the small turns of one revolution.
        let v = [0.5 * (r[2][1] - r[1][2]), 0.5 * (r[0][2] - r[2][0]), 0.5 * (r[1][0] - r[0][1])];
        let sine = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let cosine = 0.5 * (r[0][0] + r[1][1] + r[2][2] - 1.0);
        let angle = libm::atan2(sine, cosine);
        let axis = if sine > 1e-12 { v.map(|x| x / sine) } else { [0.0, 0.0, 1.0] };
        Self { axis, angle: if sine > 1e-12 { angle } else { 0.0 }, translation: now_from_before.translation() }
    }

    /// Length of the motion, metres.
    pub fn distance(&self) -> f64 {
        self.translation.iter().map(|v| v * v).sum::<f64>().sqrt()
    }

    /// Where the point would have been measured had the turn taken no time.
    pub fn apply(&self, point: [f32; 3]) -> [f32; 3] {
        let p = point.map(f64::from);
        let s = libm::atan2(p[1], p[0]) / std::f64::consts::TAU;
        let (sin, cos) = libm::sincos(s * self.angle);
        let k = self.axis;
        let along = (1.0 - cos) * (k[0] * p[0] + k[1] * p[1] + k[2] * p[2]);
        let cross = [k[1] * p[2] - k[2] * p[1], k[2] * p[0] - k[0] * p[2], k[0] * p[1] - k[1] * p[0]];
        std::array::from_fn(|i| (cos * p[i] + sin * cross[i] + along * k[i] + s * self.translation[i]) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_ahead_stays_and_the_sides_move_by_their_share() {
        let (sin, cos) = (0.02_f64.sin(), 0.02_f64.cos());
        let motion = Pose::new([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]], [-1.2, 0.1, 0.0]).unwrap();
        let deskew = Deskew::of(&motion);
        assert_eq!(deskew.apply([10.0, 0.0, 1.0]), [10.0, 0.0, 1.0]);
        let left = deskew.apply([0.0, 10.0, 1.0]);
        let (sin, cos) = (0.005_f64.sin(), 0.005_f64.cos());
        let expected = [-10.0 * sin - 0.3, 10.0 * cos + 0.025, 1.0];
        for i in 0..3 {
            assert!((f64::from(left[i]) - expected[i]).abs() < 1e-5, "{left:?}");
        }
        assert_eq!(Deskew::of(&Pose::IDENTITY).apply([3.0, -4.0, 2.0]), [3.0, -4.0, 2.0]);
    }
}
