//! The sparse kernel, and its value for eight points at once around one ellipsoid.

mod batch;
mod sparse;

pub(crate) use batch::{LANES, kernel_of_lanes, support_of};
pub use sparse::sparse_kernel;
