//! Making a plan the map, and taking runs out of it.

use std::collections::BTreeSet;

use rayon::prelude::*;

use crate::description::Fleet;
use crate::error::{Error, Result};
use crate::manifest::{Left, Manifest, tile_object};
use crate::plan::{Plan, plan};
use crate::reduce::reduce;

/// How often somebody else may be first.
const TIMES: usize = 20;

/// A run to be taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal<'a> {
    /// Its name.
    pub run: &'a str,
    /// Why, for the record.
    pub reason: &'a str,
    /// Whether every object that holds something of it is removed too, so that it cannot come back.
    pub purge: bool,
}

/// What was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The manifest that holds now.
    pub manifest: Manifest,
    /// Tiles that had to be made for it.
    pub reduced: usize,
    /// Whether it is new.
    pub is_new: bool,
}

/// Makes the runs in the store the map: tiles that are missing are made, then a manifest is written. Runs that were taken
/// out stay out unless they are named in `again`.
pub fn commit(fleet: &Fleet, again: &[String]) -> Result<Committed> {
    settle(fleet, again, None)
}

/// Takes a run out of the map.
pub fn remove(fleet: &Fleet, removal: &Removal<'_>) -> Result<Committed> {
    let committed = settle(fleet, &[], Some(removal))?;
    if removal.purge {
        purge(fleet, removal.run, &committed.manifest)?;
    }
    Ok(committed)
}

fn settle(fleet: &Fleet, again: &[String], removal: Option<&Removal<'_>>) -> Result<Committed> {
    let mut reduced = 0;
    for _ in 0..TIMES {
        let out = removal.map_or(Ok(Vec::new()), |removal| leaving(fleet, removal))?;
        let plan = plan(fleet, again, &out)?;
        reduced += make(fleet, &plan)?;
        let manifest = plan.manifest();
        let same = Manifest { number: plan.parent.number, parent: plan.parent.parent, ..manifest.clone() };
        let is_new = same != plan.parent;
        if !is_new || manifest.create(fleet)? {
            // Another program may have purged a tile that it thought nobody needs: its bytes follow from its name.
            let missing = plan
                .tasks
                .iter()
                .filter(|task| !matches!(fleet.objects.size(&tile_object(task.tile, &task.key)), Ok(Some(_))));
            for task in missing {
                reduce(fleet, task)?;
            }
            return Ok(Committed { manifest: if is_new { manifest } else { plan.parent }, reduced, is_new });
        }
    }
    Err(Error::Raced { store: fleet.objects.name().into(), times: TIMES })
}

/// Makes the tiles of a plan that are not there. Returns how many they were.
fn make(fleet: &Fleet, plan: &Plan) -> Result<usize> {
    let to_do: Vec<_> = plan.to_do().collect();
    to_do.par_iter().try_for_each(|task| reduce(fleet, task).map(|_| ()))?;
    Ok(to_do.len())
}

/// What is written down of a run that goes.
fn leaving(fleet: &Fleet, removal: &Removal<'_>) -> Result<Vec<Left>> {
    let Removal { run, reason, purge } = *removal;
    let keys: Vec<String> =
        crate::add::stored(fleet)?.into_iter().filter(|(name, _)| name == run).map(|(_, key)| key).collect();
    if keys.is_empty() {
        let latest = Manifest::latest(fleet)?;
        let names: Vec<&str> = latest.runs.iter().map(|run| run.name.as_str()).collect();
        return Err(Error::Refused(format!("there is no run {run}; the map is made of {}", names.join(", "))));
    }
    let left = |key| Left { name: run.into(), key, reason: reason.into(), purged: purge };
    Ok(keys.into_iter().map(left).collect())
}

/// Removes every object that may hold something of a run. Tiles stay if a manifest without the run needs them.
fn purge(fleet: &Fleet, run: &str, now: &Manifest) -> Result<()> {
    let mut needed: BTreeSet<String> = BTreeSet::new();
    for number in Manifest::numbers(fleet)? {
        let manifest = Manifest::read(fleet, number)?;
        if number >= now.number || !manifest.runs.iter().any(|other| other.name == run) {
            needed.extend(manifest.tiles.iter().map(|(tile, key)| tile_object(*tile, key)));
        }
    }
    let runs = fleet.objects.list(&format!("runs/{run}"))?;
    let tiles = fleet.objects.list("tiles")?.into_iter().filter(|(name, _)| !needed.contains(name));
    runs.into_iter().chain(tiles).try_for_each(|(object, _)| fleet.objects.remove(&object))
}
