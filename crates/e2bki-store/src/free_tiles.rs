//! Counters of free space in a folder: a file for every tile that has any, beside the files of the primitives. A tile of
//! open space has counters and no primitives.

use std::collections::BTreeMap;
use std::path::Path;

use e2bki::free::Counters;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::file::{hash, unwrap_free, wrap_free};

/// Counters by tile.
pub(crate) type FreeTiles = BTreeMap<[i32; 2], Counters>;

/// The counters of a tile in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FreeEntry {
    pub(crate) tile: [i32; 2],
    pub(crate) file: String,
    /// Of the file's bytes.
    pub(crate) hash: u64,
}

/// Name of the file of a tile's counters.
pub(crate) fn name(tile: [i32; 2], number: u64) -> String {
    format!("free_{}_{}_{number}.bin", tile[0], tile[1])
}

/// Whether a file in a folder has counters.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with("free_") && name.ends_with(".bin")
}

/// The file of some counters, and what tells it from others.
pub(crate) fn encode(counters: &Counters) -> (Vec<u8>, u64) {
    let bytes = wrap_free(&counters.to_bytes());
    let hash = hash(&bytes);
    (bytes, hash)
}

/// Reads the counters of an entry.
pub(crate) fn read(folder: &Path, entry: &FreeEntry) -> Result<Counters> {
    let path = folder.join(&entry.file);
    let bytes = std::fs::read(&path).map_err(Error::io("read", &path))?;
    let part = || format!("the free space of tile {:?}", entry.tile);
    let damaged = |what: String| Error::Damaged { path: path.clone(), part: part(), offset: 0, what };
    if hash(&bytes) != entry.hash {
        return Err(damaged("it is not the file that the manifest means".into()));
    }
    let counters = Counters::from_bytes(unwrap_free(&bytes).map_err(damaged)?).map_err(Error::contents(&path))?;
    match counters.columns(|column| column != entry.tile).into_keys().next() {
        None => Ok(counters),
        Some(other) => Err(damaged(format!("it has counters of tile {other:?}"))),
    }
}
