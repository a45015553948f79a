//! The counters of free space of a folder as those of one file, a slab of blocks at a time: a long drive has more of them
//! than its budget of memory, whichever way it goes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use e2bki::free::{Counters, CountersBytes, CountersHead, CountersSlab};
use rayon::prelude::*;

use super::Folder;
use crate::error::{Error, Result};
use crate::free_tiles::{self, FreeEntry};

/// Files that are looked at together.
const LOOKED: usize = 64;

/// Where the counters of a folder are, in the order of the bytes of [`Counters::to_bytes`].
pub(super) struct Slabs<'a> {
    folder: &'a Folder,
    entries: Vec<&'a FreeEntry>,
    /// By the first coordinate of their blocks, which comes first in the order, then by tile. In one piece, without names: a tile
    /// has as many as it is metres wide, and thousands of small pieces leave holes behind among what stays.
    parts: Vec<Part>,
    head: CountersHead,
}

/// A slab of a tile.
struct Part {
    /// Number of the tile's entry.
    entry: u32,
    slab: CountersSlab,
}

impl<'a> Slabs<'a> {
    /// The slabs of a folder, whose files are read and checked; nothing if it has no counters.
    pub(super) fn of(folder: &'a Folder) -> Result<Option<Self>> {
        let entries: Vec<&FreeEntry> = folder.free.values().collect();
        let look = |entry: &&FreeEntry| free_tiles::look(&folder.path, entry);
        let (mut parts, mut heads, mut number) = (Vec::new(), Vec::with_capacity(entries.len()), 0);
        for some in entries.chunks(LOOKED) {
            let looked = some.par_iter().map(look).collect::<Result<Vec<(CountersHead, Vec<CountersSlab>)>>>()?;
            for (head, slabs) in looked {
                heads.push(head);
                parts.extend(slabs.into_iter().map(|slab| Part { entry: number, slab }));
                number += 1;
            }
        }
        let head = CountersHead::of_parts(heads, folder.free_frames);
        parts.sort_unstable_by_key(|part| (part.slab.x, part.entry));
        Ok((!parts.is_empty()).then_some(Self { folder, entries, parts, head }))
    }

    /// Hands out the bytes, part by part.
    pub(super) fn each(&self, put: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut bytes = Vec::new();
        let mut counters = CountersBytes::begin(self.head, &mut bytes);
        for part in &self.parts {
            counters.put(&self.read(part)?, &mut bytes);
            put(&bytes)?;
            bytes.clear();
        }
        Ok(())
    }

    fn read(&self, Part { entry, slab }: &Part) -> Result<Counters> {
        let entry = self.entries[*entry as usize];
        let path = self.folder.path.join(&entry.file);
        let mut bytes = vec![0; slab.bytes.len()];
        let mut file = File::open(&path).map_err(Error::io("open", &path))?;
        let from = SeekFrom::Start((free_tiles::BEFORE + slab.bytes.start) as u64);
        file.seek(from).and_then(|_| file.read_exact(&mut bytes)).map_err(Error::io("read", &path))?;
        let counters = Counters::of_slab(&bytes, slab).map_err(Error::contents(&path))?;
        free_tiles::check_tile(&path, entry.tile, counters)
    }
}
