//! The runs of a store while tiles are made of them.

use std::collections::BTreeMap;

use e2bki::free::Counters;
use e2bki_store::{Header, MapFile};

use crate::Tile;
use crate::add::open;
use crate::description::Fleet;
use crate::error::Result;
use crate::manifest::{run_object, tile_object};
use crate::sum::Part;

/// Runs that were opened: header and index of each are asked for once, however many of its tiles are read.
pub(crate) struct Runs<'a> {
    fleet: &'a Fleet,
    open: BTreeMap<String, MapFile>,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(fleet: &'a Fleet) -> Self {
        Self { fleet, open: BTreeMap::new() }
    }

    pub(crate) fn fleet(&self) -> &'a Fleet {
        self.fleet
    }

    /// What a run has in a tile.
    pub(crate) fn part(&mut self, name: &str, key: &str, tile: Tile) -> Result<Part> {
        let object = run_object(name, key);
        let mut file = match self.open.remove(&object) {
            Some(file) => file,
            None => open(self.fleet, &object)?,
        };
        let mut part = part_of(self.fleet, &mut file, tile)?;
        part.counters = part.counters.columns(|column| column == tile).remove(&tile).unwrap_or_default();
        // Counters are one record of the file, so that an open file holds all of them: it is not kept.
        if !self.fleet.config.free_space.enabled {
            self.open.insert(object, file);
        }
        Ok(part)
    }

    /// All of a tile that is in the store. Its counters are as they were written: they have counted the frames of all parts.
    pub(crate) fn tile(&self, tile: Tile, key: &str) -> Result<Part> {
        part_of(self.fleet, &mut open(self.fleet, &tile_object(tile, key))?, tile)
    }
}

/// What a file has in a tile, each primitive checked, and all of its counters.
fn part_of(fleet: &Fleet, file: &mut MapFile, tile: Tile) -> Result<Part> {
    let states = file.read_tiles(|info| info.tile == tile)?;
    let Header { frames, next_id, .. } = *file.header();
    states.iter().try_for_each(|state| state.check(fleet.classes.len(), next_id))?;
    let looked = fleet.config.free_space.enabled;
    let counters =
        if looked { file.header().free_space().transpose()?.unwrap_or_default() } else { Counters::default() };
    Ok(Part { frames, states, counters })
}
