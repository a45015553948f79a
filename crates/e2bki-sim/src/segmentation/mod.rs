//! A model of what an evidential segmentation network gets wrong, for experiments without a network.
//! It is a model, not a network: its parameters are chosen by hand, and its calibration is measured, not assumed.

mod boundary;
mod canvas;
mod confusion;
mod field;
mod model;
mod reliability;

pub use model::{ErrorModel, Look};
pub use reliability::{Bin, Reliability, plot_reliability, reliability};
