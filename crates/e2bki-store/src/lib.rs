//! Maps as files: saved whole or not at all, loaded in full or by region, checked, recovered, merged and exported.
//!
//! A map file is a plain Parquet file with one row group per tile of the world, so that pyarrow, pandas and DuckDB open
//! it directly; the format is described in `docs/map-format.md`. What is loaded goes on exactly as if it had never been
//! saved.
//!
//! ```no_run
//! # fn main() -> e2bki_store::Result<()> {
//! let mut map = e2bki_store::load("street.e2bki")?;
//! // … insert more frames …
//! e2bki_store::save(&map, "street.e2bki")?;
//! # Ok(())
//! # }
//! ```

mod area;
mod atomic;
mod contents;
mod disk;
mod error;
mod export;
mod file;
mod folder;
mod free_tiles;
mod lock;
mod merge;
#[cfg(test)]
mod model;
mod pending;
mod rolling;
mod submaps;

pub use atomic::{try_to_write, write_atomically};
pub use contents::{content_hash, content_hash_of};
pub use disk::Output;
pub use error::{Error, Result};
pub use export::{Array, CostTable, ExportOptions, Format, export, heat, import_npz, save_npz};
pub use file::{
    Checked, Header, MapFile, Recovered, TileInfo, bytes_of_states, check, load, load_region, recover, save,
    save_under, save_with,
};
pub use folder::{Folder, Written, is_folder};
pub use lock::WriteLock;
pub use merge::{Input, MergeOptions, Merged, merge};
pub use rolling::RollingMapper;
pub use submaps::{Listed, list_submaps, load_with_submaps, submaps_folder};

/// The version of the format that this program writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;
