//! Outputs are tried before the work that they are for: hours of mapping must not end with a name that cannot be written.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Tries to write each of the files that were asked for, and changes none of them. `-` is standard output.
pub fn check_files<'a>(files: impl IntoIterator<Item = &'a Option<PathBuf>>) -> Result<()> {
    files.into_iter().flatten().try_for_each(|path| check_file(path))
}

/// The same for one file.
pub fn check_file(path: &Path) -> Result<()> {
    if path.as_os_str() == "-" { Ok(()) } else { Ok(e2bki_store::try_to_write(path)?) }
}

/// Makes a folder for outputs, and tries to write into it.
pub fn make_folder(path: &Path) -> Result<()> {
    if path.exists() && !path.is_dir() {
        bail!("{} is a file; give the name of a folder", path.display());
    }
    std::fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()))?;
    Ok(e2bki_store::try_to_write(&path.join("e2bki-can-write-here"))?)
}

/// Writes a file whole or not at all.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    e2bki_store::write_atomically(path, |out| {
        std::io::Write::write_all(out, bytes.as_ref()).map_err(|source| e2bki_store::Error::Io {
            doing: "write",
            path: path.into(),
            source,
        })
    })?;
    Ok(())
}
