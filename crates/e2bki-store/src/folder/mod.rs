//! A map as a folder of tiles: what a long run keeps up to date by writing only the tiles that changed.
//!
//! Every tile is a map file of its own under a name that is never used twice; a manifest, written last and replaced
//! atomically, says which of them are the map. Files that no manifest names are removed after the next one is in place.

mod free;
mod pack;
mod read;
mod save;
mod slabs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use e2bki::free::MAX_FRAMES;
use e2bki::{Moment, PrimitiveState};
use serde::{Deserialize, Serialize};

use crate::atomic::prefix_beside;
use crate::disk::{SharedDisk, real};
use crate::error::{Error, Result};
use crate::file::{Header, TileInfo, unwrap_manifest};
use crate::free_tiles::FreeEntry;
use crate::lock::{LOCK, WriteLock};

pub(crate) use read::{latest_files, open_any};

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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Tiles that had changed and were written.
    pub written: usize,
    /// Tiles that were as they are.
    pub unchanged: usize,
    /// Tiles that were encoded to see whether they had changed, those written among them.
    pub encoded: usize,
}

impl Written {
    /// Of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            written: self.written + other.written,
            unchanged: self.unchanged + other.unchanged,
            encoded: self.encoded + other.encoded,
        }
    }
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
}

/// Whether a path is a map in a folder.
pub fn is_folder(path: &Path) -> bool {
    path.join(MANIFEST).is_file()
}
