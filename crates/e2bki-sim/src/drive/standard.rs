//! Three fixed sets of drives that stand in for the paper's datasets.
//! Training, validation and test drives use different seeds, so they are different places.

use serde::{Deserialize, Serialize};

use super::{CameraKind, Drift, DriveOptions, Noise, RouteKind};
use crate::Error;
use crate::sensor::{Lighting, Sensor};
use crate::world::{OffroadProfile, Season, UrbanProfile, WorldProfile};

/// Which stand-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standard {
    /// For RELLIS-3D: OS1-64, slow, all classes but unpaved.
    #[serde(rename = "rellis-like")]
    RellisLike,
    /// For OffRoad: OS1-128, fast, three seasons, changing light; object, unpaved, grass, vegetation.
    #[serde(rename = "offroad-like")]
    OffroadLike,
    /// For KITTI-360: HDL-64E, rectified camera, 11 classes.
    #[serde(rename = "kitti360-like")]
    KittiLike,
}

impl std::str::FromStr for Standard {
    type Err = Error;
    fn from_str(name: &str) -> Result<Standard, Error> {
        match name {
            "rellis-like" => Ok(Standard::RellisLike),
            "offroad-like" => Ok(Standard::OffroadLike),
            "kitti360-like" => Ok(Standard::KittiLike),
            _ => Err(Error::UnknownName {
                what: "standard drive",
                given: name.into(),
                known: "rellis-like, offroad-like, kitti360-like",
            }),
        }
    }
}

/// Part of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// For fitting.
    Train,
    /// For choosing settings.
    Validation,
    /// For the numbers that are reported.
    Test,
}

/// One drive of a standard set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StandardDrive {
    /// Its definition.
    pub options: DriveOptions,
    /// The part it belongs to.
    pub split: Split,
    /// Number of frames in experiments, unless asked otherwise.
    pub frames: usize,
}

impl Standard {
    /// The drives of one part; never empty.
    pub fn drives(self, split: Split) -> Vec<StandardDrive> {
        let base = match split {
            Split::Train => 100,
            Split::Validation => 200,
            Split::Test => 300,
        };
        let make = |n: u64| {
            let options = self.options(base + n, n);
            StandardDrive { options, split, frames: if split == Split::Train { 600 } else { 400 } }
        };
        let count = match (self, split) {
            (Standard::OffroadLike, _) | (_, Split::Train) => 3,
            _ => 1,
        };
        (0..count).map(make).collect()
    }

    fn options(self, seed: u64, n: u64) -> DriveOptions {
        let none = Noise::default();
        let lights = [Lighting::Sunny, Lighting::Overcast, Lighting::Changing];
        match self {
            Standard::RellisLike => DriveOptions {
                world: WorldProfile::Offroad(OffroadProfile {
                    paved_share: 0.34,
                    unpaved_share: 0.0,
                    dirt_patches: true,
                    puddle_chance: 0.65,
                    forest: 0.68,
                    objects: 0.35,
                }),
                seed,
                season: Season::Spring,
                lighting: lights[n as usize % 3],
                sensor: Sensor::Os1_64,
                columns: None,
                camera: CameraKind::Rellis,
                image_width: 640,
                cruise_mps: 1.8,
                skew: false,
                pose_noise: none,
                calibration_error: none,
                route: RouteKind::Endless,
                start_m: 0.0,
                drift: Drift::default(),
            },
            Standard::OffroadLike => DriveOptions {
                world: WorldProfile::Offroad(OffroadProfile {
                    paved_share: 0.0,
                    unpaved_share: 1.0,
                    dirt_patches: false,
                    puddle_chance: 0.0,
                    forest: 0.66,
                    objects: 0.6,
                }),
                seed: seed + 1000,
                season: [Season::Spring, Season::Autumn, Season::Winter][n as usize % 3],
                lighting: Lighting::Changing,
                sensor: Sensor::Os1_128,
                columns: Some(1024),
                camera: CameraKind::Rellis,
                image_width: 640,
                cruise_mps: 8.0,
                skew: false,
                pose_noise: none,
                calibration_error: none,
                route: RouteKind::Endless,
                start_m: 0.0,
                drift: Drift::default(),
            },
            Standard::KittiLike => DriveOptions {
                world: WorldProfile::Urban(UrbanProfile { parked_share: 0.26, traffic: 1.4, walkers: 2.5 }),
                seed: seed + 2000,
                season: Season::Summer,
                lighting: lights[n as usize % 3],
                sensor: Sensor::Hdl64e,
                columns: None,
                camera: CameraKind::Kitti360,
                image_width: 1408,
                cruise_mps: 8.0,
                skew: false,
                pose_noise: none,
                calibration_error: none,
                route: RouteKind::Endless,
                start_m: 0.0,
                drift: Drift::default(),
            },
        }
    }
}
