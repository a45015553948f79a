//! Learning to segment: samples, the optimiser, epochs with checkpoints, scores, calibration.

mod adam;
mod batch;
mod calibrate;
mod checkpoint;
mod concern;
mod options;
mod samples;
mod score;
mod trainer;

pub use calibrate::{Calibrated, calibrate};
pub use concern::Concern;
pub use options::{PRESETS, TrainOptions, Void};
pub use samples::{Sample, Samples};
pub use score::{Scores, score};
pub use trainer::{Epoch, Progress, Trainer};
