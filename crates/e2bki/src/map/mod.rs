//! The truth: the current set of primitives, in blocks of one cubic metre.

mod aabb;
mod added;
mod blocks;
mod chunk;
mod large;
mod log;
mod order;
mod packed;
mod pools;
mod receive;
mod recipe;
mod reshape;
mod search;
mod seen;
mod set;
mod slots;
mod surfaces;

pub(crate) use aabb::{Aabb, Stale, Support};
pub(crate) use added::Additions;
pub(crate) use blocks::{Block, Near, blocks_between, cube};
pub(crate) use chunk::Head;
pub(crate) use log::ChangeLog;
pub use order::Rank;
pub(crate) use recipe::Recipe;
pub(crate) use seen::Seen;
pub(crate) use set::PrimitiveSet;
pub(crate) use slots::{Batch, BatchRow, Core};
