//! Sensors: LiDAR beam layouts and scanning, camera geometry and rendering, light and colours.
//! Sensors only read a view of the world; each frame's noise comes from its own seed.

mod albedo;
mod camera;
mod echo;
mod lidar;
mod light;
mod render;
mod scan;

pub(crate) use camera::Camera;
pub(crate) use lidar::Lidar;
pub use lidar::{Returns, Sensor};
pub(crate) use light::Light;
pub use light::Lighting;
pub use render::SimImage;
pub(crate) use render::{Scene, render};
pub(crate) use scan::scan;
