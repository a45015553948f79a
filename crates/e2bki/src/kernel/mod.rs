//! The sparse kernel, and its value for a batch of points around one ellipsoid.

mod batch;
mod sparse;

pub use batch::kernel_of_nearness;
pub(crate) use batch::{LANES, kernel_of_lanes, support_of};
pub use sparse::sparse_kernel;
