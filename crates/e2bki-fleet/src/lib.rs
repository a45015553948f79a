//! Maps of a fleet in an object store (a folder, S3, Google Cloud Storage, Azure).
//!
//! ```text
//! STORE/fleet.json                 classes, configuration, tile, cell
//! STORE/runs/RUN/<key>.e2bki       one map per run, never changed
//! STORE/tiles/X_Y/<key>.e2bki      one tile of several runs, named by what went in
//! STORE/levels/K/X_Y/<key>.e2bki   coarser tiles, to be looked at from afar
//! STORE/manifests/000042           runs in and out with reasons, tile → key, parent
//! ```
//!
//! Everything is immutable and named by its inputs, so doing a thing twice is harmless and any scheduler may do it: the
//! functions here go from names to names. Only a manifest makes data visible, and it is created only if there is none of
//! its number: of two that race, one has to plan again.

mod add;
mod clean;
mod commit;
mod copc;
mod description;
mod error;
mod export;
mod levels;
mod manifest;
mod mercator;
mod objects;
mod plan;
mod pmtiles;
mod purge;
mod raster;
mod reader;
mod reduce;
mod runs;
mod status;
mod sum;
mod verify;
mod vpc;

pub use add::{Added, add, check_run, key_of_inputs, key_of_log};
pub use clean::{Cleaned, clean};
pub use commit::{Committed, Removal, commit, remove};
pub use copc::{City, CityBlock, export_city};
pub use description::{Fleet, init, init_on};
pub use error::{Error, Result};
pub use export::{export, load};
pub use levels::{LevelTile, Levelled, level_config, levels, make_levels, read_level_tile};
pub use manifest::{Left, Manifest, Run};
pub use mercator::Origin;
pub use objects::Objects;
pub use plan::{Before, Plan, Task, plan};
pub use raster::{Pictures, export_pmtiles};
pub use reduce::{Reduced, reduce, reduce_all, reduce_share};
pub use status::{Status, status};
pub use verify::{Verified, verify};

/// What names a tile: its coordinates in the grid of tiles.
pub type Tile = [i32; 2];

/// Hash of bytes, as 32 hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(bytes))
}
