//! Whether a store holds what its manifest says, and levels of detail that follow from it.

use std::collections::BTreeMap;

use crate::Tile;
use crate::add::open;
use crate::description::Fleet;
use crate::error::Result;
use crate::levels::{LevelTile, Node, about, index, level_bytes, level_object, pyramid, tile_states};
use crate::manifest::{Manifest, run_object, tile_object};
use crate::plan::plan;
use crate::reduce;
use crate::runs::Runs;

/// What was looked at, and what was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// Runs read whole.
    pub runs: usize,
    /// Tiles read whole.
    pub tiles: usize,
    /// Tiles of coarser levels of detail read whole, where levels were made of the manifest.
    pub levels: usize,
    /// Tiles, of the map and of levels, made anew and compared, byte for byte.
    pub remade: usize,
    /// What is wrong, in words.
    pub findings: Vec<String>,
}

/// Reads every run and tile of the latest manifest and of its levels of detail, and checks all hashes; with `remake`, every
/// tile is made anew of its runs, or of the tiles below it, and must have the same bytes.
pub fn verify(fleet: &Fleet, remake: bool) -> Result<Verified> {
    let manifest = Manifest::latest(fleet)?;
    let mut found = Verified::default();
    for run in &manifest.runs {
        found.runs += 1;
        let whole = open(fleet, &run_object(&run.name, &run.key)).and_then(|mut file| Ok(file.read_tiles(|_| true)?));
        if let Err(error) = whole {
            found.findings.push(format!("run {}: {error}", run.name));
        }
    }
    let mut read = Read::new();
    for (tile, key) in &manifest.tiles {
        found.tiles += 1;
        read_tile(fleet, (0, *tile), key, &mut read).unwrap_or_else(|error| {
            found.findings.push(format!("tile {tile:?}: {error}"));
        });
    }
    let levels = verify_levels(fleet, &manifest, read, &mut found);
    if remake && found.findings.is_empty() {
        let mut runs = Runs::new(fleet);
        // Runs that wait are not in the manifest: only its own tiles are compared.
        for task in plan(fleet, &[], &[])?.tasks {
            if manifest.tiles.get(&task.tile) == Some(&task.key) {
                found.remade += 1;
                let (bytes, _) = reduce::bytes(&mut runs, &task)?;
                if fleet.objects.get(&tile_object(task.tile, &task.key))?.as_ref() != Some(&bytes) {
                    found.findings.push(format!("tile {:?}: it is not the sum of its runs", task.tile));
                }
            }
        }
        for (level, tiles) in (1..).zip(&levels) {
            for (tile, node) in tiles {
                found.remade += 1;
                let (bytes, _) = level_bytes(fleet, level, *tile, node)?;
                if fleet.objects.get(&level_object(level, *tile, &node.key))?.as_ref() != Some(&bytes) {
                    found
                        .findings
                        .push(format!("level {level}, tile {tile:?}: it is not the sum of the tiles below it"));
                }
            }
        }
    }
    Ok(found)
}

/// Every tile that must be there, and what is in it if it could be read.
type Read = BTreeMap<(u8, Tile), Option<LevelTile>>;

fn read_tile(fleet: &Fleet, (level, tile): (u8, Tile), key: &str, read: &mut Read) -> Result<()> {
    read.insert((level, tile), None);
    let states = tile_states(fleet, level, tile, key)?;
    read.insert((level, tile), Some(about(level, tile, key, &states)));
    Ok(())
}

/// Looks at the levels of a manifest, if they were made: that each tile that follows from those of the map is there, whole and
/// as the index says. Returns those levels.
fn verify_levels(
    fleet: &Fleet,
    manifest: &Manifest,
    mut read: Read,
    found: &mut Verified,
) -> Vec<BTreeMap<Tile, Node>> {
    let index = match index(fleet, manifest) {
        Ok(index) => index,
        Err(error) => {
            found.findings.push(format!("levels of detail: {error}"));
            return Vec::new();
        }
    };
    let Some(index) = index else { return Vec::new() };
    let mut levels = pyramid(manifest, &fleet.config);
    // A level too full for its cubes was left out with all above it.
    let coarsest = index.iter().map(|tile| tile.level).max().unwrap_or(0);
    levels.truncate(usize::from(coarsest));
    for (level, tiles) in (1..).zip(&levels) {
        for (tile, node) in tiles {
            found.levels += 1;
            read_tile(fleet, (level, *tile), &node.key, &mut read).unwrap_or_else(|error| {
                found.findings.push(format!("level {level}, tile {tile:?}: {error}"));
            });
        }
    }
    let mut listed: BTreeMap<(u8, Tile), LevelTile> =
        index.into_iter().map(|tile| ((tile.level, tile.tile), tile)).collect();
    for ((level, tile), there) in read {
        let wrong = match (listed.remove(&(level, tile)), there) {
            (None, _) => "it is not in the index of levels",
            (Some(said), Some(there)) if !said.is_true_of(&there, coarsest) => {
                "it is not what the index of levels says"
            }
            _ => continue,
        };
        found.findings.push(format!("level {level}, tile {tile:?}: {wrong}"));
    }
    for (level, tile) in listed.into_keys() {
        found.findings.push(format!("level {level}, tile {tile:?}: it is in the index of levels, but not in the map"));
    }
    levels
}
