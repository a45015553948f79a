//! Inference: preprocessing, decoding of outputs, and any ONNX model on the CPU.

mod decode;
mod description;
#[cfg(feature = "onnx")]
mod onnx;
pub(crate) mod preprocess;
mod segmenter;

pub use description::{Description, Input, Kind, Layout, Order, Output, Uncertainty};
pub use segmenter::{Segmentation, Segmenter};

pub(crate) use decode::decode_cell;
