//! Step 3, cluster: from a frame's points to groups of them. [`cluster()`] applies the configured strategy, class by class.
//!
//! Three ways to choose centres ([`kmeans_plus_plus`], [`farthest_point`], [`random_sample`]) give
//! each point a cluster number; [`split_wide`] then bounds the size of the clusters. All share one
//! tree of boxes that finds nearest centres exactly, and repeat bit for bit on every platform.

mod bounds;
mod cells;
mod cover;
mod extent;
mod farthest;
mod kmeans;
mod lanes;
mod order;
mod random;
mod renumber;
mod strategy;
#[cfg(test)]
mod tests;
mod tree;

pub(crate) use cells::cell_of;
pub use extent::split_wide;
pub use farthest::farthest_point;
pub use kmeans::kmeans_plus_plus;
pub use random::random_sample;
pub use strategy::cluster;

pub use crate::groups::Clusters;
pub use crate::random::Rng;
