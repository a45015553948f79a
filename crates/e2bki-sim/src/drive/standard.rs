//! Three fixed sets of drives that stand in for the paper's datasets.
//! Training, validation and test drives use different seeds, so they are different places.

use serde::{Deserialize, Serialize};

use super::{CameraKind, Drift, DriveOptions, FRAME_S, Noise, RouteKind};
use crate::Error;
use crate::sensor::{Lighting, Returns, Sensor};
use crate::world::{OffroadProfile, Season, UrbanProfile, WorldProfile};

/// Length of one round of a matched drive, metres.
const ROUND_M: f64 = 320.0;

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

/// Which drives of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Generation {
    /// Returns and routes as real recordings have them: quantiles of range, incidence and spacing were fitted to frames of
    /// RELLIS-3D and KITTI-360, and the way comes back to where it was.
    #[default]
    Matched,
    /// The drives of before: makers' figures for the sensor, a way that never comes back.
    First,
}

impl Generation {
    /// Its name, as it is read.
    pub fn name(self) -> &'static str {
        match self {
            Generation::Matched => "matched",
            Generation::First => "first",
        }
    }
}

impl std::str::FromStr for Generation {
    type Err = Error;
    fn from_str(name: &str) -> Result<Generation, Error> {
        match name {
            "matched" => Ok(Generation::Matched),
            "first" => Ok(Generation::First),
            _ => Err(Error::UnknownName { what: "kind of drives", given: name.into(), known: "matched, first" }),
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
    /// The first drives of one part; never empty.
    pub fn drives(self, split: Split) -> Vec<StandardDrive> {
        self.drives_of(Generation::First, split)
    }

    /// The drives of one part; never empty.
    pub fn drives_of(self, generation: Generation, split: Split) -> Vec<StandardDrive> {
        let base = match split {
            Split::Train => 100,
            Split::Validation => 200,
            Split::Test => 300,
        };
        let make = |n: u64| {
            let mut options = self.options(base + n, n);
            if generation == Generation::Matched {
                self.match_recordings(&mut options);
            }
            let frames = match (generation, split) {
                (_, Split::Train) => 600,
                (Generation::Matched, _) => 900,
                (Generation::First, _) => 400,
            };
            StandardDrive { options, split, frames }
        };
        let count = match (self, split) {
            (Standard::OffroadLike, _) | (_, Split::Train) => 3,
            _ => 1,
        };
        (0..count).map(make).collect()
    }

    /// Changes a drive to what recordings of the dataset look like: docs/simulator has how near it comes.
    fn match_recordings(self, options: &mut DriveOptions) {
        options.route = RouteKind::Eight { length_m: ROUND_M };
        match (self, &mut options.world) {
            (Standard::RellisLike, WorldProfile::Offroad(profile)) => {
                profile.forest = 0.9;
                options.returns = Returns { reach: 0.8, falloff: 8.0 };
                // Frames that have scan, image and labels come four or five times a second.
                options.frame_s = 0.2;
            }
            (Standard::OffroadLike, _) => options.returns = Returns { reach: 0.8, falloff: 8.0 },
            _ => options.returns.reach = 0.8,
        }
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
                returns: Returns::default(),
                frame_s: FRAME_S,
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
                returns: Returns::default(),
                frame_s: FRAME_S,
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
                returns: Returns::default(),
                frame_s: FRAME_S,
            },
        }
    }
}
