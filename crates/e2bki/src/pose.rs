//! Rigid motions in f64: world coordinates reach thousands of kilometres.

use crate::error::{Error, Result};

/// Largest absolute world coordinate in metres. Earth-centred and UTM coordinates fit.
pub const WORLD_LIMIT_M: f64 = 2.0e7;

/// How far RᵀR may be from the identity before a pose is refused.
const RIGID_TOLERANCE: f64 = 1e-3;

/// A rigid motion: `world = rotation · sensor + translation`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    rotation: [[f64; 3]; 3],
    translation: [f64; 3],
}

impl Pose {
    /// The motion that changes nothing.
    pub const IDENTITY: Self =
        Self { rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], translation: [0.0; 3] };

    /// A rotation (rows) and a translation in metres. Fails unless the rotation is one: orthonormal to 1e−3 with
    /// determinant +1. Smaller deviations, as poses printed with few digits have, are removed by orthonormalising.
    pub fn new(rotation: [[f64; 3]; 3], translation: [f64; 3]) -> Result<Self> {
        for value in rotation.iter().flatten().chain(&translation) {
            if !value.is_finite() {
                return Err(Error::Pose("it holds a NaN or infinite number".into()));
            }
        }
        for (axis, value) in ["x", "y", "z"].iter().zip(translation) {
            if value.abs() > WORLD_LIMIT_M {
                return Err(Error::Pose(format!(
                    "{axis} = {value} m is outside ±{WORLD_LIMIT_M} m; subtract an origin"
                )));
            }
        }
        let mut worst: f64 = 0.0;
        for i in 0..3 {
            for j in 0..3 {
                let product = dot(rotation[i], rotation[j]);
                worst = worst.max((product - f64::from(u8::from(i == j))).abs());
            }
        }
        if worst > RIGID_TOLERANCE {
            return Err(Error::Pose(format!(
                "its 3×3 part is not a rotation (rows deviate from orthonormal by {worst:.3e}; at most {RIGID_TOLERANCE:e} is accepted)"
            )));
        }
        if dot(cross(rotation[0], rotation[1]), rotation[2]) < 0.0 {
            return Err(Error::Pose("its 3×3 part is a reflection (determinant −1), not a rotation".into()));
        }
        let x = unit(rotation[0]);
        let along = dot(x, rotation[1]);
        let y = unit([rotation[1][0] - along * x[0], rotation[1][1] - along * x[1], rotation[1][2] - along * x[2]]);
        Ok(Self { rotation: [x, y, cross(x, y)], translation })
    }

    /// A pose that was kept: as [`Self::new`], but bit for bit what [`Self::rotation`] and [`Self::translation`] gave.
    pub fn restored(rotation: [[f64; 3]; 3], translation: [f64; 3]) -> Result<Self> {
        let made = Self::new(rotation, translation)?;
        let far = |i: usize, j: usize| (made.rotation[i][j] - rotation[i][j]).abs() > 1e-14;
        if (0..9).any(|at| far(at / 3, at % 3)) { Ok(made) } else { Ok(Self { rotation, translation }) }
    }

    /// From a 4×4 homogeneous matrix in row order; the last row must be 0 0 0 1.
    pub fn from_matrix(m: [[f64; 4]; 4]) -> Result<Self> {
        if m[3] != [0.0, 0.0, 0.0, 1.0] {
            return Err(Error::Pose(format!("its last row is {:?}, not 0 0 0 1", m[3])));
        }
        let row = |i: usize| [m[i][0], m[i][1], m[i][2]];
        Self::new([row(0), row(1), row(2)], [m[0][3], m[1][3], m[2][3]])
    }

    /// A pure translation in metres.
    pub fn from_translation(translation: [f64; 3]) -> Result<Self> {
        Self::new(Self::IDENTITY.rotation, translation)
    }

    /// The rotation, by rows.
    pub fn rotation(&self) -> [[f64; 3]; 3] {
        self.rotation
    }

    /// The translation in metres: where the sensor is in the world.
    pub fn translation(&self) -> [f64; 3] {
        self.translation
    }

    /// Moves a point.
    pub fn apply(&self, p: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|i| dot(self.rotation[i], p) + self.translation[i])
    }

    /// The motion back.
    pub fn inverse(&self) -> Self {
        let r = &self.rotation;
        let rotation: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| r[j][i]));
        Self { rotation, translation: std::array::from_fn(|i| -dot(rotation[i], self.translation)) }
    }

    /// This motion after `first`.
    pub fn after(&self, first: &Self) -> Result<Self> {
        let columns: [[f64; 3]; 3] = std::array::from_fn(|j| std::array::from_fn(|i| first.rotation[i][j]));
        let rotation = std::array::from_fn(|i| std::array::from_fn(|j| dot(self.rotation[i], columns[j])));
        Self::new(rotation, self.apply(first.translation))
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn unit(a: [f64; 3]) -> [f64; 3] {
    let length = dot(a, a).sqrt();
    a.map(|v| v / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rigid_motions_are_accepted() {
        let identity = Pose::IDENTITY.rotation;
        assert!(Pose::new(identity, [1e6, -1e7, 3.0]).is_ok());
        assert!(Pose::new(identity, [3e7, 0.0, 0.0]).is_err());
        assert!(Pose::new(identity, [f64::NAN, 0.0, 0.0]).is_err());
        assert!(Pose::new([[1.1, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0.0; 3]).is_err());
        let mirrored = Pose::new([[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0.0; 3]);
        assert!(mirrored.unwrap_err().to_string().contains("reflection"));
        assert!(Pose::new([[0.0; 3]; 3], [0.0; 3]).is_err());
        let mut m = [[1.0, 0.0, 0.0, 2.0], [0.0, 0.0, -1.0, 3.0], [0.0, 1.0, 0.0, 4.0], [0.0, 0.0, 0.0, 1.0]];
        assert_eq!(Pose::from_matrix(m).unwrap().apply([1.0, 1.0, 1.0]), [3.0, 2.0, 5.0]);
        let pose = Pose::from_matrix(m).unwrap();
        assert_eq!(pose.inverse().apply(pose.apply([1.0, 2.0, 3.0])), [1.0, 2.0, 3.0]);
        m[3][0] = 0.5;
        assert!(Pose::from_matrix(m).is_err());
    }
}
