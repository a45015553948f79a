//! From a folder to one map file, and back.

use std::collections::BTreeMap;
use std::path::Path;

use e2bki::PrimitiveState;

use super::Folder;
use super::slabs::Slabs;
use crate::error::Result;
use crate::file::{FreeParts, Header, MapFile};
use crate::submaps::Beside;

impl Folder {
    /// Packs the folder into one map file, some tiles at a time.
    pub fn pack(&self, out: impl AsRef<Path>) -> Result<()> {
        self.pack_as(&self.header.sources, out, None).map(|_| ())
    }

    /// The same under the names of these drives, or of its contents if there are none: as [`crate::save_with`] writes it.
    /// With what its submaps added, if they are kept.
    pub(crate) fn pack_as(&self, sources: &[String], out: impl AsRef<Path>, beside: Option<&Beside>) -> Result<Header> {
        let tiles: Vec<([i32; 2], u64)> = self.tiles.values().map(|entry| (entry.tile, entry.rows)).collect();
        let header = Header { sources: sources.to_vec(), ..self.header.clone() };
        let slabs = Slabs::of(self)?;
        let parts = slabs.as_ref().map(|slabs| |put: &mut dyn FnMut(&[u8]) -> Result<()>| slabs.each(put));
        let free = parts.as_ref().map(|parts| parts as FreeParts);
        crate::file::save_tiles(header, &tiles, |tile| self.read(tile), free, out.as_ref(), beside)
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
