//! Sensors: LiDAR beam layouts and scanning, camera geometry and rendering, light and colours.
//! Sensors only read a view of the world; each frame's noise comes from its own seed.

mod albedo;
mod camera;
mod echo;
mod lidar;
mod light;
mod render;
mod scan;

pub use camera::{Brown, Camera};
pub use lidar::{Beam, Lidar, Sensor};
pub use light::{Light, Lighting};
pub use render::{Scene, SimImage, render};
pub use scan::{LidarScan, scan};
