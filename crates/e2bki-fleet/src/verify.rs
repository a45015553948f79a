//! Whether a store holds what its manifest says.

use crate::add::open;
use crate::description::Fleet;
use crate::error::Result;
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
    /// Tiles made anew and compared, byte for byte.
    pub remade: usize,
    /// What is wrong, in words.
    pub findings: Vec<String>,
}

/// Reads every run and tile of the latest manifest and checks all hashes; with `remake`, every tile is made anew of its
/// runs and must have the same bytes.
pub fn verify(fleet: &Fleet, remake: bool) -> Result<Verified> {
    let manifest = Manifest::latest(fleet)?;
    let mut found = Verified::default();
    let read = |object: &str| -> Result<u64> {
        let mut file = open(fleet, object)?;
        Ok(file.read_tiles(|_| true)?.len() as u64)
    };
    for run in &manifest.runs {
        found.runs += 1;
        if let Err(error) = read(&run_object(&run.name, &run.key)) {
            found.findings.push(format!("run {}: {error}", run.name));
        }
    }
    for (tile, key) in &manifest.tiles {
        found.tiles += 1;
        if let Err(error) = read(&tile_object(*tile, key)) {
            found.findings.push(format!("tile {tile:?}: {error}"));
        }
    }
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
    }
    Ok(found)
}
