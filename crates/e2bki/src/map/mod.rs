//! The truth: the current set of primitives, in blocks of one cubic metre.

mod aabb;
mod blocks;
mod large;
mod log;
mod order;
mod pools;
mod recipe;
mod reshape;
mod search;
mod set;
mod slots;
mod surfaces;

pub(crate) use aabb::{Aabb, Stale, Support};
pub(crate) use blocks::{Block, Near, cube};
pub(crate) use log::ChangeLog;
pub use order::Rank;
pub(crate) use recipe::Recipe;
pub(crate) use set::PrimitiveSet;
pub(crate) use slots::{Batch, Core};
