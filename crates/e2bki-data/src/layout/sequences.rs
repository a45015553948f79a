//! Sequences of a dataset: which there are and which is meant.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::files;

/// Folders in `parent` that hold `inside`.
pub(super) fn having(parent: &Path, inside: &str) -> Result<Vec<OsString>> {
    Ok(files::folders(parent)?.into_iter().filter(|name| parent.join(name).join(inside).is_dir()).collect())
}

/// Names to show.
pub(super) fn shown(names: &[OsString]) -> Vec<String> {
    names.iter().map(|name| files::text_of(name).into_owned()).collect()
}

/// The sequence that is meant: the one asked for, or the first.
pub(super) fn choose(
    found: &[OsString],
    wanted: Option<&str>,
    dir: &Path,
    notes: &mut Vec<String>,
) -> Result<OsString> {
    let all = shown(found).join(", ");
    match (wanted, found) {
        (Some(wanted), _) => found
            .iter()
            .find(|name| matches(name, wanted))
            .cloned()
            .ok_or_else(|| Error::Missing(format!("{} has no sequence `{wanted}`; it has {all}", dir.display()))),
        (None, []) => Err(Error::Missing(format!("{} holds no sequences with scans", dir.display()))),
        (None, [only]) => Ok(only.clone()),
        (None, [first, ..]) => {
            notes.push(format!(
                "{} sequences found ({all}); taking {} (choose with --sequence)",
                found.len(),
                files::text_of(first)
            ));
            Ok(first.clone())
        }
    }
}

/// `8` and `0008` mean `2013_05_28_drive_0008_sync`, `8` means `08`.
fn matches(name: &OsStr, wanted: &str) -> bool {
    let name = files::text_of(name);
    let (Ok(number), Some(own)) = (wanted.parse::<u64>(), drive_number(&name)) else { return name == wanted };
    name == wanted || number == own
}

fn drive_number(name: &str) -> Option<u64> {
    let digits = name.split("_drive_").nth(1).and_then(|rest| rest.split('_').next()).unwrap_or(name);
    digits.parse().ok()
}

/// Where sequences are: the folder of the dataset, that of the sequences, and their names. `inside` marks a sequence.
pub(super) fn locate(dir: &Path, parents: &[&str], inside: &str) -> Result<(PathBuf, PathBuf, Vec<OsString>)> {
    // The folder may be a sequence itself; its dataset is then above.
    if dir.join(inside).is_dir() {
        let here = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
        let parent = here.parent().unwrap_or(&here).to_path_buf();
        let root = parent.parent().unwrap_or(&parent).to_path_buf();
        return Ok((root, parent, vec![files::name(&here)]));
    }
    for parent in parents {
        let folder = dir.join(parent);
        let found = having(&folder, inside)?;
        if !found.is_empty() {
            let root = if parent.is_empty() { folder.join("..") } else { dir.to_path_buf() };
            return Ok((root, folder, found));
        }
    }
    let looked: Vec<String> =
        parents.iter().map(|p| dir.join(p).join("*").join(inside).display().to_string()).collect();
    Err(Error::Missing(format!("no scans found; looked for {} and {}", dir.join(inside).display(), looked.join(", "))))
}
