//! A map as the sum of its submaps: what each stretch of a drive added, to be taken out again or moved.
//!
//! `part.rs` (what a submap added, by cube and class) → `placement.rs` (where it is) → `motion.rs`, `pieces.rs`, `trust.rs`
//! (the same elsewhere, cut at the faces of the cubes there, or counted less) →
//! `record.rs` (a submap and where it is) → `ledger.rs` (all of them) → `change.rs` (their difference, put into the
//! map) → `mapper.rs` (what a user calls).

mod change;
mod ledger;
mod mapper;
mod motion;
mod part;
mod pieces;
mod placement;
mod record;
mod rule;
mod trust;

pub use ledger::Submaps;
pub use mapper::SubmapChange;
pub use motion::{moved_states, moved_sums};
pub use part::Part;
pub use placement::Placement;
pub use record::{Submap, SubmapFrame};
pub use rule::SubmapRule;
pub use trust::Trust;
