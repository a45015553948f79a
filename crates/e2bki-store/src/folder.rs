//! A map as a folder of tiles: what a long run keeps up to date by writing only the tiles that changed.
//!
//! Every tile is a map file of its own under a name that is never used twice; a manifest, written last and replaced
//! atomically, says which of them are the map. Files that no manifest names are removed after the next one is in place.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use e2bki::free::{Counters, MAX_FRAMES};
use e2bki::{Config, Mapper, Moment, PrimitiveState};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::atomic::{prefix_beside, write_atomically_on};
use crate::disk::{Output, SharedDisk, real};
use crate::error::{Error, Result};
use crate::file::{
    Header, MapFile, TILE_M, TileInfo, grouped, put_in_order, tile_of, unwrap_manifest, wrap_manifest, write_map,
};
use crate::free_tiles::{self, FreeEntry, FreeTiles};
use crate::lock::{LOCK, WriteLock};

const MANIFEST: &str = "manifest.e2bki";

/// A tile of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) tile: [i32; 2],
    file: String,
    pub(crate) rows: u64,
    /// Over the hashes of the row groups: equal if and only if the primitives are.
    hash: u64,
    /// The box outside of which no belief depends on the tile, whole metres.
    pub(crate) low: [i32; 3],
    pub(crate) high: [i32; 3],
}

impl Entry {
    /// Whether a file of these row groups is the one that the entry means.
    pub(crate) fn is_of(&self, infos: &[TileInfo]) -> bool {
        self.hash == hash_of(infos) && self.rows == infos.iter().map(|info| u64::from(info.rows)).sum::<u64>()
    }
}

fn hash_of(infos: &[TileInfo]) -> u64 {
    let hashes: Vec<u8> = infos.iter().flat_map(|info| info.hash.to_le_bytes()).collect();
    xxhash_rust::xxh3::xxh3_64(&hashes)
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    header: String,
    /// Number of the latest file written.
    latest: u64,
    tiles: Vec<Entry>,
    /// Counters of free space, if the map has any, and the frames that were counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    free: Vec<FreeEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    free_frames: Option<u64>,
}

/// A map that lives in a folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    header: Header,
    latest: u64,
    pub(crate) tiles: BTreeMap<[i32; 2], Entry>,
    /// Counters of free space, by tile.
    pub(crate) free: BTreeMap<[i32; 2], FreeEntry>,
    /// Frames that they counted.
    pub(crate) free_frames: u64,
    /// Files that the manifest on the disk names or may name: they must stay until it surely does not.
    committed: BTreeSet<String>,
    /// The manifests that may be on the disk: the one last read or written, and one whose writing ended with an error.
    known: Vec<Option<Fingerprint>>,
    /// Held from the first change on.
    lock: Option<WriteLock>,
    disk: SharedDisk,
    /// The state of the map that was saved last, to know a map that has only gone on from there.
    saved: Option<Moment>,
}

/// What tells one manifest from another.
type Fingerprint = (usize, u128);

fn fingerprint(bytes: &[u8]) -> Fingerprint {
    (bytes.len(), xxhash_rust::xxh3::xxh3_128(bytes))
}

/// Largest number of a tile's file, and of all rows: far beyond what is ever reached, far from where sums overflow.
const MOST: u64 = 1 << 53;

/// Result of saving to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Tiles that had changed and were written.
    pub written: usize,
    /// Tiles that were as they are.
    pub unchanged: usize,
    /// Tiles that were encoded to see whether they had changed, those written among them.
    pub encoded: usize,
}

/// Primitives by tile.
pub(crate) type Tiles = BTreeMap<[i32; 2], Vec<PrimitiveState>>;

impl Folder {
    /// A new map in a folder that does not exist yet or is empty. It is locked: nobody else can write to it.
    pub fn create(path: impl AsRef<Path>, header: Header) -> Result<Self> {
        Self::create_on(real(), path.as_ref(), header)
    }

    pub(crate) fn create_on(disk: SharedDisk, path: &Path, header: Header) -> Result<Self> {
        disk.create_folder(path).map_err(Error::io("create", path))?;
        let lock = Some(WriteLock::of_folder(path)?);
        let part = prefix_beside(Path::new(MANIFEST));
        for entry in std::fs::read_dir(path).map_err(Error::io("open", path))? {
            let name = entry.map_err(Error::io("open", path))?.file_name().to_string_lossy().into_owned();
            // The lock, and what is left of a creation that was killed.
            if name != LOCK && !name.starts_with(&part) {
                return Err(Error::Refused(format!(
                    "{} is not empty: a new map needs a folder of its own",
                    path.display()
                )));
            }
        }
        let mut folder = Self {
            path: path.into(),
            header: Header { free_space: None, ..header },
            latest: 0,
            tiles: BTreeMap::new(),
            free: BTreeMap::new(),
            free_frames: 0,
            committed: BTreeSet::new(),
            known: vec![None],
            lock,
            disk,
            saved: None,
        };
        folder.commit(None)?;
        Ok(folder)
    }

    /// Opens a map in a folder. Reading needs no lock; the first change takes it, or [`Self::lock`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_on(real(), path.as_ref())
    }

    pub(crate) fn open_on(disk: SharedDisk, path: &Path) -> Result<Self> {
        let name = path.join(MANIFEST);
        let bytes = std::fs::read(&name).map_err(Error::io("read", &name))?;
        let damaged =
            |what: String| Error::Damaged { path: name.clone(), part: "the manifest".into(), offset: 0, what };
        let text = unwrap_manifest(&bytes).map_err(&damaged)?;
        let manifest: Manifest = serde_json::from_slice(text).map_err(|e| damaged(e.to_string()))?;
        let header = Header::from_json(manifest.header.as_bytes(), &name, 0)?;
        let files = manifest.tiles.iter().map(|entry| (entry.tile, &entry.file));
        let mut files = files.chain(manifest.free.iter().map(|entry| (entry.tile, &entry.file)));
        if let Some((tile, file)) = files.find(|(_, file)| file.contains(['/', '\\'])) {
            return Err(damaged(format!("tile {tile:?} lies outside of the folder: {file}")));
        }
        let free_frames = manifest.free_frames.unwrap_or(0);
        if free_frames > MAX_FRAMES {
            return Err(damaged(format!("{free_frames} frames of free space; allowed: {MAX_FRAMES}")));
        }
        let rows = manifest.tiles.iter().try_fold(manifest.latest, |sum, entry| sum.checked_add(entry.rows));
        if manifest.latest > MOST || rows.is_none_or(|rows| rows > 2 * MOST) {
            return Err(damaged(format!("it numbers its files up to {}; allowed: {MOST}", manifest.latest)));
        }
        let free: BTreeMap<[i32; 2], FreeEntry> = manifest.free.into_iter().map(|entry| (entry.tile, entry)).collect();
        let committed = (manifest.tiles.iter().map(|entry| entry.file.clone()))
            .chain(free.values().map(|entry| entry.file.clone()))
            .collect();
        let tiles = manifest.tiles.into_iter().map(|entry| (entry.tile, entry)).collect();
        let known = vec![Some(fingerprint(&bytes))];
        Ok(Self {
            path: path.into(),
            header,
            latest: manifest.latest,
            tiles,
            free,
            free_frames,
            committed,
            known,
            lock: None,
            disk,
            saved: None,
        })
    }

    /// Makes this the only one that may write to the map, until it is dropped. Fails if another program does, and names
    /// it; or if another one did since this was opened.
    pub fn lock(&mut self) -> Result<()> {
        if self.lock.is_none() {
            let lock = WriteLock::of_folder(&self.path)?;
            self.check_unchanged()?;
            self.lock = Some(lock);
            // Tiles of a writer that was killed: their names are about to be used again. But first the manifest that does
            // not name them must be there to stay.
            self.disk.sync_folder(&self.path).map_err(Error::io("flush", &self.path))?;
            self.sweep();
        }
        Ok(())
    }

    /// Checks that the manifest on the disk is the one that was read or written here.
    fn check_unchanged(&self) -> Result<()> {
        let name = self.path.join(MANIFEST);
        let now = match std::fs::read(&name) {
            Ok(bytes) => Some(fingerprint(&bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::io("read", &name)(error)),
        };
        if self.known.contains(&now) { Ok(()) } else { Err(Error::Changed { path: self.path.clone() }) }
    }

    /// Header of the map.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Number of primitives.
    pub fn rows(&self) -> u64 {
        self.tiles.values().map(|entry| entry.rows).sum()
    }

    /// Frames whose beams and returns were counted, in a map with free space.
    pub fn free_space_frames(&self) -> u64 {
        self.free_frames
    }

    /// Bytes of all tiles.
    pub fn bytes(&self) -> Result<u64> {
        let files = (self.tiles.values().map(|entry| &entry.file)).chain(self.free.values().map(|entry| &entry.file));
        let size = |file: &String| {
            let path = self.path.join(file);
            std::fs::metadata(&path).map(|about| about.len()).map_err(Error::io("open", &path))
        };
        files.map(size).sum()
    }

    /// Low and high corner, whole metres, of the box in which beliefs depend on each tile.
    pub fn boxes(&self) -> Vec<([i32; 3], [i32; 3])> {
        self.tiles.values().map(|entry| (entry.low, entry.high)).collect()
    }

    /// The tiles and their files.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Entry, PathBuf)> {
        self.tiles.values().map(|entry| (entry, self.path.join(&entry.file)))
    }

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

    /// Counters of the tiles in which they changed since a moment, those without any too; of all tiles if that is not
    /// known.
    fn changed_free(&self, map: &Mapper, since: Option<&Moment>) -> FreeTiles {
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
    fn discard(&self, file: &str) {
        if !self.committed.contains(file) {
            // A file that cannot be removed costs space only; the next sweep tries again.
            self.disk.remove(&self.path.join(file)).ok();
        }
    }

    /// Removes tiles that the manifest does not name: those of earlier manifests, and those of a run that was killed.
    fn sweep(&self) {
        let Ok(inside) = std::fs::read_dir(&self.path) else { return };
        for entry in inside.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("tile_") && name.ends_with(".parquet") || free_tiles::is_name(&name) {
                self.discard(&name);
            }
        }
    }

    /// The primitives of a tile; none if there is no such tile.
    pub(crate) fn read(&self, tile: [i32; 2]) -> Result<Vec<PrimitiveState>> {
        let Some(entry) = self.tiles.get(&tile) else { return Ok(Vec::new()) };
        let path = self.path.join(&entry.file);
        let mut file = MapFile::open(&path)?;
        let mut states = file.read_tiles(|_| true)?;
        if states.len() as u64 != entry.rows {
            let what = format!("it has {} primitives instead of {}", states.len(), entry.rows);
            return Err(Error::Damaged { path, part: format!("tile {tile:?}"), offset: 0, what });
        }
        // Tiles of a sum are numbered each by itself; in the map one after the other.
        if let Some(side) = self.header.cubes() {
            let before = self.tiles.range(..tile).map(|(_, entry)| entry.rows).sum();
            put_in_order(&mut states, Some(side), before);
        }
        Ok(states)
    }

    /// The primitives of all tiles.
    pub(crate) fn read_all(&self) -> Result<Vec<PrimitiveState>> {
        let keys: Vec<[i32; 2]> = self.tiles.keys().copied().collect();
        let tiles: Vec<Result<Vec<PrimitiveState>>> = keys.par_iter().map(|tile| self.read(*tile)).collect();
        let mut states = Vec::new();
        for tile in tiles {
            states.extend(tile?);
        }
        Ok(states)
    }

    /// The whole map.
    pub fn load(&self) -> Result<Mapper> {
        self.load_as(self.header.config.clone())
    }

    /// The whole map with another configuration.
    pub fn load_as(&self, config: Config) -> Result<Mapper> {
        let Header { classes, frames, next_id, .. } = self.header.clone();
        let next_id = if self.header.cubes().is_some() { next_id.max(self.rows()) } else { next_id };
        let read = || Ok((self.read_all()?, self.read_all_free()?));
        let (states, counters) = match read() {
            // A writer may have replaced tiles since the manifest was read: then there is a new one to read.
            Err(error @ Error::Io { .. }) if self.lock.is_none() && self.check_unchanged().is_err() => {
                let newer = Self::open(&self.path).map_err(|_| error)?;
                return newer.load_as(config);
            }
            read => read?,
        };
        let named = Error::contents(&self.path);
        let mut map = Mapper::restore(classes, config, frames, next_id, states).map_err(named)?;
        match counters {
            Some(counters) => map.set_free_space(counters),
            // What was hit before is not known: it must not be called gone.
            None if !self.header.config.free_space.enabled && frames > 0 => map.forget_free_space(),
            None => {}
        }
        Ok(map)
    }

    /// The header as that of one file: with the counters of all tiles.
    fn whole_header(&self) -> Result<Header> {
        let counters = self.read_all_free()?.filter(|counters| !counters.is_empty());
        Ok(Header { free_space: counters.map(|counters| counters.to_bytes().into()), ..self.header.clone() })
    }

    /// Packs the folder into one map file, some tiles at a time.
    pub fn pack(&self, out: impl AsRef<Path>) -> Result<()> {
        self.pack_as(&self.header.sources, out).map(|_| ())
    }

    /// The same under the names of these drives, or of its contents if there are none: as [`crate::save_with`] writes it.
    pub(crate) fn pack_as(&self, sources: &[String], out: impl AsRef<Path>) -> Result<Header> {
        let tiles: Vec<([i32; 2], u64)> = self.tiles.values().map(|entry| (entry.tile, entry.rows)).collect();
        let header = Header { sources: sources.to_vec(), ..self.whole_header()? };
        crate::file::save_tiles(header, &tiles, |tile| self.read(tile), out.as_ref())
    }

    /// Unpacks a map file into a new folder, some tiles at a time; `threads` are those of whoever goes on with it.
    pub fn unpack(file: impl AsRef<Path>, folder: impl AsRef<Path>, threads: usize) -> Result<Self> {
        /// Row groups in memory at the same time.
        const AT_ONCE: usize = 16;
        let mut file = MapFile::open(file)?;
        let mut header = file.header().clone();
        header.config.run.threads = threads;
        let counters = header.free_space().transpose()?;
        header.free_space = None;
        let mut new = Self::create(folder, header.clone())?;
        if let Some(counters) = counters {
            new.put_free(counters.columns(|_| true))?;
            new.free_frames = counters.frames();
        }
        let order: Vec<[i32; 2]> = file.tiles().iter().map(|info| info.tile).collect();
        let mut number = 0;
        while number < order.len() {
            let mut tiles: BTreeMap<[i32; 2], Vec<PrimitiveState>> = BTreeMap::new();
            let begun = number;
            // A crowded tile is several row groups, one after the other; it must not be taken apart.
            while number < order.len() && (number - begun < AT_ONCE || order[number] == order[number - 1]) {
                tiles.entry(order[number]).or_default().extend(file.read_tile(number)?);
                number += 1;
            }
            new.put_all(tiles, &header)?;
        }
        new.commit(None)?;
        Ok(new)
    }
}

/// The latest file of every tile in a folder whose manifest cannot be read.
pub(crate) fn latest_files(path: &Path) -> Result<Vec<PathBuf>> {
    let mut latest: BTreeMap<[i32; 2], (u64, PathBuf)> = BTreeMap::new();
    for entry in std::fs::read_dir(path).map_err(Error::io("open", path))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(numbers) = name.strip_prefix("tile_").and_then(|name| name.strip_suffix(".parquet")) else { continue };
        let mut parts = numbers.split('_').map(str::parse::<i64>);
        if let (Some(Ok(x)), Some(Ok(y)), Some(Ok(number))) = (parts.next(), parts.next(), parts.next()) {
            let (tile, number) = ([x as i32, y as i32], number as u64);
            if latest.get(&tile).is_none_or(|(known, _)| *known < number) {
                latest.insert(tile, (number, entry.path()));
            }
        }
    }
    Ok(latest.into_values().map(|(_, path)| path).collect())
}

/// Whether a path is a map in a folder.
pub fn is_folder(path: &Path) -> bool {
    path.join(MANIFEST).is_file()
}

/// Header and primitives of a map in a file, a folder or a NumPy archive.
pub(crate) fn open_any(path: &Path) -> Result<(Header, Vec<PrimitiveState>)> {
    if is_folder(path) {
        let folder = Folder::open(path)?;
        return Ok((folder.whole_header()?, folder.read_all()?));
    }
    if path.extension().is_some_and(|ending| ending == "npz") {
        return crate::export::read_npz(path);
    }
    let mut file = MapFile::open(path)?;
    Ok((file.header().clone(), file.read_tiles(|_| true)?))
}
