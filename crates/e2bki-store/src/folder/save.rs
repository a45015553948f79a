//! Writing to a folder: tiles that changed, then the manifest.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use e2bki::free::Counters;
use e2bki::{Mapper, PrimitiveState, TILE_M};
use rayon::prelude::*;

use super::{Entry, Folder, MANIFEST, Manifest, Tiles, Written, fingerprint, hash_of};
use crate::atomic::write_atomically_on;
use crate::disk::Output;
use crate::error::{Error, Result};
use crate::file::{Header, TileInfo, grouped, tile_of, wrap_manifest, write_map};
use crate::free_tiles;

impl Folder {
    /// Saves a whole map: tiles that changed are written, then the manifest. Whenever this is interrupted, the folder
    /// holds the map as it was before. If the map is the one that was saved here last, or a clone of it, only tiles that
    /// have changed since are looked at; of another map every tile is compared.
    pub fn save(&mut self, map: &Mapper) -> Result<Written> {
        let known = self.saved.take().filter(|moment| map.has_been_at(moment));
        let free = self.changed_free(map, known.as_ref());
        let (tiles, gone) = match known.and_then(|moment| self.changed_tiles(map, moment.number())) {
            Some(tiles) => {
                let gone: Vec<[i32; 2]> =
                    (tiles.iter()).filter(|(_, states)| states.is_empty()).map(|(t, _)| *t).collect();
                (tiles, gone)
            }
            None => {
                let mut tiles = Tiles::new();
                for primitive in map.primitives() {
                    tiles.entry(tile_of(primitive.sums().origin)).or_default().push(primitive.state());
                }
                let gone = self.tiles.keys().copied().filter(|tile| !tiles.contains_key(tile)).collect();
                (tiles, gone)
            }
        };
        gone.iter().for_each(|tile| {
            self.tiles.remove(tile);
        });
        let header = Header::of_tiles(map, &self.header.sources);
        let written = self.put_all(tiles, &header)?;
        self.put_free(free)?;
        self.free_frames = map.free_space().map_or(0, Counters::frames);
        self.commit(Some(header))?;
        self.saved = Some(map.moment());
        Ok(Written { unchanged: self.tiles.len().saturating_sub(written.written), ..written })
    }

    /// The tiles of a map in which primitives changed after a change, the empty ones too; nothing if that is not known.
    fn changed_tiles(&self, map: &Mapper, number: u64) -> Option<Tiles> {
        let changes = map.changes_since(number);
        if changes.everything {
            return None;
        }
        let mut heights: BTreeMap<[i32; 2], [i32; 2]> = BTreeMap::new();
        for block in changes.primitive_blocks() {
            let [low, high] = heights.entry(tile_of(block)).or_insert([block[2]; 2]);
            (*low, *high) = (block[2].min(*low), block[2].max(*high));
        }
        let states = |(tile, [low, high]): ([i32; 2], [i32; 2])| {
            // What was in the tile when it was saved lies between the heights of its entry.
            let saved = self.tiles.get(&tile).map_or([low, high], |entry| [entry.low[2], entry.high[2]]);
            let [x, y] = tile.map(|v| v.saturating_mul(TILE_M));
            let low = [x, y, low.min(saved[0])];
            let high = [x.saturating_add(TILE_M - 1), y.saturating_add(TILE_M - 1), high.max(saved[1])];
            (tile, map.primitives_in_blocks(low, high).iter().map(|primitive| primitive.state()).collect())
        };
        Some(heights.into_iter().map(states).collect())
    }

    /// Writes tiles that differ from what the folder holds. They count from the next [`Self::commit`] on.
    pub(crate) fn put_all(&mut self, mut tiles: Tiles, header: &Header) -> Result<Written> {
        self.lock()?;
        tiles.retain(|_, states| !states.is_empty());
        let all = tiles.len();
        let first = self.latest + 1;
        self.latest += all as u64;
        let jobs: Vec<(u64, [i32; 2], Vec<PrimitiveState>)> =
            tiles.into_iter().enumerate().map(|(i, (tile, states))| (first + i as u64, tile, states)).collect();
        let entries: Vec<Result<Option<Entry>>> =
            jobs.into_par_iter().map(|(number, tile, states)| self.put(number, tile, states, header)).collect();
        let mut written = 0;
        for entry in entries {
            if let Some(entry) = entry? {
                written += 1;
                if let Some(old) = self.tiles.insert(entry.tile, entry) {
                    self.discard(&old.file);
                }
            }
        }
        Ok(Written { written, unchanged: all - written, encoded: all })
    }

    /// Writes one tile, unless it is what the folder has already.
    fn put(&self, number: u64, tile: [i32; 2], states: Vec<PrimitiveState>, header: &Header) -> Result<Option<Entry>> {
        let file = format!("tile_{}_{}_{number}.parquet", tile[0], tile[1]);
        let path = self.path.join(&file);
        let rows = states.len() as u64;
        let groups = grouped(states, header.cubes());
        let mut bytes = Vec::new();
        let infos = write_map(&mut bytes, &path, header, &groups, |(tile, states)| Ok((*tile, Cow::Borrowed(states))))?;
        let hash = hash_of(&infos);
        if self.tiles.get(&tile).is_some_and(|entry| entry.hash == hash && entry.rows == rows) {
            return Ok(None);
        }
        let written = Output::create(&self.disk, &path).and_then(|mut file| file.write_all(&bytes));
        if let Err(error) = written {
            // A piece of a tile is of no use to anybody, least of all to `recover`.
            self.disk.remove(&path).ok();
            return Err(Error::io("write", &path)(error));
        }
        let bound = |get: fn(i32, i32) -> i32, corner: fn(&TileInfo) -> [i32; 3]| -> [i32; 3] {
            std::array::from_fn(|i| infos.iter().map(|info| corner(info)[i]).reduce(get).unwrap_or(0))
        };
        let (low, high) = (bound(i32::min, |info| info.low), bound(i32::max, |info| info.high));
        Ok(Some(Entry { tile, file, rows, hash, low, high }))
    }

    /// Makes the tiles as they are now the map: everything on the disk, then the manifest.
    pub(crate) fn commit(&mut self, header: Option<Header>) -> Result<()> {
        self.lock()?;
        self.check_unchanged()?;
        if let Some(header) = header {
            self.header = header;
        }
        let files: BTreeSet<String> = (self.tiles.values().map(|entry| entry.file.clone()))
            .chain(self.free.values().map(|entry| entry.file.clone()))
            .collect();
        for file in files.difference(&self.committed) {
            let path = self.path.join(file);
            let file = std::fs::OpenOptions::new().append(true).open(&path).map_err(Error::io("open", &path))?;
            self.disk.sync(&file, &path).map_err(Error::io("write", &path))?;
        }
        let manifest = Manifest {
            header: self.header.to_json()?,
            latest: self.latest,
            tiles: self.tiles.values().cloned().collect(),
            free: self.free.values().cloned().collect(),
            free_frames: (self.free_frames > 0).then_some(self.free_frames),
        };
        let text =
            serde_json::to_vec(&manifest).map_err(|e| Error::Refused(format!("cannot write the manifest: {e}")))?;
        let bytes = wrap_manifest(&text);
        self.disk.sync_folder(&self.path).map_err(Error::io("flush", &self.path))?;
        // An error may come after the new manifest is in place: until this is known to be done, either may be there.
        self.committed.extend(files.iter().cloned());
        let written = Some(fingerprint(&bytes));
        self.known.push(written);
        let name = self.path.join(MANIFEST);
        write_atomically_on(&self.disk, &name, |out| out.write_all(&bytes).map_err(Error::io("write", &name)))?;
        self.known = vec![written];
        self.committed = files;
        self.sweep();
        Ok(())
    }

    /// Removes a file that is not needed any more, unless the manifest on the disk may still name it.
    pub(super) fn discard(&self, file: &str) {
        if !self.committed.contains(file) {
            // A file that cannot be removed costs space only; the next sweep tries again.
            self.disk.remove(&self.path.join(file)).ok();
        }
    }

    /// Removes tiles that the manifest does not name: those of earlier manifests, and those of a run that was killed.
    pub(super) fn sweep(&self) {
        let Ok(inside) = std::fs::read_dir(&self.path) else { return };
        for entry in inside.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("tile_") && name.ends_with(".parquet") || free_tiles::is_name(&name) {
                self.discard(&name);
            }
        }
    }
}
