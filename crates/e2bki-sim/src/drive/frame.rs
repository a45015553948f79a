//! One LiDAR frame with its ground truth, as plain arrays.
//! Only returns are held; `slots` says where each belongs in an organised file.

use crate::scene::Material;

/// A simulated LiDAR frame. All per-point vectors have the same length.
#[derive(Debug, Clone, PartialEq)]
pub struct SimFrame {
    /// Frame number in the drive.
    pub index: usize,
    /// Time since the drive's start, seconds.
    pub time_s: f64,
    /// Returns in the sensor frame, metres.
    pub points: Vec<[f32; 3]>,
    /// True class of each return (index into [`crate::Drive::classes`], or [`crate::VOID`]).
    pub labels: Vec<u8>,
    /// Intensity as the sensor's files store it.
    pub intensity: Vec<f32>,
    /// Material of each return.
    pub materials: Vec<Material>,
    /// Object number of each return, 0 for scenery.
    pub objects: Vec<u32>,
    /// True where the object moves.
    pub moving: Vec<bool>,
    /// Place of each return among the sensor's slots, for organised files.
    pub slots: Vec<u32>,
    /// Number of slots of a full turn.
    pub slot_count: usize,
    /// The pose the robot believes (with pose noise, if any), row-major.
    pub world_from_sensor: [[f64; 4]; 4],
    /// The pose from which the scan was made, row-major.
    pub true_world_from_sensor: [[f64; 4]; 4],
}

impl SimFrame {
    /// A return in world coordinates, by the believed pose.
    pub fn world_point(&self, k: usize) -> [f64; 3] {
        let (p, m) = (self.points[k].map(f64::from), &self.world_from_sensor);
        std::array::from_fn(|r| m[r][0] * p[0] + m[r][1] * p[1] + m[r][2] * p[2] + m[r][3])
    }
}
