//! A map as the sum of its submaps: what each stretch of a drive added, to be taken out again or moved.
//!
//! `part.rs` (what a submap added, by cube and class) → `placement.rs` (where it is) → `grid.rs`, `motion.rs`, `pieces.rs`,
//! `trust.rs` (the same elsewhere, whole or cut at the faces of the cubes there, or counted less) → `layer.rs` (what it adds at a place) →
//! `record.rs` (a submap and where it is) → `ledger.rs` (all of them) → `regions.rs`, `sheet.rs` and `change.rs` (their
//! difference, summed region by region and put into the map) → `sensor.rs` (poses that are of another sensor) →
//! `mapper.rs` (what a user calls) → `exchange.rs` (what robots tell each other).

mod change;
mod exchange;
mod grid;
mod layer;
mod ledger;
mod mapper;
mod motion;
mod part;
mod pieces;
mod placement;
mod record;
mod regions;
mod rule;
mod sensor;
mod sheet;
mod trust;

pub use exchange::Contribution;
pub use ledger::Submaps;
pub use mapper::SubmapChange;
pub use motion::{moved_states, moved_sums};
pub use part::Part;
pub use placement::Placement;
pub use record::{Submap, SubmapFrame};
pub use rule::SubmapRule;
pub use trust::Trust;
