//! Drives: a vehicle with its sensors on a route through a world, frame by frame, in memory.
//! A frame costs nothing for the camera; an image costs nothing for the LiDAR.

mod drift;
mod frame;
mod options;
mod path;
mod recorder;
mod rig;
mod standard;
mod trajectory;

pub use drift::Drift;
pub use frame::SimFrame;
pub use options::{CameraKind, DriveOptions, Noise};
pub use path::{Place, RouteKind};
pub use recorder::{Drive, FRAME_S, START_NS};
pub use rig::Rig;
pub use standard::{Generation, Split, Standard, StandardDrive};
pub use trajectory::Trajectory;
