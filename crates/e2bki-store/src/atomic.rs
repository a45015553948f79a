//! Files that are whole or not there: written beside, flushed to the disk, then renamed into place.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::disk::{Output, SharedDisk, real};
use crate::error::{Error, Result};

/// Links to links that are followed before a circle is suspected, as Linux does.
const MOST_LINKS: usize = 40;

/// Writes a file through `fill`. Whatever happens, the path holds either what it held before or all of the new file.
///
/// A link is followed, also one to a file that is not there yet. Pipes and devices are written to directly.
pub fn write_atomically<T>(path: &Path, fill: impl FnOnce(&mut BufWriter<Output>) -> Result<T>) -> Result<T> {
    write_atomically_on(&real(), path, fill)
}

pub(crate) fn write_atomically_on<T>(
    disk: &SharedDisk,
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<Output>) -> Result<T>,
) -> Result<T> {
    let target = resolved(path)?;
    if may_be_written(path, &target)? == Kind::Special {
        let output = Output::special(disk, &target).map_err(Error::io("open", path))?;
        let mut writer = BufWriter::new(output);
        let value = fill(&mut writer)?;
        writer.flush().map_err(Error::io("write", path))?;
        return Ok(value);
    }
    let (output, beside) = create_beside(disk, path, &target)?;
    let written = write(output, path, fill).and_then(|value| {
        disk.rename(&beside, &target).map_err(Error::io("replace", path))?;
        disk.sync_folder(folder_of(&target)).map_err(Error::io("flush the folder of", path))?;
        sweep(disk, &target);
        Ok(value)
    });
    if written.is_err() {
        // Nothing to do if this fails too: the first error is the one to report.
        disk.remove(&beside).ok();
    }
    written
}

fn write<T>(output: Output, path: &Path, fill: impl FnOnce(&mut BufWriter<Output>) -> Result<T>) -> Result<T> {
    let mut writer = BufWriter::with_capacity(1 << 20, output);
    let value = fill(&mut writer)?;
    let output = writer.into_inner().map_err(|e| Error::io("write", path)(e.into_error()))?;
    output.sync().map_err(Error::io("write", path))?;
    Ok(value)
}

/// Finds out whether a file could be written, without changing it: before the work whose result it is to hold.
pub fn try_to_write(path: &Path) -> Result<()> {
    let disk = real();
    let target = resolved(path)?;
    if may_be_written(path, &target)? == Kind::Special {
        return Ok(());
    }
    // A name that is too long is found out only by the name itself.
    match std::fs::OpenOptions::new().write(true).open(&target) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::io("write", path)(error)),
        _ => {}
    }
    let (_, beside) = create_beside(&disk, path, &target)?;
    disk.remove(&beside).map_err(Error::io("write beside", path))
}

#[derive(PartialEq)]
enum Kind {
    /// A file, or nothing yet.
    Plain,
    /// A pipe or a device: there is nothing to be renamed over.
    Special,
}

/// Refuses what cannot or must not be replaced.
fn may_be_written(path: &Path, target: &Path) -> Result<Kind> {
    let folder = folder_of(target);
    if !folder.is_dir() {
        let missing = format!("the folder {} does not exist", folder.display());
        let source = std::io::Error::new(std::io::ErrorKind::NotFound, missing);
        return Err(Error::Io { doing: "write", path: path.into(), source });
    }
    let Ok(about) = std::fs::metadata(target) else { return Ok(Kind::Plain) };
    if about.is_dir() {
        return Err(Error::Refused(format!("{} is a folder; give the name of a file", path.display())));
    }
    if about.is_file() && about.permissions().readonly() {
        return Err(Error::Refused(format!("{} is write-protected; give another name", path.display())));
    }
    Ok(if about.is_file() { Kind::Plain } else { Kind::Special })
}

/// The file that a path means: links are followed, so that they stay links.
pub(crate) fn resolved(path: &Path) -> Result<PathBuf> {
    if let Ok(found) = std::fs::canonicalize(path) {
        return Ok(found);
    }
    let mut target = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match std::fs::read_link(&target) {
            Ok(next) => target = folder_of(&target).join(next),
            Err(_) if target.file_name().is_some() => return Ok(target),
            Err(_) => return Err(Error::Refused(format!("{} is not the name of a file to write", path.display()))),
        }
    }
    Err(Error::Refused(format!("{} is a link that leads to itself", path.display())))
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// What names beside a file begin with. They do not hold its name: that may be as long as a name can be.
pub(crate) fn prefix_beside(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().as_encoded_bytes();
    format!(".e2bki-{:08x}-", xxhash_rust::xxh3::xxh3_64(name) as u32)
}

/// A new file beside the target, under a name of its own for every writer, on this machine and on others that share the
/// disk.
fn create_beside(disk: &SharedDisk, path: &Path, target: &Path) -> Result<(Output, PathBuf)> {
    const TRIES: usize = 16;
    let mut last = ErrorKind::AlreadyExists.into();
    for _ in 0..TRIES {
        let number = RandomState::new().build_hasher().finish();
        let beside = target.with_file_name(format!("{}{number:016x}.part", prefix_beside(target)));
        match Output::create(disk, &beside) {
            Ok(output) => return Ok((output, beside)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(Error::io("create a file beside", path)(error)),
        }
    }
    Err(Error::io("create a file beside", path)(last))
}

/// Removes what writers of the same file left behind when they were killed: parts that are older than an hour.
fn sweep(disk: &SharedDisk, target: &Path) {
    const OLD: std::time::Duration = std::time::Duration::from_secs(3600);
    let start = prefix_beside(target);
    let Ok(inside) = std::fs::read_dir(folder_of(target)) else { return };
    for entry in inside.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !(name.starts_with(&start) && name.ends_with(".part")) {
            continue;
        }
        let age = entry.metadata().and_then(|about| about.modified()).ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > OLD) {
            // What cannot be removed costs space only.
            disk.remove(&entry.path()).ok();
        }
    }
}
