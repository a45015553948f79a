//! The runs of a store while tiles are made of them.

use std::collections::BTreeMap;

use e2bki::Mapper;
use e2bki_store::{Header, MapFile};

use crate::Tile;
use crate::add::open;
use crate::description::Fleet;
use crate::error::Result;
use crate::manifest::run_object;

/// Runs that were opened: header and index of each are asked for once, however many of its tiles are read.
pub(crate) struct Runs<'a> {
    fleet: &'a Fleet,
    open: BTreeMap<String, MapFile>,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(fleet: &'a Fleet) -> Self {
        Self { fleet, open: BTreeMap::new() }
    }

    /// What a run has in a tile, as a map.
    pub(crate) fn part(&mut self, name: &str, key: &str, tile: Tile) -> Result<Mapper> {
        let object = run_object(name, key);
        let mut file = match self.open.remove(&object) {
            Some(file) => file,
            None => open(self.fleet, &object)?,
        };
        let states = file.read_tiles(|info| info.tile == tile)?;
        let Header { frames, next_id, .. } = *file.header();
        let mut part = Mapper::restore(self.fleet.classes.clone(), self.fleet.config.clone(), frames, next_id, states)?;
        if self.fleet.config.free_space.enabled {
            // Counters are one record of the file, so that an open file holds all of them: it is not kept.
            let counters = file.header().free_space().transpose()?.unwrap_or_default();
            part.set_free_space(counters.columns(|column| column == tile).remove(&tile).unwrap_or_default());
        } else {
            self.open.insert(object, file);
        }
        Ok(part)
    }
}
