//! The laboratory: every table and figure of the paper as an experiment, and the benchmarks of the engine.
//!
//! The program `e2bki` offers both as the commands `experiment` and `bench`; benchmarks of single crates are this crate's
//! examples.

pub mod bench;
pub mod experiment;
mod real;

use std::sync::Arc;

use e2bki_data::ImageSemantics;
use e2bki_output::{Finding, pictures, report, score, table};

pub use real::labelled;

/// A network that looks at images.
pub type Network = Arc<dyn ImageSemantics>;

/// Opens the file of a network. The program passes it in: which networks can be run depends on how it was built.
pub type OpenNetwork = fn(&str) -> anyhow::Result<Network>;
