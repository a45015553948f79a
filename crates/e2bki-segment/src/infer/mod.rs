//! Inference: preprocessing, decoding of outputs, and any ONNX model on the CPU, by ONNX Runtime or by tract.

mod decode;
mod description;
#[cfg(feature = "onnxruntime")]
mod library;
#[cfg(any(feature = "onnx", feature = "onnxruntime"))]
mod onnx;
#[cfg(feature = "onnxruntime")]
mod onnxruntime;
mod output;
pub(crate) mod preprocess;
mod runtime;
mod segmenter;
#[cfg(feature = "onnx")]
mod tract;

pub use description::{Description, Input, Kind, Layout, Order, Output, Uncertainty};
pub use runtime::{Running, Runtime};
pub use segmenter::{Segmentation, Segmenter};

pub(crate) use decode::decode_cell;
