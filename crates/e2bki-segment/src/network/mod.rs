//! LRASPP on MobileNetV3-Large, of any width: layout, weights, layers with gradients, a fast inference path and ONNX export.
//!
//! Parameters have torchvision's names and shapes, so weights trained there can be loaded.

mod inference;
mod init;
mod layers;
mod lraspp;
#[cfg(feature = "onnx")]
mod onnx;
mod plan;
mod tape;
mod weights;

pub use inference::InferenceNetwork;
pub use layers::Tensor;
pub use lraspp::Lraspp;
#[cfg(feature = "onnx")]
pub use onnx::to_onnx;
pub use plan::{Architecture, Plan};
pub use tape::{Gradients, Tape};
pub use weights::{Metadata, Weights};

pub(crate) use init::Rng;
pub(crate) use weights::Extra;
