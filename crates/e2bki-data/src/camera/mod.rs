//! From LiDAR points to pixels: lens, camera, look-up in coarser grids, occlusion, and the motion during a turn.

mod brown;
mod deskew;
mod occlusion;
mod pinhole;
mod sample;

pub use brown::Brown;
pub use deskew::Deskew;
pub use occlusion::visible;
pub use pinhole::{Camera, MAX_PIXELS, MAX_SIDE, Projected, check_size};
pub use sample::Sampler;
