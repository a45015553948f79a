//! Procedural worlds, LiDAR and camera simulation, and writers for the on-disk formats of real datasets.

mod classes;
mod drive;
mod error;
pub mod maths;
pub mod scene;
mod segmentation;
pub mod sensor;
pub mod world;
mod write;

pub use classes::{ClassInfo, VOID, class_of, classes};
pub use drive::{
    CameraKind, Drive, DriveOptions, FRAME_S, Noise, Rig, SimFrame, Split, Standard, StandardDrive, Trajectory,
};
pub use error::SimError;
pub use segmentation::{Bin, ErrorModel, Look, Reliability, plot_reliability, reliability};
pub use sensor::{Lighting, Sensor, SimImage};
pub use world::{Season, WorldKind, WorldProfile};
pub use write::{Format, Sequence, SimulateOptions, Summary, simulate};
