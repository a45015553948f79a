//! Evaluation of semantic maps by the protocol of the E2-BKI paper.
//!
//! - [`LabelledFrame`]: a frame with what a network said and what is true.
//! - [`GroundTruth`] gathers true points of frames in cells of 0.05 m, frame by frame; [`Questions`] are the places to
//!   ask about that come of it, in the volume and seen from above, and places known to be empty.
//! - [`run`] feeds frames to any number of maps ([`Entrant`]); [`assess`] asks one of them and gives a [`Record`].
//! - [`Tally`], [`Calibration`]: the metrics by themselves.
//! - [`SourceCalibration`]: how much surer of itself a network is than it is right; [`ClassCalibration`]: how far
//!   kernels should reach, all and class by class.
//! - [`plot`]: figures as PNG and SVG.
//!
//! Metrics are in percent, and nothing where there is nothing to measure: never 0 or NaN in its place.
//!
//! ```
//! use e2bki_eval::Tally;
//!
//! let mut tally = Tally::new(2);
//! tally.add(0, Some(0)); // truth, answer
//! tally.add(0, Some(1));
//! tally.add(0, None); // the map has nothing there: wrong for Acc, not asked for IoU
//! let score = tally.score();
//! assert_eq!(score.iou, [Some(50.0), None]);
//! assert_eq!(score.acc, Some(100.0 / 3.0));
//! ```

mod assess;
mod by_class;
mod calibration;
mod cells;
mod confidence;
mod error;
mod frame;
mod free;
mod halves;
mod near;
pub mod plot;
mod protocol;
mod queries;
mod reading;
mod record;
mod response;
mod source;
mod table;
mod tally;
mod truth;

pub use assess::{Answers, assess, assess_map, assess_network, common_miou};
pub use by_class::ClassCalibration;
pub use calibration::{BINS, Bin, Calibration, ReliabilityBin};
pub use cells::{CELL_M, Cells};
pub use confidence::{Confidence, VarianceRange};
pub use error::{Error, Result};
pub use frame::{LabelledFrame, Said};
pub use free::{EmptySpace, EmptySpaceSamples};
pub use halves::Worth;
pub use near::NearReturns;
pub use protocol::{Entrant, run};
pub use queries::Queries;
pub use record::{CalibrationRecord, Record, View};
pub use source::{Rung, SourceCalibration};
pub use table::{DASH, Table, decimals, percent};
pub use tally::{Score, Tally};
pub use truth::{Asked, GroundTruth, Questions};
