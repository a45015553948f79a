//! A Gaussian primitive: everything it holds is a sum, and everything else is derived from the sums.

mod eigen;
mod semantics;
mod shape;
mod sums;

pub use eigen::symmetric_eigen;
pub use semantics::{LogEvidence, Opinion, log_evidence_of_odds, opinion_of, rounded_evidence, witnesses_per_point};
pub use shape::{EIGENVALUE_FLOOR_M2, Ellipsoid};
pub use sums::{BLOCK_SIDE_M, QUANTUM_M, Sums, block_of, snapped};
