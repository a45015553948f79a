//! Evidential segmentation.

mod error;
mod evidence;
mod files;
pub mod infer;
mod loss;
pub mod network;
pub mod special;
pub mod train;

pub use error::{Result, SegmentError};
pub use evidence::{Activation, LOGIT_LIMIT, opinion as evidence_opinion};
pub use loss::{DataTerm, Loss, PixelLoss, annealed};
