//! The truth: the current set of primitives, in blocks of one cubic metre.

mod blocks;
mod dirty;
mod large;
mod set;
mod slots;

pub(crate) use blocks::{Block, BlockKey, Near};
pub(crate) use dirty::Aabb;
pub(crate) use set::{PrimitiveSet, Recipe};
pub(crate) use slots::{Batch, Core};
