//! Forgetting a run: no object that holds something of it stays, whatever others were doing at the same time.

use std::collections::BTreeSet;

use crate::clean::{remove_file, unfinished};
use crate::description::Fleet;
use crate::error::Result;
use crate::levels::level_objects;
use crate::manifest::{Manifest, tile_object};
use crate::plan::Task;

/// Removes every object that may hold something of a run that is in no manifest from `first` on. Tiles and levels stay
/// if a manifest without the run needs them.
pub(crate) fn purge(fleet: &Fleet, run: &str, first: u64) -> Result<()> {
    let mut needed: BTreeSet<String> = BTreeSet::new();
    for number in Manifest::numbers(fleet)? {
        let manifest = Manifest::read(fleet, number)?;
        if number >= first || !manifest.runs.iter().any(|other| other.name == run) {
            needed.extend(manifest.tiles.iter().map(|(tile, key)| tile_object(*tile, key)));
            needed.extend(level_objects(&manifest, &fleet.config));
        }
    }
    let runs = fleet.objects.list(&format!("runs/{run}"))?;
    let mut made = fleet.objects.list("tiles")?;
    made.extend(fleet.objects.list("levels")?);
    made.retain(|(name, _)| !needed.contains(name));
    runs.into_iter().chain(made).try_for_each(|(object, _)| fleet.objects.remove(&object))?;
    // What a killed program began to write of it is no object, and is there all the same.
    let Some(folder) = fleet.objects.folder() else { return Ok(()) };
    for file in unfinished(fleet)? {
        let name = file.strip_prefix(folder).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        let object = name.rsplit_once('#').map_or(name.as_str(), |(object, _)| object);
        let made = object.starts_with("tiles/") || object.starts_with("levels/");
        let holds = object.starts_with(&format!("runs/{run}/")) || (made && !needed.contains(object));
        if holds {
            remove_file(fleet, &file)?;
        }
    }
    Ok(())
}

/// Removes the tiles of some tasks again that hold a run which was purged while they were made.
pub(crate) fn withdraw<'a>(fleet: &Fleet, made: impl IntoIterator<Item = &'a Task>) -> Result<()> {
    let latest = Manifest::latest(fleet)?;
    let purged: BTreeSet<&str> =
        latest.removed.iter().filter(|left| left.purged).map(|left| left.key.as_str()).collect();
    let holds = |task: &&Task| task.inputs.iter().any(|(_, key)| purged.contains(key.as_str()));
    let mut tiles = made.into_iter().filter(holds).map(|task| tile_object(task.tile, &task.key));
    tiles.try_for_each(|object| fleet.objects.remove(&object))
}
