//! LiDAR models: beam directions, columns per turn, range limits, noise and how drop-outs behave.
//! Angles and limits follow the makers' data sheets and, for the order of points in a file, real scans.

use serde::{Deserialize, Serialize};

use crate::Error;

/// The LiDARs that can be simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sensor {
    /// Ouster OS1, 64 beams over 33°.
    #[serde(rename = "os1-64")]
    Os1_64,
    /// Ouster OS1, 128 beams over 45°.
    #[serde(rename = "os1-128")]
    Os1_128,
    /// Velodyne HDL-64E: two blocks of 32 beams over 27°.
    #[serde(rename = "hdl-64e")]
    Hdl64e,
}

impl std::str::FromStr for Sensor {
    type Err = Error;
    fn from_str(name: &str) -> Result<Sensor, Error> {
        match name {
            "os1-64" => Ok(Sensor::Os1_64),
            "os1-128" => Ok(Sensor::Os1_128),
            "hdl-64e" => Ok(Sensor::Hdl64e),
            _ => Err(Error::UnknownName { what: "sensor", given: name.into(), known: "os1-64, os1-128, hdl-64e" }),
        }
    }
}

/// Usual power of the signal in the odds of a return.
const FALLOFF: f64 = 2.2;

/// How returns fail with range: the makers' figures, or what recordings show.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Returns {
    /// Factor of the range at which half the pulses come back.
    pub reach: f64,
    /// Power of the signal that the odds of a return follow.
    pub falloff: f64,
}

impl Default for Returns {
    fn default() -> Returns {
        Returns { reach: 1.0, falloff: FALLOFF }
    }
}

/// One laser.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beam {
    /// Angle above the horizontal, radians.
    pub elevation: f64,
    /// Turn relative to the column's azimuth, radians.
    pub azimuth: f64,
}

/// A spinning LiDAR.
#[derive(Debug, Clone, PartialEq)]
pub struct Lidar {
    /// Lasers, highest first.
    pub beams: Vec<Beam>,
    /// Firings per turn.
    pub columns: usize,
    /// +1 when azimuth grows with the column number, -1 when it falls.
    pub spin: f64,
    /// True when the file runs through all columns of one beam before the next beam.
    pub by_ring: bool,
    /// Shortest range reported, metres.
    pub min_range_m: f64,
    /// Longest range reported, metres.
    pub max_range_m: f64,
    /// Range at which half the pulses come back from a 10 % target, metres.
    pub reach_m: f64,
    /// How steeply returns fail beyond that range: the power of the signal that the odds of a return follow.
    pub falloff: f64,
    /// Range noise, one sigma, metres.
    pub range_sigma_m: f64,
    /// Range resolution, metres.
    pub range_step_m: f64,
    /// Half angle of a beam, radians.
    pub divergence: f64,
    /// Factor from reflected share (0 to 1) to the stored intensity.
    pub intensity_scale: f64,
}

impl Lidar {
    /// The model of a sensor with its usual number of columns.
    pub fn new(sensor: Sensor) -> Lidar {
        match sensor {
            Sensor::Os1_64 => Lidar::ouster(64, 17.0, -16.45),
            Sensor::Os1_128 => Lidar::ouster(128, 22.5, -22.5),
            Sensor::Hdl64e => Lidar::hdl64e(),
        }
    }

    /// The same sensor with another number of columns per turn.
    pub fn with_columns(mut self, columns: usize) -> Lidar {
        self.columns = columns;
        self
    }

    /// The same sensor whose returns fail nearer or farther, and more or less steeply.
    pub fn with_returns(mut self, returns: Returns) -> Lidar {
        (self.reach_m, self.falloff) = (self.reach_m * returns.reach, returns.falloff);
        self
    }

    fn ouster(count: usize, top: f64, bottom: f64) -> Lidar {
        // Lasers sit in four staggered columns on the sensor's face.
        let stagger = [-3.12_f64, -1.04, 1.04, 3.12];
        let beams = (0..count)
            .map(|k| Beam {
                elevation: (top + (bottom - top) * k as f64 / (count - 1) as f64).to_radians(),
                azimuth: stagger[k % 4].to_radians(),
            })
            .collect();
        Lidar {
            beams,
            columns: 2048,
            spin: -1.0,
            by_ring: false,
            min_range_m: 0.8,
            max_range_m: 120.0,
            reach_m: 21.0,
            falloff: FALLOFF,
            range_sigma_m: 0.015,
            range_step_m: 0.001,
            divergence: 0.0016,
            intensity_scale: 0.016,
        }
    }

    fn hdl64e() -> Lidar {
        let upper = (0..32).map(|k| 2.0 - f64::from(k) / 3.0);
        let lower = (0..32).map(|k| -8.83 - 0.5 * f64::from(k));
        let beams = upper.chain(lower).map(|e: f64| Beam { elevation: e.to_radians(), azimuth: 0.0 }).collect();
        Lidar {
            beams,
            columns: 2083,
            spin: 1.0,
            by_ring: true,
            min_range_m: 1.3,
            max_range_m: 80.0,
            reach_m: 44.0,
            falloff: FALLOFF,
            range_sigma_m: 0.018,
            range_step_m: 0.002,
            divergence: 0.0010,
            intensity_scale: 1.0,
        }
    }

    /// Number of slots in a full turn.
    pub fn slots(&self) -> usize {
        self.beams.len() * self.columns
    }

    /// Azimuth of a column, radians in `(-π, π]`.
    pub fn azimuth(&self, column: usize) -> f64 {
        let turn = std::f64::consts::TAU * self.spin * column as f64 / self.columns as f64;
        turn - std::f64::consts::TAU * (turn / std::f64::consts::TAU).round()
    }

    /// Position of a beam's return in an organised file.
    pub fn slot(&self, beam: usize, column: usize) -> usize {
        if self.by_ring { beam * self.columns + column } else { column * self.beams.len() + beam }
    }
}
