//! Making a plan the map, and taking runs out of it.

use std::collections::BTreeSet;

use crate::description::Fleet;
use crate::error::{Error, Result};
use crate::manifest::{Left, Manifest, tile_object};
use crate::plan::{Plan, Task, plan};
use crate::purge::{purge, withdraw};
use crate::reduce::{Reduced, reduce, reduce_all};

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
    /// How many of these were made of the tile before, by taking runs out or adding some, not of all runs.
    pub changed: usize,
    /// Whether it is new.
    pub is_new: bool,
}

/// Makes the runs in the store the map: tiles that are missing are made, then a manifest is written. Runs that were taken
/// out stay out unless they are named in `again`.
pub fn commit(fleet: &Fleet, again: &[String]) -> Result<Committed> {
    settle(fleet, again, None)
}

/// Takes a run out of the map. Purging one again that was purged before removes what others may have made of it since.
pub fn remove(fleet: &Fleet, removal: &Removal<'_>) -> Result<Committed> {
    let committed = settle(fleet, &[], Some(removal))?;
    if removal.purge {
        purge(fleet, removal.run, committed.manifest.number)?;
    }
    Ok(committed)
}

fn settle(fleet: &Fleet, again: &[String], removal: Option<&Removal<'_>>) -> Result<Committed> {
    let mut made: Vec<Task> = Vec::new();
    let mut changed = 0;
    for _ in 0..TIMES {
        let out = removal.map_or(Ok(Vec::new()), |removal| leaving(fleet, removal))?;
        let plan = plan(fleet, again, &out)?;
        match make(fleet, &plan) {
            Ok((tiles, reduced)) => {
                made.extend(tiles);
                changed += reduced.iter().filter(|tile| tile.changed).count();
            }
            // What it was planned with may have been purged.
            Err(_) if Manifest::latest(fleet)?.number != plan.parent.number => continue,
            Err(error) => return Err(error),
        }
        let manifest = plan.manifest();
        let same = Manifest { number: plan.parent.number, parent: plan.parent.parent, ..manifest.clone() };
        let is_new = same != plan.parent;
        if !is_new || manifest.create(fleet)? {
            // Another program may have purged a tile that it thought nobody needs: its bytes follow from its name.
            let there: BTreeSet<String> = fleet.objects.list("tiles")?.into_iter().map(|(name, _)| name).collect();
            let missing = plan.tasks.iter().filter(|task| !there.contains(&tile_object(task.tile, &task.key)));
            for task in missing {
                reduce(fleet, task)?;
            }
            withdraw(fleet, &made)?;
            let manifest = if is_new { manifest } else { plan.parent };
            return Ok(Committed { manifest, reduced: made.len(), changed, is_new });
        }
    }
    Err(Error::Raced { store: fleet.objects.name().into(), times: TIMES })
}

/// Makes the tiles of a plan that are not there, and returns them.
fn make(fleet: &Fleet, plan: &Plan) -> Result<(Vec<Task>, Vec<Reduced>)> {
    let to_do: Vec<Task> = plan.to_do().cloned().collect();
    let reduced = reduce_all(fleet, &to_do, || ())?;
    Ok((to_do, reduced))
}

/// What is written down of a run that goes.
fn leaving(fleet: &Fleet, removal: &Removal<'_>) -> Result<Vec<Left>> {
    let Removal { run, reason, purge } = *removal;
    let keys: Vec<String> =
        crate::add::stored(fleet)?.into_iter().filter(|(name, _)| name == run).map(|(_, key)| key).collect();
    if keys.is_empty() {
        let latest = Manifest::latest(fleet)?;
        let purged: Vec<Left> =
            latest.removed.iter().filter(|left| left.name == run && left.purged && purge).cloned().collect();
        if !purged.is_empty() {
            return Ok(purged);
        }
        let names: Vec<&str> = latest.runs.iter().map(|run| run.name.as_str()).collect();
        return Err(Error::Refused(format!("there is no run {run}; the map is made of {}", names.join(", "))));
    }
    let left = |key| Left { name: run.into(), key, reason: reason.into(), purged: purge };
    Ok(keys.into_iter().map(left).collect())
}
