//! Evidential segmentation of images: the evidence for each class at every pixel.
//!
//! - [`Loss`] has the evidential losses with their gradients, [`special`] the functions they need.
//! - [`network`] is LRASPP on MobileNetV3-Large with torchvision's parameters, forward and backward.
//! - [`train`] trains it, with checkpoints, scores and calibration.
//! - [`infer`] segments images with our own network or, with the feature `onnx`, any ONNX model.

mod error;
mod evidence;
mod files;
pub mod infer;
mod loss;
pub mod network;
pub mod special;
pub mod train;

pub use error::{Error, Result};
pub use evidence::{EvidenceFunction, LOGIT_LIMIT, opinion as evidence_opinion};
pub use loss::{DataTerm, Loss, PixelLoss, annealed};
