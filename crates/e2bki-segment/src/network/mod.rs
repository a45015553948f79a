//! LRASPP on MobileNetV3-Large, of any width: its plan, its weights, its layers with their gradients, its ONNX form.
//!
//! Parameters have torchvision's names and shapes, so weights trained there can be loaded.

mod init;
mod layers;
mod lraspp;
#[cfg(feature = "onnx")]
mod onnx;
mod plan;
mod sight;
mod tape;
mod weights;

pub use layers::Maps;
pub use lraspp::Lraspp;
#[cfg(feature = "onnx")]
pub use onnx::to_onnx;
pub use plan::{Architecture, Plan};
pub use sight::Sight;
pub use tape::{Gradients, Tape};
pub use weights::{About, Weights};

pub(crate) use init::Chance;
pub(crate) use weights::Extra;
