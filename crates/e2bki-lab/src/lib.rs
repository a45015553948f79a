//! The laboratory: every table and figure of the paper as an experiment, and the benchmarks of the engine.
//!
//! The program `e2bki` offers both as the commands `experiment` and `bench`; benchmarks of single crates are this crate's
//! examples.

pub mod bench;
pub mod experiment;
mod real;

use std::sync::Arc;

use e2bki_data::{ImageSemantics, SemanticsSource};
use e2bki_output::{Finding, pictures, report, score, table};

pub use real::labelled;

/// A network that looks at images.
pub type Network = Arc<dyn ImageSemantics>;

/// Reads a source of semantics as `--semantics` takes it, and opens its network where it is one. The program passes this
/// in: which networks can be run depends on how it was built.
pub type OpenSource = fn(&str) -> anyhow::Result<(SemanticsSource, Option<Network>)>;

/// The networks that came with the program, one for each set of simulated drives, as bytes of a `.safetensors` file, and how
/// to open one. Nothing where the program was built without networks.
pub type OwnNetworks = Option<(fn(e2bki_sim::Standard) -> &'static [u8], OpenNetwork)>;

/// Opens a network from its bytes; the name is for messages.
pub type OpenNetwork = fn(&[u8], &str) -> anyhow::Result<Network>;
