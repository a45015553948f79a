//! Which tiles a map needs, and which of them are still to be made.

use std::collections::{BTreeMap, BTreeSet};

use crate::add::{open, stored};
use crate::description::Fleet;
use crate::error::{Error, Result};
use crate::manifest::{Left, Manifest, Run, run_object, tile_object};
use crate::{Tile, digest};

/// A tile to be made of some runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Which tile.
    pub tile: Tile,
    /// Its key: a hash of the runs' keys.
    pub key: String,
    /// Names and keys of the runs that have something in it, by key.
    pub inputs: Vec<(String, String)>,
    /// Whether it is in the store already.
    pub is_done: bool,
}

/// What is needed for the next manifest.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The manifest that it would follow.
    pub parent: Manifest,
    /// Runs that would be in the map, by name.
    pub runs: Vec<Run>,
    /// Runs that are out of it, by name.
    pub removed: Vec<Left>,
    /// The tiles, by coordinates.
    pub tasks: Vec<Task>,
}

impl Plan {
    /// The tiles that are not in the store yet.
    pub fn to_do(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().filter(|task| !task.is_done)
    }

    /// The manifest that makes this the map.
    pub(crate) fn manifest(&self) -> Manifest {
        Manifest {
            number: self.parent.number + 1,
            parent: self.parent.number,
            runs: self.runs.clone(),
            removed: self.removed.clone(),
            tiles: self.tasks.iter().map(|task| (task.tile, task.key.clone())).collect(),
        }
    }
}

/// Plans the map of all runs in the store, without those that were taken out; `again` names some of these to be taken in
/// again, `out` runs to be taken out now.
pub fn plan(fleet: &Fleet, again: &[String], out: &[Left]) -> Result<Plan> {
    let parent = Manifest::latest(fleet)?;
    let is_out = |left: &&Left| !again.contains(&left.name);
    let mut removed: Vec<Left> = parent.removed.iter().filter(is_out).cloned().collect();
    for left in out {
        removed.retain(|other| other.key != left.key);
        removed.push(left.clone());
    }
    removed.sort_by(|a, b| (&a.name, &a.key).cmp(&(&b.name, &b.key)));
    let known = stored(fleet)?;
    if let Some(name) = again.iter().find(|name| !known.iter().any(|(other, _)| other == *name)) {
        return Err(Error::Refused(format!("the run {name} is not in {}", fleet.objects.name())));
    }
    let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, key) in known {
        if !removed.iter().any(|left| left.key == key) {
            by_name.entry(name).or_default().push(key);
        }
    }
    let mut runs = Vec::new();
    let mut tiles: BTreeMap<Tile, Vec<(String, String)>> = BTreeMap::new();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for (name, keys) in by_name {
        let key = choose(&name, keys, &parent)?;
        if let Some(other) = names.insert(key.clone(), name.clone()) {
            return Err(Error::Refused(format!("{name} and {other} are the same run: remove one of them")));
        }
        let file = open(fleet, &run_object(&name, &key))?;
        for tile in file.tiles().iter().map(|info| info.tile).collect::<BTreeSet<_>>() {
            tiles.entry(tile).or_default().push((name.clone(), key.clone()));
        }
        runs.push(Run { name, key, frames: file.header().frames });
    }
    let there: BTreeSet<String> = fleet.objects.list("tiles")?.into_iter().map(|(name, _)| name).collect();
    let task = |(tile, mut inputs): (Tile, Vec<(String, String)>)| {
        inputs.sort_by(|a, b| a.1.cmp(&b.1));
        let key = tile_key(&inputs);
        let is_done = there.contains(&tile_object(tile, &key));
        Task { tile, key, inputs, is_done }
    };
    Ok(Plan { parent, runs, removed, tasks: tiles.into_iter().map(task).collect() })
}

/// Of several maps of one run, the one that is not in the map yet: somebody made it anew.
fn choose(name: &str, mut keys: Vec<String>, parent: &Manifest) -> Result<String> {
    if keys.len() > 1 {
        keys.retain(|key| !parent.runs.iter().any(|run| run.name == name && run.key == *key));
    }
    match <[String; 1]>::try_from(keys) {
        Ok([key]) => Ok(key),
        Err(keys) => Err(Error::Refused(format!(
            "the run {name} was added {} times since the last commit ({}): remove all but one object of it",
            keys.len(),
            keys.join(", ")
        ))),
    }
}

/// Names do not matter for what is in a tile.
fn tile_key(inputs: &[(String, String)]) -> String {
    let mut text = format!("tile of e2bki maps, format {}", e2bki_store::FORMAT_VERSION);
    for (_, key) in inputs {
        text.push('\n');
        text.push_str(key);
    }
    digest(text.as_bytes())
}
