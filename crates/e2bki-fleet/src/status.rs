//! What is done and what is left to do.

use crate::add::stored;
use crate::description::Fleet;
use crate::error::Result;
use crate::manifest::Manifest;
use crate::plan::plan;

/// State of a fleet's store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The manifest that holds.
    pub manifest: Manifest,
    /// Names of runs in the store that the next commit takes in.
    pub waiting: Vec<String>,
    /// Tiles that the next commit needs and that are not there.
    pub tiles_to_do: usize,
    /// All objects in the store, and their bytes.
    pub objects: usize,
    /// Bytes of all objects.
    pub bytes: u64,
}

/// Looks at a store; changes nothing.
pub fn status(fleet: &Fleet) -> Result<Status> {
    let next = plan(fleet, &[], &[])?;
    let in_map = |key: &String| next.parent.runs.iter().any(|run| run.key == *key);
    let out = |key: &String| next.removed.iter().any(|left| left.key == *key);
    let waiting =
        stored(fleet)?.into_iter().filter(|(_, key)| !in_map(key) && !out(key)).map(|(name, _)| name).collect();
    let tiles_to_do = next.to_do().count();
    let all = fleet.objects.list("")?;
    let bytes = all.iter().map(|(_, bytes)| bytes).sum();
    Ok(Status { manifest: next.parent, waiting, tiles_to_do, objects: all.len(), bytes })
}
