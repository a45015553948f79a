//! Files that appear whole or not at all.

use std::path::Path;

use crate::error::{Error, Result};

/// Writes under another name first.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let unfinished = path.with_extension("part");
    std::fs::write(&unfinished, bytes).map_err(Error::io("write", &unfinished))?;
    std::fs::rename(&unfinished, path).map_err(Error::io("write", path))
}
