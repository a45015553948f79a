//! The counters of free space of a folder as those of one file, a slab of blocks at a time: a long drive has more of them
//! than its budget of memory, whichever way it goes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use e2bki::free::{Counters, CountersBytes, CountersHead, CountersSlab};
use rayon::prelude::*;

use super::Folder;
use crate::error::{Error, Result};
use crate::free_tiles::{self, FreeEntry};

/// Where the counters of a folder are, in the order of the bytes of [`Counters::to_bytes`].
pub(super) struct Slabs {
    /// By the first coordinate of their blocks, which comes first in the order, then by tile.
    slabs: BTreeMap<i32, Vec<Part>>,
    head: CountersHead,
}

/// A slab of a tile.
struct Part {
    tile: [i32; 2],
    path: PathBuf,
    slab: CountersSlab,
}

impl Slabs {
    /// The slabs of a folder, whose files are read and checked; nothing if it has no counters.
    pub(super) fn of(folder: &Folder) -> Result<Option<Self>> {
        let entries: Vec<&FreeEntry> = folder.free.values().collect();
        let look = |entry: &&FreeEntry| free_tiles::look(&folder.path, entry);
        let looked = entries.par_iter().map(look).collect::<Result<Vec<(CountersHead, Vec<CountersSlab>)>>>()?;
        let head = CountersHead::of_parts(looked.iter().map(|(head, _)| *head), folder.free_frames);
        let mut slabs: BTreeMap<i32, Vec<Part>> = BTreeMap::new();
        for (entry, (_, of_tile)) in entries.iter().zip(looked) {
            for slab in of_tile {
                let path = folder.path.join(&entry.file);
                slabs.entry(slab.x).or_default().push(Part { tile: entry.tile, path, slab });
            }
        }
        Ok((!slabs.is_empty()).then_some(Self { slabs, head }))
    }

    /// Hands out the bytes, part by part.
    pub(super) fn each(&self, put: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut bytes = Vec::new();
        let mut counters = CountersBytes::begin(self.head, &mut bytes);
        for part in self.slabs.values().flatten() {
            counters.put(&part.read()?, &mut bytes);
            put(&bytes)?;
            bytes.clear();
        }
        Ok(())
    }
}

impl Part {
    fn read(&self) -> Result<Counters> {
        let mut bytes = vec![0; self.slab.bytes.len()];
        let mut file = File::open(&self.path).map_err(Error::io("open", &self.path))?;
        let from = SeekFrom::Start((free_tiles::BEFORE + self.slab.bytes.start) as u64);
        file.seek(from).and_then(|_| file.read_exact(&mut bytes)).map_err(Error::io("read", &self.path))?;
        let counters = Counters::of_slab(&bytes, &self.slab).map_err(Error::contents(&self.path))?;
        free_tiles::check_tile(&self.path, self.tile, counters)
    }
}
