//! A map as a folder of tiles: what a long run keeps up to date by writing only the tiles that changed.
//!
//! Every tile is a map file of its own under a name that is never used twice; a manifest, written last and replaced
//! atomically, says which of them are the map. Files that no manifest names are removed after the next one is in place.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use e2bki::{Config, Mapper, PrimitiveState};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::atomic::{sync_folder_of, write_atomically};
use crate::error::{Error, Result};
use crate::file::{Header, MapFile, grouped, tile_of, unwrap_manifest, wrap_manifest, write_map};

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

#[derive(Serialize, Deserialize)]
struct Manifest {
    header: String,
    /// Number of the latest file written.
    latest: u64,
    tiles: Vec<Entry>,
}

/// A map that lives in a folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    header: Header,
    latest: u64,
    pub(crate) tiles: BTreeMap<[i32; 2], Entry>,
    /// Files that the manifest on the disk names: they must stay until there is a new one.
    committed: Vec<String>,
}

/// What saving to a folder did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Tiles that had changed and were written.
    pub written: usize,
    /// Tiles that were as they are.
    pub unchanged: usize,
}

impl Folder {
    /// A new map in a folder that does not exist yet or is empty.
    pub fn create(path: impl AsRef<Path>, header: Header) -> Result<Self> {
        let path = path.as_ref();
        std::fs::create_dir_all(path).map_err(Error::io("create", path))?;
        let mut inside = std::fs::read_dir(path).map_err(Error::io("open", path))?;
        if inside.next().is_some() {
            return Err(Error::Refused(format!(
                "{} is not empty: a new map needs a folder of its own",
                path.display()
            )));
        }
        let mut folder = Self { path: path.into(), header, latest: 0, tiles: BTreeMap::new(), committed: Vec::new() };
        folder.commit(None)?;
        Ok(folder)
    }

    /// Opens a map in a folder.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let name = path.join(MANIFEST);
        let bytes = std::fs::read(&name).map_err(Error::io("read", &name))?;
        let damaged =
            |what: String| Error::Damaged { path: name.clone(), part: "the manifest".into(), offset: 0, what };
        let text = unwrap_manifest(&bytes).map_err(&damaged)?;
        let manifest: Manifest = serde_json::from_slice(text).map_err(|e| damaged(e.to_string()))?;
        let header = Header::from_json(manifest.header.as_bytes(), &name, 0)?;
        if let Some(entry) = manifest.tiles.iter().find(|entry| entry.file.contains(['/', '\\'])) {
            return Err(damaged(format!("tile {:?} lies outside of the folder: {}", entry.tile, entry.file)));
        }
        let committed = manifest.tiles.iter().map(|entry| entry.file.clone()).collect();
        let tiles = manifest.tiles.into_iter().map(|entry| (entry.tile, entry)).collect();
        Ok(Self { path: path.into(), header, latest: manifest.latest, tiles, committed })
    }

    /// What the map holds besides primitives.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Number of primitives.
    pub fn rows(&self) -> u64 {
        self.tiles.values().map(|entry| entry.rows).sum()
    }

    /// Bytes of all tiles.
    pub fn bytes(&self) -> Result<u64> {
        let size = |entry: &Entry| {
            let path = self.path.join(&entry.file);
            std::fs::metadata(&path).map(|about| about.len()).map_err(Error::io("open", &path))
        };
        self.tiles.values().map(size).sum()
    }

    /// Low and high corner, whole metres, of the box in which beliefs depend on each tile.
    pub fn boxes(&self) -> Vec<([i32; 3], [i32; 3])> {
        self.tiles.values().map(|entry| (entry.low, entry.high)).collect()
    }

    /// The files of the tiles.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.tiles.values().map(|entry| self.path.join(&entry.file)).collect()
    }

    /// Saves a whole map: tiles that changed are written, then the manifest. Whenever this is interrupted, the folder
    /// holds the map as it was before.
    pub fn save(&mut self, map: &Mapper) -> Result<Written> {
        let mut tiles: BTreeMap<[i32; 2], Vec<PrimitiveState>> = BTreeMap::new();
        for primitive in map.primitives() {
            tiles.entry(tile_of(primitive.sums().origin)).or_default().push(primitive.state());
        }
        self.tiles.retain(|tile, _| tiles.contains_key(tile));
        let header = Header::of(map, &self.header.sources);
        let written = self.put_all(tiles, &header)?;
        self.commit(Some(header))?;
        Ok(written)
    }

    /// Writes tiles that differ from what the folder holds. They count from the next [`Self::commit`] on.
    pub(crate) fn put_all(
        &mut self,
        tiles: BTreeMap<[i32; 2], Vec<PrimitiveState>>,
        header: &Header,
    ) -> Result<Written> {
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
        Ok(Written { written, unchanged: all - written })
    }

    /// Writes one tile, unless it is what the folder has already.
    fn put(&self, number: u64, tile: [i32; 2], states: Vec<PrimitiveState>, header: &Header) -> Result<Option<Entry>> {
        let file = format!("tile_{}_{}_{number}.parquet", tile[0], tile[1]);
        let path = self.path.join(&file);
        let rows = states.len() as u64;
        let groups = grouped(states);
        // The counters of the whole map are beside the tiles, not in every one of them.
        let header = &Header { free_space: None, ..header.clone() };
        let mut bytes = Vec::new();
        let infos = write_map(&mut bytes, &path, header, &groups, |(tile, states)| (*tile, Cow::Borrowed(states)))?;
        let hashes: Vec<u8> = infos.iter().flat_map(|info| info.hash.to_le_bytes()).collect();
        let hash = xxhash_rust::xxh3::xxh3_64(&hashes);
        if self.tiles.get(&tile).is_some_and(|entry| entry.hash == hash && entry.rows == rows) {
            return Ok(None);
        }
        std::fs::write(&path, &bytes).map_err(Error::io("write", &path))?;
        let bound = |get: fn(i32, i32) -> i32, corner: fn(&crate::TileInfo) -> [i32; 3]| -> [i32; 3] {
            std::array::from_fn(|i| infos.iter().map(|info| corner(info)[i]).reduce(get).unwrap_or(0))
        };
        let (low, high) = (bound(i32::min, |info| info.low), bound(i32::max, |info| info.high));
        Ok(Some(Entry { tile, file, rows, hash, low, high }))
    }

    /// Makes the tiles as they are now the map: everything on the disk, then the manifest.
    pub(crate) fn commit(&mut self, header: Option<Header>) -> Result<()> {
        if let Some(header) = header {
            self.header = header;
        }
        for entry in self.tiles.values().filter(|entry| !self.committed.contains(&entry.file)) {
            let path = self.path.join(&entry.file);
            let file = std::fs::OpenOptions::new().append(true).open(&path).map_err(Error::io("open", &path))?;
            file.sync_all().map_err(Error::io("write", &path))?;
        }
        let manifest = Manifest {
            header: self.header.to_json()?,
            latest: self.latest,
            tiles: self.tiles.values().cloned().collect(),
        };
        let text =
            serde_json::to_vec(&manifest).map_err(|e| Error::Refused(format!("cannot write the manifest: {e}")))?;
        let name = self.path.join(MANIFEST);
        sync_folder_of(&name)?;
        write_atomically(&name, |out| {
            std::io::Write::write_all(out, &wrap_manifest(&text)).map_err(Error::io("write", &name))
        })?;
        self.committed = self.tiles.values().map(|entry| entry.file.clone()).collect();
        self.sweep();
        Ok(())
    }

    /// Removes a file that is not needed any more, unless the manifest on the disk still names it.
    fn discard(&self, file: &str) {
        if !self.committed.iter().any(|name| name == file) {
            // A file that cannot be removed costs space only; the next sweep tries again.
            std::fs::remove_file(self.path.join(file)).ok();
        }
    }

    /// Removes tiles that the manifest does not name: those of earlier manifests, and those of a run that was killed.
    fn sweep(&self) {
        let Ok(inside) = std::fs::read_dir(&self.path) else { return };
        for entry in inside.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("tile_") && name.ends_with(".parquet") {
                self.discard(&name);
            }
        }
    }

    /// The primitives of a tile; none if there is no such tile.
    pub(crate) fn read(&self, tile: [i32; 2]) -> Result<Vec<PrimitiveState>> {
        let Some(entry) = self.tiles.get(&tile) else { return Ok(Vec::new()) };
        let path = self.path.join(&entry.file);
        let mut file = MapFile::open(&path)?;
        let states = file.read_tiles(|_| true)?;
        if states.len() as u64 != entry.rows {
            let what = format!("it has {} primitives instead of {}", states.len(), entry.rows);
            return Err(Error::Damaged { path, part: format!("tile {tile:?}"), offset: 0, what });
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
        Mapper::restore(classes, config, frames, next_id, self.read_all()?).map_err(Error::contents(&self.path))
    }

    /// Packs the folder into one map file.
    pub fn pack(&self, out: impl AsRef<Path>) -> Result<()> {
        let out = out.as_ref();
        crate::file::save_states(&self.header, self.read_all()?, out).map(|_| ())
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
        return Ok((folder.header.clone(), folder.read_all()?));
    }
    if path.extension().is_some_and(|ending| ending == "npz") {
        return crate::export::read_npz(path);
    }
    let mut file = MapFile::open(path)?;
    Ok((file.header().clone(), file.read_tiles(|_| true)?))
}
