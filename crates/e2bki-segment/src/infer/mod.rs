//! Running networks: how images become inputs, what outputs mean, and any ONNX model on the CPU.

mod description;
#[cfg(feature = "onnx")]
mod onnx;
pub(crate) mod prepare;
mod read;
mod segmenter;

pub use description::{Description, Input, Kind, Layout, Order, Output, Uncertainty};
pub use segmenter::{Seen, Segmenter};

pub(crate) use read::read_cell;
