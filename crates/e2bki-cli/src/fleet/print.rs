//! What is said of a fleet.

use std::path::Path;

use anyhow::Result;
use e2bki_fleet::{Added, Committed, Fleet};
use serde_json::json;

use crate::{maps, table};

/// So many of them, in words.
pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

pub(super) fn added(run: &str, added: &Added) -> Result<()> {
    let how = if added.was_there { "was there already" } else { "added; it counts from the next commit on" };
    table::line(&format!("{run} ({}): {how}", added.key))
}

pub(super) fn committed(done: &Committed) -> Result<()> {
    let Committed { manifest, reduced, changed, is_new } = done;
    let what = if *is_new { "committed" } else { "is up to date" };
    let how = if *changed > 0 { format!(" ({changed} from the tile before)") } else { String::new() };
    table::line(&format!(
        "manifest {} {what}: {}, {}, {reduced} of them reduced now{how}",
        manifest.number,
        counted(manifest.runs.len(), "run"),
        counted(manifest.tiles.len(), "tile")
    ))
}

pub(super) fn plan(fleet: &Fleet, json: Option<&Path>) -> Result<()> {
    let plan = e2bki_fleet::plan(fleet, &[], &[])?;
    let mut rows = vec![["tile", "runs", "key", "state"].map(String::from).to_vec()];
    for task in &plan.tasks {
        let state = if task.is_done { "done" } else { "to do" };
        let [x, y] = task.tile;
        rows.push(vec![format!("{x} {y}"), task.inputs.len().to_string(), task.key.clone(), state.into()]);
    }
    table::print(&rows)?;
    let Some(path) = json else { return Ok(()) };
    let tasks: Vec<_> = plan
        .tasks
        .iter()
        .map(|task| json!({ "tile": task.tile, "key": task.key, "inputs": task.inputs, "done": task.is_done }))
        .collect();
    table::write_json(path, &json!({ "parent": plan.parent.number, "tiles": tasks }))
}

pub(super) fn status(fleet: &Fleet, json: Option<&Path>) -> Result<()> {
    let status = e2bki_fleet::status(fleet)?;
    let manifest = &status.manifest;
    let mut rows = vec![["run", "frames", "state"].map(String::from).to_vec()];
    for run in &manifest.runs {
        rows.push(vec![run.name.clone(), run.frames.to_string(), "in the map".into()]);
    }
    for name in &status.waiting {
        rows.push(vec![name.clone(), String::new(), "waits for a commit".into()]);
    }
    for left in &manifest.removed {
        let purged = if left.purged { ", purged" } else { "" };
        rows.push(vec![left.name.clone(), String::new(), format!("taken out{purged}: {}", left.reason)]);
    }
    table::print(&rows)?;
    table::line(&format!(
        "manifest {}: {} tiles; {} to reduce for the next; {} objects, {}",
        manifest.number,
        manifest.tiles.len(),
        status.tiles_to_do,
        status.objects,
        maps::megabytes(status.bytes)
    ))?;
    let Some(path) = json else { return Ok(()) };
    let value = json!({
        "manifest": manifest, "waiting": status.waiting, "tiles_to_do": status.tiles_to_do,
        "objects": status.objects, "bytes": status.bytes,
    });
    table::write_json(path, &value)
}
