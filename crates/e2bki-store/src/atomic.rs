//! Files that are whole or not there: written beside, flushed to the disk, then renamed into place.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Writes a file through `fill`. Whatever happens, the path holds either what it held before or all of the new file.
pub fn write_atomically<T>(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> Result<T>) -> Result<T> {
    // Through a link to the file itself, so that the link stays one.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let beside = name_beside(&target)?;
    let written = write(&beside, fill).and_then(|value| {
        std::fs::rename(&beside, &target).map_err(Error::io("replace", path))?;
        sync_folder_of(&target)?;
        sweep(&target);
        Ok(value)
    });
    if written.is_err() {
        // Nothing to do if this fails too: the first error is the one to report.
        std::fs::remove_file(&beside).ok();
    }
    written
}

fn write<T>(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> Result<T>) -> Result<T> {
    let file = File::create(path).map_err(Error::io("create", path))?;
    let mut writer = BufWriter::with_capacity(1 << 20, file);
    let value = fill(&mut writer)?;
    let file = writer.into_inner().map_err(|e| Error::io("write", path)(e.into_error()))?;
    file.sync_all().map_err(Error::io("write", path))?;
    Ok(value)
}

/// A name of its own for every writer: two programs that save to one path must not write into one file.
fn name_beside(target: &Path) -> Result<PathBuf> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = target
        .file_name()
        .ok_or_else(|| Error::Refused(format!("{} is not the name of a file to write", target.display())))?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let mut beside = std::ffi::OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}-{number}.part", std::process::id()));
    Ok(target.with_file_name(beside))
}

/// Removes what writers of the same file left behind when they were killed: parts that are older than an hour.
fn sweep(target: &Path) {
    const OLD: std::time::Duration = std::time::Duration::from_secs(3600);
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else { return };
    let start = format!(".{}.", name.to_string_lossy());
    let Ok(inside) = std::fs::read_dir(folder) else { return };
    for entry in inside.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let age = entry.metadata().and_then(|about| about.modified()).ok().and_then(|time| time.elapsed().ok());
        if name.starts_with(&start) && name.ends_with(".part") && age.is_some_and(|age| age > OLD) {
            // What cannot be removed costs space only.
            std::fs::remove_file(entry.path()).ok();
        }
    }
}

/// Makes a rename or removal last: it is the folder that must reach the disk.
pub(crate) fn sync_folder_of(path: &Path) -> Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if cfg!(unix) {
        let opened = File::open(folder).map_err(Error::io("open", folder))?;
        opened.sync_all().map_err(Error::io("flush", folder))?;
    }
    Ok(())
}
