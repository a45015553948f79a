//! Counters of free space in a folder: a file for every tile that has any, beside the files of the primitives. A tile of
//! open space has counters and no primitives.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use e2bki::free::{Counters, CountersHead, CountersSlab};
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

/// Bytes before the counters in their file.
pub(crate) const BEFORE: usize = crate::file::PREFIX;

/// Reads the counters of an entry.
pub(crate) fn read(folder: &Path, entry: &FreeEntry) -> Result<Counters> {
    let (path, bytes) = checked(folder, entry)?;
    let counters = Counters::from_bytes(&bytes[BEFORE..]).map_err(Error::contents(&path))?;
    check_tile(&path, entry.tile, counters)
}

/// Counters that are of a tile alone.
pub(crate) fn check_tile(path: &Path, tile: [i32; 2], counters: Counters) -> Result<Counters> {
    match counters.columns(|column| column != tile).into_keys().next() {
        None => Ok(counters),
        Some(other) => Err(damaged(path, tile, format!("it has counters of tile {other:?}"))),
    }
}

/// Where the counters of an entry are in their file, after [`BEFORE`], by slabs of blocks.
pub(crate) fn look(folder: &Path, entry: &FreeEntry) -> Result<(CountersHead, Vec<CountersSlab>)> {
    let (path, bytes) = checked(folder, entry)?;
    CountersHead::of_bytes(&bytes[BEFORE..]).map_err(Error::contents(&path))
}

/// The file of an entry, if it is the one that is meant, and whole.
fn checked(folder: &Path, entry: &FreeEntry) -> Result<(PathBuf, Vec<u8>)> {
    let path = folder.join(&entry.file);
    let bytes = std::fs::read(&path).map_err(Error::io("read", &path))?;
    if hash(&bytes) != entry.hash {
        return Err(damaged(&path, entry.tile, "it is not the file that the manifest means".into()));
    }
    unwrap_free(&bytes).map_err(|what| damaged(&path, entry.tile, what))?;
    Ok((path, bytes))
}

fn damaged(path: &Path, tile: [i32; 2], what: String) -> Error {
    Error::Damaged { path: path.into(), part: format!("the free space of tile {tile:?}"), offset: 0, what }
}
