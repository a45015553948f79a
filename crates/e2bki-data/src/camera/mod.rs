//! From LiDAR points to pixels: lens, camera, look-up in coarser grids, occlusion, and the motion during a turn.

mod brown;
mod deskew;
mod info;
mod lens;
mod occlusion;
mod pinhole;
mod sample;
mod timed;

pub use brown::Brown;
pub use deskew::Deskew;
pub use lens::{Fisheye, Lens};
pub use occlusion::visible;
pub use pinhole::{Camera, MAX_PIXELS, MAX_SIDE, Projected, check_size};
pub use sample::Sampler;
pub use timed::{TimedMotion, shifted};
