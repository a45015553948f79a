//! From a frame in any of its forms to evidential points: every value checked, every dropped point counted.

mod context;
mod cubes;
mod frame;
mod labels;
mod opinion;
mod points;
mod report;
mod translate;

pub use frame::{Frame, LogitKind, Semantics};
pub use opinion::{MAX_ODDS, MIN_ENTROPY_UNCERTAINTY};
pub use points::EvidentialPoints;
pub use report::{Dropped, FrameReport};
