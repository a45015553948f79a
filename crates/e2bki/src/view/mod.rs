//! Step 7, view: views of the truth, voxels, bird's-eye cells and points anywhere, all the same posterior at different places.

mod accumulate;
mod belief;
mod evaluate;
mod grid;
mod hits;
mod lattice;
mod live;
mod memory;
mod packed;
mod places;
mod query;
mod raster;
mod reaching;
mod runs;
mod scattered;
mod stale;

pub(crate) use accumulate::Accumulated;
pub(crate) use belief::Terms;
pub use belief::{Belief, Beliefs, semantic_uncertainties, uncertainties};
pub use grid::{LiveBlock, LiveVoxel};
pub(crate) use grid::{LiveGrid, Work};
pub(crate) use lattice::Lattice;
pub(crate) use live::LiveView;
pub(crate) use query::query;
pub(crate) use raster::rasterise;
pub use raster::{Cells, Voxels};
