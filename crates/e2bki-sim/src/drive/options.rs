//! Everything that defines a drive. Two drives with equal options give equal bytes.
//! Numbers are checked once, by [`DriveOptions::check`], before anything is simulated.

use serde::{Deserialize, Serialize};

use super::drift::Drift;
use super::path::RouteKind;
use super::recorder::FRAME_S;
use crate::Error;
use crate::sensor::{Lighting, Returns, Sensor};
use crate::world::{Season, WorldKind, WorldProfile};

/// Which camera, and where it sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CameraKind {
    /// RELLIS-3D: 1920 × 1200, Brown distortion; the LiDAR frame looks backwards.
    Rellis,
    /// KITTI-360: 1408 × 376, rectified; the LiDAR frame looks forwards.
    Kitti360,
}

/// Size of an error in position and direction.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Noise {
    /// One sigma of each coordinate, metres.
    pub position_m: f64,
    /// One sigma of each angle, radians.
    pub angle_rad: f64,
}

/// Definition of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DriveOptions {
    /// Kind of world.
    pub world: WorldProfile,
    /// Seed of world, traffic and all noise.
    pub seed: u64,
    /// Time of year.
    pub season: Season,
    /// Light over the drive.
    pub lighting: Lighting,
    /// LiDAR.
    pub sensor: Sensor,
    /// LiDAR columns per turn; the sensor's own number when absent.
    pub columns: Option<usize>,
    /// Camera.
    pub camera: CameraKind,
    /// Image width in pixels; height follows the camera's shape.
    pub image_width: usize,
    /// Usual speed, m/s.
    pub cruise_mps: f64,
    /// Points are stored as measured during the turn (true) or as if the turn took no time (false).
    pub skew: bool,
    /// Error of the reported poses.
    pub pose_noise: Noise,
    /// Fixed error of the reported camera–LiDAR calibration.
    pub calibration_error: Noise,
    /// Form of the way: onwards without end, or a closed loop.
    #[serde(default)]
    pub route: RouteKind,
    /// Where on the way the drive begins, metres from its start: a second robot on the same way begins elsewhere.
    #[serde(default)]
    pub start_m: f64,
    /// Drift of the reported poses, as of odometry that nothing corrects.
    #[serde(default)]
    pub drift: Drift,
    /// How LiDAR returns fail with range.
    #[serde(default, skip_serializing_if = "usual_returns")]
    pub returns: Returns,
    /// Time between frames, seconds.
    #[serde(default = "tenth", skip_serializing_if = "is_tenth")]
    pub frame_s: f64,
}

// What is as it always was is not written: descriptions of drives stay the same bytes.
fn usual_returns(returns: &Returns) -> bool {
    *returns == Returns::default()
}

fn is_tenth(seconds: &f64) -> bool {
    *seconds == FRAME_S
}

fn tenth() -> f64 {
    FRAME_S
}

impl DriveOptions {
    /// A drive through a world in which every class of its kind occurs, with the camera that goes with it.
    pub fn new(kind: WorldKind, seed: u64, sensor: Sensor) -> DriveOptions {
        let (camera, image_width, cruise_mps) = match kind {
            WorldKind::Offroad => (CameraKind::Rellis, 640, 3.0),
            WorldKind::Urban => (CameraKind::Kitti360, 1408, 8.0),
        };
        DriveOptions {
            world: WorldProfile::full(kind),
            seed,
            season: Season::Summer,
            lighting: Lighting::Sunny,
            sensor,
            columns: None,
            camera,
            image_width,
            cruise_mps,
            skew: false,
            pose_noise: Noise::default(),
            calibration_error: Noise::default(),
            route: RouteKind::default(),
            start_m: 0.0,
            drift: Drift::default(),
            returns: Returns::default(),
            frame_s: FRAME_S,
        }
    }

    /// Checks every number.
    pub fn check(&self) -> Result<(), Error> {
        let within = |what, given: f64, low: f64, high: f64| {
            if given >= low && given <= high { Ok(()) } else { Err(Error::OutOfRange { what, given, low, high }) }
        };
        within("LiDAR columns", self.columns.unwrap_or(1024) as f64, 16.0, 8192.0)?;
        within("image width", self.image_width as f64, 32.0, 4096.0)?;
        within("cruise speed (m/s)", self.cruise_mps, 0.1, 40.0)?;
        within("pose noise (m)", self.pose_noise.position_m, 0.0, 10.0)?;
        within("pose noise (rad)", self.pose_noise.angle_rad, 0.0, 1.0)?;
        within("calibration error (m)", self.calibration_error.position_m, 0.0, 10.0)?;
        within("calibration error (rad)", self.calibration_error.angle_rad, 0.0, 1.0)?;
        within("length of a round (m)", self.route.round_m().unwrap_or(100.0), 60.0, 100_000.0)?;
        within("start on the way (m)", self.start_m, 0.0, 100_000.0)?;
        within("reach of returns (factor)", self.returns.reach, 0.1, 10.0)?;
        within("fall-off of returns", self.returns.falloff, 0.5, 20.0)?;
        within("time between frames (s)", self.frame_s, 0.01, 60.0)?;
        within("drift (share of the way)", self.drift.share, 0.0, 0.2)?;
        within("drift (rad per 100 m)", self.drift.angle_rad, 0.0, 1.0)
    }
}
