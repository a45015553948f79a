//! The numbers of the test, each with what it is for.

use crate::error::{Error, Result};

/// Side of the cubes that are counted, metres; those of the primitives by default.
pub const CUBE_M: f64 = 0.25;
/// Sides of the blocks that may be passed as a whole: cubes of 0.25, 0.5, 1 and 2 m.
pub const LEVELS: usize = 4;
/// Side of the largest blocks, metres.
pub const BLOCK_M: f64 = 2.0;

/// How far off the position of a pose is whose direction is off by a degree, metres.
pub(super) const POSITION_PER_DEG: f64 = 0.2;

/// Parameters of the test whether a scan saw through a place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Places farther than this are not tested, metres.
    pub max_range_m: f64,
    /// Places nearer than this are not tested, metres.
    pub min_range_m: f64,
    /// Radius of the ball that stands for a cube, in sides of the cube (ρ).
    pub radius: f64,
    /// How far beyond a place every beam must have gone, metres …
    pub margin_m: f64,
    /// … and per metre of distance.
    pub margin_per_m: f64,
    /// Error of the pose's direction that the test tolerates, degrees (θ), and of its position, 0.2 m for each.
    pub pose_error_deg: f64,
    /// Least share of a window's pixels with a return, for a cube …
    pub valid: f64,
    /// … and for a larger block, which speaks for all of its cubes.
    pub valid_block: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_range_m: 30.0,
            min_range_m: 1.0,
            radius: 0.45,
            margin_m: 0.1,
            margin_per_m: 0.005,
            pose_error_deg: 0.0,
            valid: 0.5,
            valid_block: 0.9,
        }
    }
}

impl Settings {
    /// Fails if a number is out of range.
    pub fn check(&self) -> Result<()> {
        let ranges = [
            ("max_range_m", self.max_range_m, 1.0, 300.0),
            ("min_range_m", self.min_range_m, 0.5, 50.0),
            ("radius", self.radius, 0.25, 2.0),
            ("margin_m", self.margin_m, 0.0, 5.0),
            ("margin_per_m", self.margin_per_m, 0.0, 0.5),
            ("pose_error_deg", self.pose_error_deg, 0.0, 10.0),
            ("valid", self.valid, 0.01, 1.0),
            ("valid_block", self.valid_block, 0.01, 1.0),
        ];
        for (name, value, low, high) in ranges {
            if !(value >= low && value <= high) {
                let allowed = format!("{low} to {high}");
                return Err(Error::Argument { name, found: value.to_string(), allowed });
            }
        }
        Ok(())
    }
}
