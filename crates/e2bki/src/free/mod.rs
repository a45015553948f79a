//! Free, occupied, unknown: what the beams passed through.
//!
//! Two integers per cube of 0.25 m: H, frames with a return in it, and P, frames that saw through it. A frame's part
//! ([`Sight`]) depends on its scan and pose only, never on the map; [`Counters`] are the sums of such parts. What they
//! mean is decided when they are read ([`Tally::state`], [`Tally::existence`]).
//!
//! ```
//! use e2bki::free::{Counters, Sensor, Settings, Sight, State};
//! use e2bki::Pose;
//!
//! // A round wall 10 m away, seen by 16 beams.
//! let sensor = Sensor::named("vlp-16")?;
//! let mut points = Vec::new();
//! for elevation in sensor.elevations() {
//!     for column in 0..1800 {
//!         let azimuth = std::f32::consts::TAU * column as f32 / 1800.0;
//!         points.push([10.0 * azimuth.cos(), 10.0 * azimuth.sin(), 10.0 * elevation.tan()]);
//!     }
//! }
//! let sight = Sight::new(&sensor, &points, None, &Pose::IDENTITY, &Settings::default())?;
//! let mut counters = Counters::default();
//! counters.add(&sight)?;
//! assert_eq!(counters.at([5.0, 0.1, 0.1]).state(4.0), State::Free);
//! assert_eq!(counters.at([10.0, 0.0, 0.0]).state(4.0), State::Occupied);
//! assert_eq!(counters.at([11.0, 0.1, 0.1]).state(4.0), State::Unknown);
//! counters.subtract(&sight)?;
//! assert_eq!(counters, Counters::default());
//! # Ok::<(), e2bki::Error>(())
//! ```

mod above;
mod angles;
mod block;
mod bytes;
mod cells;
mod counters;
mod cubes;
mod estimate;
mod feet;
mod flips;
mod forgetting;
mod mapper;
mod moments;
mod motion;
mod pass;
mod polar;
mod range_image;
mod regions;
mod rows;
mod sensor;
mod settings;
mod sight;
mod space;
mod state;
mod still;
mod tables;
#[cfg(test)]
mod tests;

pub use above::BAND_M;
pub(crate) use above::{Above, checked as checked_band};
pub use bytes::{CountersBytes, CountersHead, CountersSlab};
pub use counters::{Counters, MAX_FRAMES, Tally};
pub use cubes::{BlockKey, cube_of};
pub use estimate::{estimate, of_rings};
pub(crate) use flips::Metre;
pub use forgetting::Forgetting;
pub use moments::Seen;
pub use range_image::RangeImage;
pub use sensor::{BEAMS, COLUMNS, SENSORS, Sensor};
pub use settings::{BLOCK_M, CUBE_M, LEVELS, Settings};
pub use sight::Sight;
pub use space::FreeSpaceReport;
pub(crate) use space::{Existence, FreeSpace, Known, Looked};
pub use state::{KAPPA_MOVABLE, KAPPA_STATIC, State};
pub use still::StandStill;
