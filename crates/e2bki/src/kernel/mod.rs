//! The kernel, and its value for a batch of points around one ellipsoid.

mod batch;
mod form;
mod sparse;
mod vector;

pub use batch::kernel_of_nearness;
pub(crate) use batch::{AlongRows, AtPoints, LANES, ROW_ROOM, kernel_of_points};
pub(crate) use form::{Form, root_of_inverse, support_of};
pub use sparse::{quadratic_kernel, sparse_kernel};
