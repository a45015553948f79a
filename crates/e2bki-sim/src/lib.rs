//! Procedural worlds, LiDAR and camera simulation, and writers for the on-disk formats of real datasets.
//!
//! A [`Drive`] is a vehicle with its sensors on a route without end. It is defined by [`DriveOptions`] alone: the same
//! options give the same bytes, for any thread count, and frames may be asked for in any order.
//!
//! ```
//! use e2bki_sim::{Drive, DriveOptions, ErrorModel, Sensor, WorldKind};
//!
//! let mut options = DriveOptions::new(WorldKind::Urban, 1, Sensor::Hdl64e);
//! options.columns = Some(256); // a coarse scan, quick to make
//! let drive = Drive::new(options)?;
//! let frame = drive.frame(10);
//! assert_eq!(frame.points.len(), frame.labels.len());
//!
//! // What a network trained on 10 % of the data would say about it, as evidence per class.
//! let evidence = ErrorModel::for_drive(&drive, 0.1)?.evidence(&frame);
//! assert_eq!(evidence.len(), frame.points.len() * drive.classes().len());
//! # Ok::<(), e2bki_sim::Error>(())
//! ```
//!
//! Layers, each using only those before it: `maths`, `scene` (what rays hit), `world` (what is there),
//! `sensor` (what is measured), the drive, the segmentation-error model, and [`simulate`], which writes datasets.

mod classes;
mod drive;
mod error;
mod maths;
mod scene;
mod segmentation;
mod sensor;
mod world;
mod write;

pub use classes::{ClassInfo, VOID, class_of, classes};
pub use drive::{
    CameraKind, Drift, Drive, DriveOptions, FRAME_S, Generation, Noise, Place, Rig, RouteKind, START_NS, SimFrame,
    Split, Standard, StandardDrive, Trajectory,
};
pub use error::Error;
pub use segmentation::{Bin, ErrorModel, Look, Reliability, plot_reliability, reliability};
pub use sensor::{Lighting, Returns, Sensor, SimImage};
pub use world::{Season, WorldKind, WorldProfile};
pub use write::{Format, Sequence, SimulateOptions, Summary, simulate};
