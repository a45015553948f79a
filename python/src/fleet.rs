//! Maps of a fleet in a store: functions from names to names, which any scheduler may run anywhere.

use std::path::PathBuf;

use e2bki_fleet::{Fleet, Removal, Task, Tile};
use e2bki_store::MapFile;
use pyo3::prelude::*;

use crate::errors::{Failure, Result};
use crate::threads;

/// What is known of a manifest, as JSON: the package around this makes a dictionary of it.
fn text(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Failure::value(format!("cannot be written as JSON: {e}")))
}

/// fleet_init(store, like)
#[pyfunction]
pub(crate) fn fleet_init(py: Python<'_>, store: &str, like: PathBuf) -> Result<()> {
    threads::work(py, || -> Result<()> {
        let header = MapFile::open(&like)?.header().clone();
        e2bki_fleet::init(store, &header.classes, &header.config)?;
        Ok(())
    })?
}

/// fleet_add(store, run, path, key=None) -> str
#[pyfunction]
#[pyo3(signature = (store, run, path, key = None))]
pub(crate) fn fleet_add(py: Python<'_>, store: &str, run: &str, path: PathBuf, key: Option<&str>) -> Result<String> {
    Ok(threads::work(py, || e2bki_fleet::add(&Fleet::open(store)?, run, &path, key).map(|added| added.key))??)
}

/// fleet_plan(store) -> list of (tile, done)
#[pyfunction]
pub(crate) fn fleet_plan(py: Python<'_>, store: &str) -> Result<Vec<(Tile, bool)>> {
    let plan = threads::work(py, || e2bki_fleet::plan(&Fleet::open(store)?, &[], &[]))??;
    Ok(plan.tasks.iter().map(|task| (task.tile, task.is_done)).collect())
}

/// fleet_reduce(store, tiles) -> int
#[pyfunction]
pub(crate) fn fleet_reduce(py: Python<'_>, store: &str, tiles: Vec<Tile>) -> Result<usize> {
    Ok(threads::work(py, || -> e2bki_fleet::Result<usize> {
        let fleet = Fleet::open(store)?;
        let plan = e2bki_fleet::plan(&fleet, &[], &[])?;
        let tasks: Vec<Task> = plan.to_do().filter(|task| tiles.contains(&task.tile)).cloned().collect();
        // One after the other: how many at the same time is the scheduler's affair.
        Ok(e2bki_fleet::reduce_share(&fleet, &tasks, || ())?.len())
    })??)
}

/// fleet_commit(store, again) -> str
#[pyfunction]
pub(crate) fn fleet_commit(py: Python<'_>, store: &str, again: Vec<String>) -> Result<String> {
    text(&threads::work(py, || e2bki_fleet::commit(&Fleet::open(store)?, &again))??.manifest)
}

/// fleet_remove(store, run, reason, purge) -> str
#[pyfunction]
pub(crate) fn fleet_remove(py: Python<'_>, store: &str, run: &str, reason: &str, purge: bool) -> Result<String> {
    let removal = Removal { run, reason, purge };
    text(&threads::work(py, || e2bki_fleet::remove(&Fleet::open(store)?, &removal))??.manifest)
}

/// fleet_verify(store, remake) -> list of str
#[pyfunction]
pub(crate) fn fleet_verify(py: Python<'_>, store: &str, remake: bool) -> Result<Vec<String>> {
    Ok(threads::work(py, || e2bki_fleet::verify(&Fleet::open(store)?, remake))??.findings)
}

/// fleet_clean(store) -> (unfinished, unused)
#[pyfunction]
pub(crate) fn fleet_clean(py: Python<'_>, store: &str) -> Result<(usize, usize)> {
    let cleaned = threads::work(py, || e2bki_fleet::clean(&Fleet::open(store)?))??;
    Ok((cleaned.unfinished, cleaned.unused))
}

/// fleet_levels(store) -> (levels, made)
#[pyfunction]
pub(crate) fn fleet_levels(py: Python<'_>, store: &str) -> Result<(u8, usize)> {
    let levels = threads::work(py, || e2bki_fleet::make_levels(&Fleet::open(store)?, |_| ()))??;
    Ok((levels.top, levels.made))
}

/// fleet_export(store, out, manifest=None)
#[pyfunction]
#[pyo3(signature = (store, out, manifest = None))]
pub(crate) fn fleet_export(py: Python<'_>, store: &str, out: PathBuf, manifest: Option<u64>) -> Result<()> {
    threads::work(py, || e2bki_fleet::export(&Fleet::open(store)?, manifest, &out).map(|_| ()))??;
    Ok(())
}

/// fleet_status(store) -> str
#[pyfunction]
pub(crate) fn fleet_status(py: Python<'_>, store: &str) -> Result<String> {
    let status = threads::work(py, || e2bki_fleet::status(&Fleet::open(store)?))??;
    text(&serde_json::json!({
        "manifest": status.manifest, "waiting": status.waiting, "tiles_to_do": status.tiles_to_do,
        "objects": status.objects, "bytes": status.bytes,
    }))
}
