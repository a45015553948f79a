//! A dataset: frames that can be loaded one by one, with what was left out and why.

mod cloud;
mod fold;
mod frame;
mod image_labels;
mod lift;
mod load;
mod open;
mod options;
mod per_frame;
mod read_ahead;
mod source;

pub use frame::{LoadedFrame, OwnedSemantics, ReadCounts, WholeScan};
pub use image_labels::LabelledImage;
pub use lift::ImageLook;
pub use load::returns_of;
pub use open::{Dataset, Skipped};
pub use options::{GroundTruth, ImageSemantics, OpenOptions, SemanticsSource, ValueKind};
pub use read_ahead::{ReadAhead, read_ahead};
pub use source::channel_meaning;

pub(crate) use cloud::CloudForm;
