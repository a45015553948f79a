//! Views of the truth: voxels, bird's-eye cells and points anywhere, all the same posterior at different places.

mod accumulate;
mod belief;
mod evaluate;
mod grid;
mod memory;
mod query;
mod raster;
mod runs;

pub(crate) use accumulate::Accumulated;
pub(crate) use belief::Terms;
pub use belief::{Belief, Beliefs};
pub use grid::LiveVoxel;
pub(crate) use grid::{LiveGrid, Work};
pub(crate) use query::query;
pub use raster::{Cells, Voxels};
pub(crate) use raster::{Lattice, rasterise};
