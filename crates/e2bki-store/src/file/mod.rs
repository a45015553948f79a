//! The map file: Parquet to the world, with records around its row groups that make every byte accountable.
//!
//! ```text
//! PAR1
//! record HEAD            classes, configuration, frames, sources
//! record TILE, columns   one row group; as often as there are tiles
//! record FREE            what was seen and seen through, if the map has it
//! record INDX            a copy of HEAD, where every tile is, its hash, the hash of the footer
//! end mark               where INDX is
//! Parquet footer, its length, PAR1
//! ```
//!
//! Parquet readers find everything through the footer and skip the records. Our reader never looks into the footer: it
//! takes the records, verifies each before it is used, and holds every size against the bytes that are there.

mod check;
mod columns;
mod delta;
mod header;
mod parquet;
mod read;
mod record;
mod recover;
mod thrift;
mod tile;
mod write;

pub use check::{Checked, check};
pub(crate) use delta::decode as delta_decode;
pub use header::{Header, TileInfo};
pub use read::{MapFile, load, load_region};
pub(crate) use record::{PREFIX, unwrap_free, unwrap_manifest, unwrap_part, wrap_free, wrap_manifest, wrap_part};
pub use recover::{Recovered, recover};
pub(crate) use tile::tile_of;
#[cfg(test)]
pub(crate) use write::save_on;
pub(crate) use write::{FreeParts, grouped, put_in_order, save_tiles, write_map};
pub use write::{bytes_of_states, save, save_under, save_with};

/// Four bytes at both ends of a Parquet file.
const MAGIC: [u8; 4] = *b"PAR1";

/// Hash of every checked part.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}
