//! Where the sensors sit on the vehicle. Vehicle axes: x forward, y left, z up, origin on the ground.
//! The reported calibration may differ from the true one; only the reported one is written.

use super::{CameraKind, Noise};
use crate::maths::{Rigid, Stream, Vec3, vec3};
use crate::sensor::Camera;

/// Mounting and calibration of LiDAR and camera.
#[derive(Debug, Clone, Copy)]
pub struct Rig {
    /// LiDAR on the vehicle.
    pub vehicle_from_sensor: Rigid,
    /// Camera (rectified, for KITTI-360) relative to the LiDAR, as it is.
    pub sensor_from_camera: Rigid,
    /// The same as the calibration file says.
    pub reported_sensor_from_camera: Rigid,
    /// Intrinsics.
    pub camera: Camera,
}

impl Rig {
    /// The rig of a dataset, with a fixed calibration error drawn from `seed`.
    pub fn new(kind: CameraKind, image_width: usize, error: Noise, seed: u64) -> Rig {
        let (vehicle_from_sensor, sensor_from_camera, camera) = match kind {
            CameraKind::Rellis => (
                Rigid::from_yaw_pitch_roll(std::f64::consts::PI, 0.0, 0.0, vec3(0.1, 0.0, 1.45)),
                // The dataset's published camera-to-LiDAR transform: the camera looks along -x of the LiDAR.
                Rigid::from_quaternion(
                    [-0.50507811, 0.51206185, 0.49024953, -0.49228464],
                    vec3(-0.13165462, 0.03870398, -0.17253834),
                ),
                Camera::rellis(image_width),
            ),
            CameraKind::Kitti360 => (
                Rigid::from_yaw_pitch_roll(0.0, 0.0, 0.0, vec3(0.0, 0.0, 1.73)),
                looking_forward(vec3(0.80, 0.30, -0.18), -0.004, 0.088),
                Camera::kitti360(image_width),
            ),
        };
        let mut random = Stream::new(seed ^ 0xca1b);
        let mut jitter = |k: f64| vec3(k * random.normal(), k * random.normal(), k * random.normal());
        let slip = Rigid::from_rotation_vector(jitter(error.angle_rad), jitter(error.position_m));
        Rig { vehicle_from_sensor, sensor_from_camera, reported_sensor_from_camera: slip * sensor_from_camera, camera }
    }
}

/// A camera that looks forward from `at`, turned left by `yaw` and tilted down by `tilt`.
fn looking_forward(at: Vec3, yaw: f64, tilt: f64) -> Rigid {
    let body = Rigid::from_yaw_pitch_roll(yaw, tilt, 0.0, at);
    let axes = Rigid::from_axes(vec3(0.0, -1.0, 0.0), vec3(0.0, 0.0, -1.0), vec3(1.0, 0.0, 0.0), Vec3::ZERO);
    body * axes
}
