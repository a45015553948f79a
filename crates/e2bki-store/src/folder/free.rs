//! Counters of free space in a folder, a file for every tile that has any.

use std::collections::BTreeSet;
use std::io::Write;

use e2bki::free::Counters;
use e2bki::{Mapper, Moment};
use rayon::prelude::*;

use super::Folder;
use crate::disk::Output;
use crate::error::{Error, Result};
use crate::free_tiles::{self, FreeEntry, FreeTiles};

impl Folder {
    /// Counters of the tiles in which they changed since a moment, those without any too; of all tiles if that is not
    /// known.
    pub(super) fn changed_free(&self, map: &Mapper, since: Option<&Moment>) -> FreeTiles {
        let changed: Option<BTreeSet<[i32; 2]>> =
            since.map(|moment| map.free_space_since(moment.number()).into_iter().collect());
        let wanted = |tile: [i32; 2]| changed.as_ref().is_none_or(|changed| changed.contains(&tile));
        let mut tiles = map.free_space().map_or_else(FreeTiles::new, |counters| counters.columns(wanted));
        for tile in self.free.keys().filter(|tile| wanted(**tile)) {
            tiles.entry(*tile).or_default();
        }
        tiles
    }

    /// Writes counters that differ from what the folder holds; a tile without counters is none any more. They count from
    /// the next [`Self::commit`] on.
    pub(crate) fn put_free(&mut self, tiles: FreeTiles) -> Result<usize> {
        self.lock()?;
        let first = self.latest + 1;
        self.latest += tiles.len() as u64;
        let jobs: Vec<(u64, ([i32; 2], Counters))> = (first..).zip(tiles).collect();
        let put = |(number, (tile, counters)): &(u64, ([i32; 2], Counters))| -> Result<Option<FreeEntry>> {
            let (bytes, hash) = free_tiles::encode(counters);
            if counters.is_empty() || self.free.get(tile).is_some_and(|entry| entry.hash == hash) {
                return Ok(None);
            }
            let file = free_tiles::name(*tile, *number);
            let path = self.path.join(&file);
            let written = Output::create(&self.disk, &path).and_then(|mut file| file.write_all(&bytes));
            if let Err(error) = written {
                self.disk.remove(&path).ok();
                return Err(Error::io("write", &path)(error));
            }
            Ok(Some(FreeEntry { tile: *tile, file, hash }))
        };
        let entries: Vec<Result<Option<FreeEntry>>> = jobs.par_iter().map(put).collect();
        let mut written = 0;
        for ((_, (tile, counters)), entry) in jobs.iter().zip(entries) {
            let old = match entry? {
                Some(entry) => {
                    written += 1;
                    self.free.insert(*tile, entry)
                }
                None if counters.is_empty() => self.free.remove(tile),
                None => None,
            };
            if let Some(old) = old {
                self.discard(&old.file);
            }
        }
        Ok(written)
    }

    /// The counters of a tile; none if there are none.
    pub(crate) fn read_free(&self, tile: [i32; 2]) -> Result<Counters> {
        self.free.get(&tile).map_or_else(|| Ok(Counters::default()), |entry| free_tiles::read(&self.path, entry))
    }

    /// The counters of the whole map; nothing if it has none.
    pub(crate) fn read_all_free(&self) -> Result<Option<Counters>> {
        if self.free.is_empty() && self.free_frames == 0 {
            return Ok(None);
        }
        let entries: Vec<&FreeEntry> = self.free.values().collect();
        let tiles: Vec<Result<Counters>> =
            entries.par_iter().map(|entry| free_tiles::read(&self.path, entry)).collect();
        let tiles = tiles.into_iter().collect::<Result<Vec<Counters>>>()?;
        Counters::of_columns(tiles, self.free_frames).map(Some).map_err(Error::contents(&self.path))
    }
}
