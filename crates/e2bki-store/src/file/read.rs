//! Reading map files: every record verified before it is used, every size held against the bytes that are there.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use e2bki::free::Counters;
use e2bki::{Config, Mapper, PrimitiveState, Restoring};
use rayon::prelude::*;

use super::header::{Header, Index, TileInfo};
use super::record::{self, END_LEN, PREFIX};
use super::tile::{decode_tile, plausible};
use super::{MAGIC, hash};
use crate::error::{Error, Result};

/// Tiles whose bytes are in memory at the same time while a map is loaded.
const AT_ONCE: usize = 16;

/// Where the bytes come from.
pub(super) trait Source: Read + Seek + Send {}
impl<T: Read + Seek + Send> Source for T {}

/// A map file, opened: what it holds is known, tiles are read when asked for.
pub struct MapFile {
    path: PathBuf,
    source: Box<dyn Source>,
    len: u64,
    header: Header,
    tiles: Vec<TileInfo>,
}

/// Loads a map from a file or a folder, to go on as if it had never been saved.
pub fn load(path: impl AsRef<Path>) -> Result<Mapper> {
    if crate::folder::is_folder(path.as_ref()) {
        return crate::Folder::open(path)?.load();
    }
    MapFile::open(path)?.load()
}

/// Loads what beliefs inside of a box depend on, and no more. Beliefs inside are those of the whole map.
pub fn load_region(path: impl AsRef<Path>, low: [f64; 3], high: [f64; 3]) -> Result<Mapper> {
    MapFile::open(path)?.load_region(low, high)
}

impl MapFile {
    /// Opens a file and verifies everything but the tiles.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(Error::io("open", path))?;
        let about = file.metadata().map_err(Error::io("open", path))?;
        if about.is_dir() {
            return Err(Error::Foreign { path: path.into(), what: "it is a folder without a manifest".into() });
        }
        Self::new(Box::new(file), path)
    }

    /// A map file that is in memory; `name` stands for it in messages.
    pub fn of_bytes(bytes: Vec<u8>, name: impl AsRef<Path>) -> Result<Self> {
        Self::new(Box::new(Cursor::new(bytes)), name.as_ref())
    }

    /// A map file that is read from elsewhere, a part at a time; `name` stands for it in messages.
    pub fn of_source(source: impl Read + Seek + Send + 'static, name: impl AsRef<Path>) -> Result<Self> {
        Self::new(Box::new(source), name.as_ref())
    }

    fn new(mut source: Box<dyn Source>, path: &Path) -> Result<Self> {
        let len = source.seek(SeekFrom::End(0)).map_err(Error::io("read", path))?;
        let mut bytes = Bytes { source: &mut *source, path, len };
        let mut header = read_header(&mut bytes)?;
        let index = read_index(&mut bytes)?;
        if Header::from_json(index.header.as_bytes(), path, 0)? != header {
            return Err(bytes.damaged("the index", 0, "its copy of the header differs".into()));
        }
        if let Some(at) = index.free_space {
            header.free_space = Some(bytes.record("the counters of free space", at, record::FREE)?.0.into());
        }
        Ok(Self { path: path.into(), source, len, header, tiles: index.tiles })
    }

    /// Header of the file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its tiles, in the order of the file.
    pub fn tiles(&self) -> &[TileInfo] {
        &self.tiles
    }

    /// Whether this is the file that a folder's manifest means by an entry.
    pub(crate) fn is_tile(&self, entry: &crate::folder::Entry) -> bool {
        entry.is_of(&self.tiles)
    }

    /// Size of the file in bytes.
    pub fn bytes(&self) -> u64 {
        self.len
    }

    /// Number of primitives.
    pub fn rows(&self) -> u64 {
        self.tiles.iter().map(|tile| u64::from(tile.rows)).sum()
    }

    /// The primitives of one entry of [`Self::tiles`].
    pub(crate) fn read_tile(&mut self, number: usize) -> Result<Vec<PrimitiveState>> {
        let Some(info) = self.tiles.get(number).cloned() else {
            return Err(Error::Refused(format!("there is no tile number {number}; there are {}", self.tiles.len())));
        };
        let (at, bytes) = self.tile_bytes(&info)?;
        decode_tile(&info, &bytes, self.header.classes.len(), &self.path, at)
    }

    /// The columns of a tile, and where they begin.
    pub(super) fn tile_bytes(&mut self, info: &TileInfo) -> Result<(u64, Vec<u8>)> {
        let mut bytes = Bytes { source: &mut *self.source, path: &self.path, len: self.len };
        let part = format!("tile {:?}", info.tile);
        let (own, at) = bytes.record(&part, info.offset, record::TILE)?;
        if serde_json::from_slice::<TileInfo>(&own).ok().as_ref() != Some(info) {
            return Err(bytes.damaged(&part, info.offset, "its record differs from the index".into()));
        }
        Ok((at, bytes.take(&part, at, info.bytes())?))
    }

    /// The primitives of all tiles that `wanted` accepts.
    pub fn read_tiles(&mut self, wanted: impl Fn(&TileInfo) -> bool) -> Result<Vec<PrimitiveState>> {
        let mut states = Vec::new();
        self.for_tiles(wanted, |tile| {
            states.extend(tile);
            Ok(())
        })?;
        Ok(states)
    }

    /// Gives the primitives of all tiles that `wanted` accepts to `take`, some tiles at a time.
    fn for_tiles(
        &mut self,
        wanted: impl Fn(&TileInfo) -> bool,
        mut take: impl FnMut(Vec<PrimitiveState>) -> Result<()>,
    ) -> Result<()> {
        let tiles: Vec<TileInfo> = self.tiles.iter().filter(|tile| wanted(tile)).cloned().collect();
        for portion in tiles.chunks(AT_ONCE) {
            let read = portion.iter().map(|info| Ok((info, self.tile_bytes(info)?))).collect::<Result<Vec<_>>>()?;
            let (classes, path) = (self.header.classes.len(), &self.path);
            let decoded: Vec<Result<Vec<PrimitiveState>>> =
                read.par_iter().map(|(info, (at, bytes))| decode_tile(info, bytes, classes, path, *at)).collect();
            let mut states = Vec::with_capacity(portion.iter().map(|tile| tile.rows as usize).sum());
            for tile in decoded {
                states.extend(tile?);
            }
            take(states)?;
        }
        Ok(())
    }

    /// The whole map.
    pub fn load(&mut self) -> Result<Mapper> {
        let config = self.header.config.clone();
        self.load_as(config, |_| true)
    }

    /// The part of the map that beliefs inside of a box depend on.
    pub fn load_region(&mut self, low: [f64; 3], high: [f64; 3]) -> Result<Mapper> {
        let config = self.header.config.clone();
        self.load_as(config, |tile| tile.matters_in(low, high))
    }

    /// The whole map with another configuration, and with what its submaps added if that is kept beside it.
    pub fn load_as_kept(&mut self, config: Config) -> Result<Mapper> {
        let mut map = self.load_as(config, |_| true)?;
        let path = self.path.clone();
        crate::submaps::restore_if_kept(&mut map, &path, self)?;
        Ok(map)
    }

    /// Tiles as a map with another configuration, as one without live voxels to spare the time for them.
    pub fn load_as(&mut self, config: Config, wanted: impl Fn(&TileInfo) -> bool) -> Result<Mapper> {
        let Header { classes, frames, next_id, .. } = self.header.clone();
        let path = self.path.clone();
        let mut map = Restoring::new(classes, config, frames, next_id).map_err(Error::contents(&path))?;
        self.for_tiles(wanted, |states| map.add(&states).map_err(Error::contents(&path)))?;
        let mut map = map.finish().map_err(Error::contents(&path))?;
        match &self.header.free_space {
            Some(counters) => map.set_free_space(Counters::from_bytes(counters).map_err(Error::contents(&path))?),
            // What was hit before is not known: it must not be called gone.
            None if !self.header.config.free_space.enabled && frames > 0 => map.forget_free_space(),
            None => {}
        }
        Ok(map)
    }
}

/// Bytes of a file, never more than there are.
pub(super) struct Bytes<'a> {
    pub(super) source: &'a mut dyn Source,
    pub(super) path: &'a Path,
    pub(super) len: u64,
}

impl Bytes<'_> {
    pub(super) fn damaged(&self, part: &str, offset: u64, what: String) -> Error {
        Error::Damaged { path: self.path.into(), part: part.into(), offset, what }
    }

    /// So many bytes from a place.
    pub(super) fn take(&mut self, part: &str, at: u64, count: u64) -> Result<Vec<u8>> {
        if at.checked_add(count).is_none_or(|end| end > self.len) {
            let what = format!("{count} bytes are needed there, but the file ends at {}", self.len);
            return Err(self.damaged(part, at, what));
        }
        let mut bytes = vec![0; count as usize];
        self.source.seek(SeekFrom::Start(at)).map_err(Error::io("read", self.path))?;
        self.source.read_exact(&mut bytes).map_err(Error::io("read", self.path))?;
        Ok(bytes)
    }

    pub(super) fn array<const N: usize>(&mut self, part: &str, at: u64) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(&self.take(part, at, N as u64)?);
        Ok(array)
    }

    /// A verified record, and where it ends.
    pub(super) fn record(&mut self, part: &str, at: u64, kind: [u8; 4]) -> Result<(Vec<u8>, u64)> {
        let prefix: [u8; PREFIX] = self.array(part, at)?;
        let len = record::declared(&prefix, kind).map_err(|what| self.damaged(part, at, what))?;
        let bytes = self.take(part, at + PREFIX as u64, len as u64)?;
        record::verify(&prefix, kind, &bytes).map_err(|what| self.damaged(part, at, what))?;
        Ok((bytes, at + (PREFIX + len) as u64))
    }
}

pub(super) fn read_header(bytes: &mut Bytes<'_>) -> Result<Header> {
    let foreign = |what: &str| Error::Foreign { path: bytes.path.into(), what: what.into() };
    if bytes.len == 0 {
        return Err(foreign("it is empty"));
    }
    if bytes.len < 64 {
        return Err(foreign("it is too short"));
    }
    let start: [u8; 12] = bytes.array("the header", 0)?;
    if start[4..] != record::MARK {
        let parquet = start[..4] == MAGIC;
        return Err(foreign(if parquet { "it is another kind of Parquet file" } else { "it begins otherwise" }));
    }
    if start[..4] != MAGIC {
        return Err(bytes.damaged("the header", 0, "the file does not begin with PAR1".into()));
    }
    let (text, _) = bytes.record("the header", 4, record::HEAD)?;
    Header::from_json(&text, bytes.path, 4 + PREFIX as u64)
}

fn read_index(bytes: &mut Bytes<'_>) -> Result<Index> {
    const PART: &str = "the index";
    let tail: [u8; 8] = bytes.array(PART, bytes.len - 8)?;
    if tail[4..] != MAGIC {
        return Err(bytes.damaged(PART, bytes.len - 4, "the file does not end with PAR1; it may be cut off".into()));
    }
    let footer_len = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let Some(end) = (bytes.len - 8).checked_sub(footer_len + END_LEN as u64) else {
        return Err(bytes.damaged(PART, bytes.len - 8, format!("a footer of {footer_len} bytes does not fit")));
    };
    let mark: [u8; END_LEN] = bytes.array(PART, end)?;
    let at = record::index_of_end(&mark).ok_or_else(|| bytes.damaged(PART, end, "there is no end mark".into()))?;
    let (text, after) = bytes.record(PART, at, record::INDEX)?;
    if after != end {
        return Err(bytes.damaged(PART, at, format!("it ends at {after} instead of {end}")));
    }
    let index: Index = serde_json::from_slice(&text).map_err(|e| bytes.damaged(PART, at, e.to_string()))?;
    let footer = bytes.take("the footer", end + END_LEN as u64, footer_len)?;
    if u64::from(index.footer_len) != footer_len || hash(&footer) != index.footer_hash {
        return Err(bytes.damaged("the footer", end + END_LEN as u64, "its hash does not match".into()));
    }
    check_tiles(&index, bytes, at)?;
    Ok(index)
}

/// Tiles must follow each other without overlap: a small file cannot name the same bytes a thousand times.
fn check_tiles(index: &Index, bytes: &Bytes<'_>, end: u64) -> Result<()> {
    let classes = Header::from_json(index.header.as_bytes(), bytes.path, end)?.classes.len();
    let mut free = 4;
    for info in &index.tiles {
        let part = format!("tile {:?}", info.tile);
        plausible(info, classes).map_err(|what| bytes.damaged(&part, info.offset, what))?;
        let after = info.offset.checked_add(PREFIX as u64 + info.bytes()).filter(|after| *after <= end);
        match after {
            Some(after) if info.offset >= free => free = after,
            _ => {
                return Err(bytes.damaged(&part, info.offset, "it overlaps what is before it or the index".into()));
            }
        }
    }
    Ok(())
}
