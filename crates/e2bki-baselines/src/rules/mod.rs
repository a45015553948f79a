//! How each rule puts evidence into voxels.

mod convolution;
mod dempster;
mod points;
mod sharp_edge;

pub(crate) use convolution::{FILTER_REACH, Filters, add_convolution};
pub(crate) use dempster::{add_opinions, combined};
pub(crate) use points::{add_points, exp_minus};
pub(crate) use sharp_edge::add_sharp_edge;
