//! The kernels of ConvBKI: their lengths, their text form, and how they are learned.

mod adam;
mod kernels;
mod loss;
mod sample;
mod train;

pub use kernels::ConvKernels;
pub use sample::{Sample, SampleSource, Window};
pub use train::{Progress, TrainOptions, TrainOutcome, train};
