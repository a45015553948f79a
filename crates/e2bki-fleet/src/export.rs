//! The fleet's map as one file: the bytes that one machine would have written.

use std::path::Path;

use e2bki::free::Counters;
use e2bki::{Mapper, Restoring};
use e2bki_store::Header;

use crate::add::open;
use crate::description::Fleet;
use crate::error::Result;
use crate::manifest::{Manifest, tile_object};

/// Writes the map of a manifest (the latest, if none is named) to a map file.
pub fn export(fleet: &Fleet, number: Option<u64>, out: &Path) -> Result<Header> {
    let manifest = manifest(fleet, number)?;
    let names: Vec<String> = manifest.runs.iter().map(|run| run.name.clone()).collect();
    Ok(e2bki_store::save_with(&map_of(fleet, &manifest)?, &names, out)?)
}

/// The map of a manifest (the latest, if none is named) in memory.
pub fn load(fleet: &Fleet, number: Option<u64>) -> Result<Mapper> {
    map_of(fleet, &manifest(fleet, number)?)
}

fn manifest(fleet: &Fleet, number: Option<u64>) -> Result<Manifest> {
    number.map_or_else(|| Manifest::latest(fleet), |number| Manifest::read(fleet, number))
}

fn map_of(fleet: &Fleet, manifest: &Manifest) -> Result<Mapper> {
    let frames = manifest.runs.iter().map(|run| run.frames).sum();
    let mut tiles = Vec::new();
    let mut counters: Vec<Counters> = Vec::new();
    let mut rows = 0_u64;
    for (tile, key) in &manifest.tiles {
        let mut file = open(fleet, &tile_object(*tile, key))?;
        let mut states = file.read_tiles(|_| true)?;
        counters.extend(file.header().free_space().transpose()?);
        // Ids are of a tile only.
        for state in &mut states {
            state.id = rows;
            rows += 1;
        }
        tiles.push(states);
    }
    let mut map = Restoring::new(fleet.classes.clone(), fleet.config.clone(), frames, rows)?;
    tiles.iter().try_for_each(|states| map.add(states))?;
    let mut map = map.finish()?;
    if fleet.config.free_space.enabled {
        map.set_free_space(Counters::of_columns(counters, manifest.runs.iter().map(|run| run.looks).sum())?);
    }
    Ok(map)
}
