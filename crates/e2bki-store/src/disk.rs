//! The one way to the disk. Every change of a map's files goes through here, so that tests can let each of them fail.

use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io::{Result, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the store does to files. The methods as they are here do it; tests put failures in front of them.
pub(crate) trait Disk: Debug + Send + Sync {
    /// Makes a file that must not be there yet.
    fn create(&self, path: &Path) -> Result<File> {
        OpenOptions::new().write(true).create_new(true).open(path)
    }

    /// Writes some of the bytes; returns how many.
    fn write(&self, file: &mut File, _path: &Path, bytes: &[u8]) -> Result<usize> {
        file.write(bytes)
    }

    /// Makes what was written to a file last.
    fn sync(&self, file: &File, _path: &Path) -> Result<()> {
        file.sync_all()
    }

    /// Makes what was created, renamed and removed in a folder last.
    fn sync_folder(&self, folder: &Path) -> Result<()> {
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    }

    /// Puts a file in the place of another.
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        std::fs::rename(from, to)
    }

    /// Removes a file.
    fn remove(&self, path: &Path) -> Result<()> {
        std::fs::remove_file(path)
    }

    /// Makes a folder and those that it lies in.
    fn create_folder(&self, path: &Path) -> Result<()> {
        std::fs::create_dir_all(path)
    }
}

/// The disk of the machine.
#[derive(Debug)]
pub(crate) struct RealDisk;

impl Disk for RealDisk {}

/// A disk that several owners share.
pub(crate) type SharedDisk = Arc<dyn Disk>;

/// The disk of the machine, shared.
pub(crate) fn real() -> SharedDisk {
    Arc::new(RealDisk)
}

/// A file that is being written.
#[derive(Debug)]
pub struct Output {
    file: File,
    path: PathBuf,
    disk: SharedDisk,
}

impl Output {
    /// A new file.
    pub(crate) fn create(disk: &SharedDisk, path: &Path) -> Result<Self> {
        Ok(Self { file: disk.create(path)?, path: path.into(), disk: disk.clone() })
    }

    /// Something that is there and is no plain file: a pipe or a device.
    pub(crate) fn special(disk: &SharedDisk, path: &Path) -> Result<Self> {
        let file = OpenOptions::new().write(true).open(path)?;
        Ok(Self { file, path: path.into(), disk: disk.clone() })
    }

    /// Makes what was written last.
    pub(crate) fn sync(&self) -> Result<()> {
        self.disk.sync(&self.file, &self.path)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.disk.write(&mut self.file, &self.path, bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.flush()
    }
}
