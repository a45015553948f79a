//! Reading files and listing folders, with errors that name them.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Flaw, Result};

/// Largest file that is read: the accumulated clouds of KITTI-360 are below 1 GB.
const MAX_FILE_BYTES: u64 = 4 << 30;

/// The bytes of a file.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>> {
    let io = |action| move |source| Error::Io { action, path: path.to_path_buf(), source };
    let about = fs::metadata(path).map_err(io("read"))?;
    // A pipe or a device may have no end.
    if !about.is_file() && !about.is_dir() {
        return Err(Flaw::new("it is not a file").of(path));
    }
    let size = about.len();
    if size > MAX_FILE_BYTES {
        return Err(Flaw::new(format!("it has {size} bytes; at most {MAX_FILE_BYTES} are read")).of(path));
    }
    fs::read(path).map_err(io("read"))
}

/// The text of a file.
pub(crate) fn text(path: &Path) -> Result<String> {
    String::from_utf8(bytes(path)?).map_err(|_| Flaw::new("it is not text (UTF-8)").of(path))
}

/// Parses a file's bytes.
pub(crate) fn parse<T>(path: &Path, parser: impl FnOnce(&[u8]) -> std::result::Result<T, Flaw>) -> Result<T> {
    parser(&bytes(path)?).map_err(|flaw| flaw.of(path))
}

/// Parses a file's text.
pub(crate) fn parse_text<T>(path: &Path, parser: impl FnOnce(&str) -> std::result::Result<T, Flaw>) -> Result<T> {
    parser(&text(path)?).map_err(|flaw| flaw.of(path))
}

/// Paths in a folder, in order of their names; nothing for a folder that is not there.
pub(crate) fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Error::Io { action: "list", path: folder.to_path_buf(), source }),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| Error::Io { action: "list", path: folder.to_path_buf(), source })?;
        paths.push(entry.path());
    }
    paths.sort();
    Ok(paths)
}

/// Files of a folder with one of these extensions.
pub(crate) fn list_with(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>> {
    let wanted = |path: &PathBuf| extensions.iter().any(|e| extension(path).eq_ignore_ascii_case(e));
    Ok(list(folder)?.into_iter().filter(wanted).collect())
}

/// Names of the folders in a folder. Names need not be text: what is joined to a path again stays as it is.
pub(crate) fn folders(folder: &Path) -> Result<Vec<OsString>> {
    Ok(list(folder)?.iter().filter(|p| p.is_dir()).map(|p| name(p)).collect())
}

/// Last part of a path.
pub(crate) fn name(path: &Path) -> OsString {
    path.file_name().map(OsStr::to_os_string).unwrap_or_default()
}

/// Last part of a path without its extension.
pub(crate) fn stem(path: &Path) -> OsString {
    path.file_stem().map(OsStr::to_os_string).unwrap_or_default()
}

/// A name with an ending.
pub(crate) fn with_ending(name: &OsStr, ending: &str) -> OsString {
    let mut whole = name.to_os_string();
    whole.push(".");
    whole.push(ending);
    whole
}

/// A name to look into or to show; what is not text in it is replaced.
pub(crate) fn text_of(name: &OsStr) -> Cow<'_, str> {
    name.to_string_lossy()
}

/// Extension of a path, without the dot.
pub(crate) fn extension(path: &Path) -> &str {
    path.extension().and_then(|e| e.to_str()).unwrap_or("")
}

/// The first run of digits in a name, as a number: `frame000104-1581624663_149` is 104.
pub(crate) fn number(name: &OsStr) -> Option<u64> {
    number_in(&text_of(name))
}

/// The same of text.
pub(crate) fn number_in(name: &str) -> Option<u64> {
    let start = name.find(|c: char| c.is_ascii_digit())?;
    let rest = &name[start..];
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}
