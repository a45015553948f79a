//! Rigid transforms, named `parent_from_child` where they are used: `parent_from_child.apply(x)`
//! takes child coordinates to parent coordinates.

use super::{Vec3, vec3};

/// Rotation followed by translation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rigid {
    /// Row-major rotation matrix.
    pub rotation: [[f64; 3]; 3],
    /// Translation, metres.
    pub translation: Vec3,
}

impl Rigid {
    /// The transform that changes nothing.
    pub const IDENTITY: Rigid =
        Rigid { rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], translation: Vec3::ZERO };

    /// Rotation whose columns are the child's axes in parent coordinates.
    pub fn from_axes(x: Vec3, y: Vec3, z: Vec3, translation: Vec3) -> Rigid {
        Rigid { rotation: [[x.x, y.x, z.x], [x.y, y.y, z.y], [x.z, y.z, z.z]], translation }
    }

    /// Yaw about z, then pitch about y, then roll about x (radians), at `translation`.
    pub fn from_yaw_pitch_roll(yaw: f64, pitch: f64, roll: f64, translation: Vec3) -> Rigid {
        let (sy, cy) = yaw.sin_cos();
        let (sp, cp) = pitch.sin_cos();
        let (sr, cr) = roll.sin_cos();
        Rigid {
            rotation: [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ],
            translation,
        }
    }

    /// Rotation vector (axis times angle, radians) and translation.
    pub fn from_rotation_vector(v: Vec3, translation: Vec3) -> Rigid {
        let angle = v.length();
        let half = 0.5 * angle;
        let k = if angle > 1e-12 { half.sin() / angle } else { 0.5 };
        Rigid::from_quaternion([half.cos(), v.x * k, v.y * k, v.z * k], translation)
    }

    /// Unit quaternion `[w, x, y, z]` (normalised here) and translation.
    pub fn from_quaternion(q: [f64; 4], translation: Vec3) -> Rigid {
        let n = (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]).sqrt();
        let [w, x, y, z] = q.map(|c| c / n);
        Rigid {
            rotation: [
                [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
                [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
                [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
            ],
            translation,
        }
    }

    /// The rotation as a unit quaternion `[w, x, y, z]` with `w >= 0`.
    pub fn quaternion(&self) -> [f64; 4] {
        let m = &self.rotation;
        let w2 = 1.0 + m[0][0] + m[1][1] + m[2][2];
        let x2 = 1.0 + m[0][0] - m[1][1] - m[2][2];
        let y2 = 1.0 - m[0][0] + m[1][1] - m[2][2];
        let z2 = 1.0 - m[0][0] - m[1][1] + m[2][2];
        let (a, b, c) = (m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]);
        let (d, e, f) = (m[0][1] + m[1][0], m[0][2] + m[2][0], m[1][2] + m[2][1]);
        let q = if w2 >= x2 && w2 >= y2 && w2 >= z2 {
            [w2, a, b, c]
        } else if x2 >= y2 && x2 >= z2 {
            [a, x2, d, e]
        } else if y2 >= z2 {
            [b, d, y2, f]
        } else {
            [c, e, f, z2]
        };
        let n = (q.iter().map(|v| v * v).sum::<f64>()).sqrt();
        let n = if q[0] < 0.0 { -n } else { n };
        q.map(|v| v / n)
    }

    /// Rotates a direction.
    #[inline]
    pub fn rotate(&self, v: Vec3) -> Vec3 {
        let r = &self.rotation;
        vec3(
            r[0][0] * v.x + r[0][1] * v.y + r[0][2] * v.z,
            r[1][0] * v.x + r[1][1] * v.y + r[1][2] * v.z,
            r[2][0] * v.x + r[2][1] * v.y + r[2][2] * v.z,
        )
    }

    /// Moves a point.
    #[inline]
    pub fn apply(&self, p: Vec3) -> Vec3 {
        self.rotate(p) + self.translation
    }

    /// `self · other`: applies `other` first.
    pub fn then_inner(&self, other: &Rigid) -> Rigid {
        let (a, b) = (&self.rotation, &other.rotation);
        let mut rotation = [[0.0; 3]; 3];
        for (i, row) in rotation.iter_mut().enumerate() {
            for (j, value) in row.iter_mut().enumerate() {
                *value = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
            }
        }
        Rigid { rotation, translation: self.apply(other.translation) }
    }

    /// The inverse transform.
    pub fn inverse(&self) -> Rigid {
        let r = &self.rotation;
        let rotation = [[r[0][0], r[1][0], r[2][0]], [r[0][1], r[1][1], r[2][1]], [r[0][2], r[1][2], r[2][2]]];
        let back = Rigid { rotation, translation: Vec3::ZERO };
        Rigid { rotation, translation: -back.rotate(self.translation) }
    }

    /// Homogeneous 4×4 matrix, row-major.
    pub fn to_matrix(self) -> [[f64; 4]; 4] {
        let (r, t) = (&self.rotation, self.translation);
        [
            [r[0][0], r[0][1], r[0][2], t.x],
            [r[1][0], r[1][1], r[1][2], t.y],
            [r[2][0], r[2][1], r[2][2], t.z],
            [0.0, 0.0, 0.0, 1.0],
        ]
    }
}

impl std::ops::Mul for Rigid {
    type Output = Rigid;
    fn mul(self, other: Rigid) -> Rigid {
        self.then_inner(&other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_and_quaternion_round_trip() {
        for k in 0..40 {
            let a = f64::from(k) * 0.37;
            let t = vec3(a, -2.0 * a, 0.3);
            let m = Rigid::from_yaw_pitch_roll(a * 1.7, (a * 0.9).sin(), a, t);
            let p = vec3(1.0, -2.0, 0.5);
            assert!((m.inverse().apply(m.apply(p)) - p).length() < 1e-12);
            let again = Rigid::from_quaternion(m.quaternion(), t);
            assert!((again.apply(p) - m.apply(p)).length() < 1e-12);
        }
    }
}
