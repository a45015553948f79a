//! A Gaussian primitive: everything it holds is a sum, and everything else is derived from the sums.

mod eigen;
mod semantics;
mod shape;
mod sums;

pub(crate) use eigen::largest_eigenvalue;
pub use eigen::symmetric_eigen;
pub use semantics::{
    LOG_EVIDENCE_QUANTUM, Opinion, log_evidence_of_odds, opinion_of, quanta_of, rounded_evidence, witnesses_per_point,
};
pub(crate) use semantics::{checked_sum, log_evidence_of};
pub use shape::{EIGENVALUE_FLOOR_M2, Ellipsoid};
pub(crate) use sums::{AT_ONCE, MANY_QUANTA, MOST_QUANTA};
pub use sums::{BLOCK_SIDE_M, QUANTUM_M, QUANTUM_M2, Sums, block_of, snapped};
