//! Reading from a folder: tiles, or the whole map.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use e2bki::{Config, Mapper, PrimitiveState};
use rayon::prelude::*;

use super::{Folder, is_folder};
use crate::error::{Error, Result};
use crate::file::{Header, MapFile, put_in_order};

impl Folder {
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
    pub(super) fn whole_header(&self) -> Result<Header> {
        let counters = self.read_all_free()?.filter(|counters| !counters.is_empty());
        Ok(Header { free_space: counters.map(|counters| counters.to_bytes().into()), ..self.header.clone() })
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
