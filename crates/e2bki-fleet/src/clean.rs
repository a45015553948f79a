//! What killed programs left behind, and what nobody needs any more.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::description::{Fleet, PROBES};
use crate::error::Result;
use crate::levels::level_objects;
use crate::manifest::{Manifest, tile_object};
use crate::objects::failed;
use crate::plan::plan;

/// A file that somebody began to write less than this ago may still become an object.
const AT_WORK: Duration = Duration::from_secs(3600);

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Files of folders that were begun and never became objects.
    pub unfinished: usize,
    /// Tiles that neither a manifest nor the next commit has, and objects of tries of the store.
    pub unused: usize,
}

/// Removes what killed programs left: unfinished files, if they are older than an hour, tiles that neither a manifest nor the
/// next commit needs, and tries of the store.
pub fn clean(fleet: &Fleet) -> Result<Cleaned> {
    let mut cleaned = Cleaned::default();
    for file in unfinished(fleet)? {
        let age = std::fs::metadata(&file)
            .and_then(|about| about.modified())
            .map(|time| SystemTime::now().duration_since(time));
        if matches!(age, Ok(Ok(age)) if age > AT_WORK) {
            remove_file(fleet, &file)?;
            cleaned.unfinished += 1;
        }
    }
    let mut needed: BTreeSet<String> =
        plan(fleet, &[], &[])?.tasks.iter().map(|task| tile_object(task.tile, &task.key)).collect();
    for number in Manifest::numbers(fleet)? {
        let manifest = Manifest::read(fleet, number)?;
        needed.extend(manifest.tiles.iter().map(|(tile, key)| tile_object(*tile, key)));
        needed.extend(level_objects(&manifest, &fleet.config));
    }
    let mut unused = fleet.objects.list("tiles")?;
    unused.extend(fleet.objects.list("levels")?);
    unused.retain(|(object, _)| !needed.contains(object));
    for (object, _) in unused.into_iter().chain(fleet.objects.list(PROBES)?) {
        fleet.objects.remove(&object)?;
        cleaned.unused += 1;
    }
    Ok(cleaned)
}

/// Files in which somebody began to write an object, in a store that is a folder: `NAME#1`. Buckets have none.
pub(crate) fn unfinished(fleet: &Fleet) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if let Some(folder) = fleet.objects.folder() {
        let gone = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
        let mut folders = vec![folder.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let entries = match std::fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if gone(&error) => continue,
                Err(error) => return Err(failed(fleet.objects.name(), "list", &folder.to_string_lossy(), error)),
            };
            for entry in entries.flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if is_unfinished(&path) {
                    found.push(path);
                }
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let number = name.and_then(|name| name.rsplit_once('#')).map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

pub(crate) fn remove_file(fleet: &Fleet, file: &Path) -> Result<()> {
    match std::fs::remove_file(file) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(fleet.objects.name(), "remove", &file.to_string_lossy(), error)),
    }
}
