//! Training: samples, optimiser, epochs with checkpoints, scores, calibration.

mod adam;
mod batch;
mod calibrate;
mod checkpoint;
mod options;
mod samples;
mod score;
mod trainer;
mod warning;

pub use calibrate::{Calibrated, calibrate};
pub use options::{PRESETS, TrainOptions, Void};
pub use samples::{Sample, Samples};
pub use score::{Scores, score};
pub use trainer::{Epoch, Progress, Trainer};
pub use warning::Warning;
