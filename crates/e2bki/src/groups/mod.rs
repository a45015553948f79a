//! Things put together by what they share: numbers for equal keys, and the members of every number. Below the steps of
//! a frame, of which several group points.

mod clusters;
mod numbers;

pub use clusters::Clusters;
pub(crate) use numbers::Numbers;
