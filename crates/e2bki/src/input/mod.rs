//! Step 1, check input: from a frame in any of its forms to points that hold an opinion each. Every value is checked,
//! every dropped point counted.

mod check;
mod frame;
mod opinion;
mod points;
mod report;

pub(crate) use check::{Checked, Said, check_input};
pub use frame::{Frame, LogitKind, Scan, Semantics};
pub use opinion::{MAX_ODDS, MIN_ENTROPY_UNCERTAINTY};
pub use points::EvidentialPoints;
pub use report::{Dropped, FrameReport};
