//! The counters of free space of a folder as those of one file, a strip of tiles at a time: a long drive has more of them
//! than its budget of memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use e2bki::free::{Counters, CountersBytes, CountersHead};
use rayon::prelude::*;

use super::Folder;
use crate::error::{Error, Result};
use crate::file::begun_free;
use crate::free_tiles::{self, FreeEntry};

/// More than the beginning of a file of counters takes.
const HEAD_BYTES: u64 = 64;

pub(super) struct Strips<'f> {
    folder: &'f Folder,
    /// By the first coordinate of their tiles: blocks are in the order of x.
    strips: Vec<Vec<&'f FreeEntry>>,
    head: CountersHead,
}

impl<'f> Strips<'f> {
    /// The strips of a folder; nothing if it has no counters.
    pub(super) fn of(folder: &'f Folder) -> Result<Option<Self>> {
        let mut strips: BTreeMap<i32, Vec<&FreeEntry>> = BTreeMap::new();
        let mut heads = Vec::with_capacity(folder.free.len());
        for entry in folder.free.values() {
            strips.entry(entry.tile[0]).or_default().push(entry);
            heads.push(head_of(folder, entry)?);
        }
        let head = CountersHead::of_parts(heads, folder.free_frames);
        let strips: Vec<Vec<&FreeEntry>> = strips.into_values().collect();
        Ok((!strips.is_empty()).then_some(Self { folder, strips, head }))
    }

    /// Hands out the bytes of [`Counters::to_bytes`], part by part.
    pub(super) fn each(&self, put: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut bytes = Vec::new();
        let mut counters = CountersBytes::begin(self.head, &mut bytes);
        for strip in &self.strips {
            let read = |entry: &&FreeEntry| free_tiles::read(&self.folder.path, entry);
            let tiles = strip.par_iter().map(read).collect::<Result<Vec<Counters>>>()?;
            let strip = Counters::of_columns(tiles, 0).map_err(Error::contents(&self.folder.path))?;
            counters.put(&strip, &mut bytes);
            put(&bytes)?;
            bytes.clear();
        }
        Ok(())
    }
}

/// What the counters of a tile say of themselves. Whether the file is whole is seen when it is read.
fn head_of(folder: &Folder, entry: &FreeEntry) -> Result<CountersHead> {
    let path = folder.path.join(&entry.file);
    let mut bytes = Vec::new();
    let file = File::open(&path).map_err(Error::io("open", &path))?;
    file.take(HEAD_BYTES).read_to_end(&mut bytes).map_err(Error::io("read", &path))?;
    CountersHead::of_bytes(begun_free(&bytes)).map_err(Error::contents(&path))
}
