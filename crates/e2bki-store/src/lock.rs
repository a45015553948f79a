//! One writer at a time: an advisory lock on a file that says who holds it. Readers need none.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::atomic::{prefix_beside, resolved};
use crate::error::{Error, Result};

/// The lock file of a map in a folder. It stays: removing it would let two writers lock two files of one name.
pub(crate) const LOCK: &str = "writer.lock";

/// The right to write a map, until it is dropped or the process ends, in whatever way.
#[derive(Debug)]
pub struct WriteLock {
    /// Closing it gives the lock back.
    _file: File,
    /// A lock file that goes with the lock.
    passing: Option<PathBuf>,
}

impl WriteLock {
    /// Locks a map in a folder.
    pub(crate) fn of_folder(folder: &Path) -> Result<Self> {
        let path = folder.join(LOCK);
        let file = locked(&path, folder)?;
        Ok(Self { _file: file, passing: None })
    }

    /// Locks a map file, which need not be there yet: for a program that will write it, perhaps several times.
    pub fn of_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let target = resolved(path)?;
        let beside = target.with_file_name(format!("{}writer.lock", prefix_beside(&target)));
        loop {
            let file = locked(&beside, path)?;
            // Its last owner may have removed it between opening and locking; then somebody else may have made a new one.
            if same_file(&file, &beside) {
                return Ok(Self { _file: file, passing: Some(beside) });
            }
        }
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        if let Some(path) = &self.passing {
            // While the lock is still held. What cannot be removed is locked and removed by the next one.
            std::fs::remove_file(path).ok();
        }
    }
}

/// Opens and locks a lock file, and writes into it who has it.
fn locked(path: &Path, what: &Path) -> Result<File> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(Error::io("lock for writing", what))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Where a locked file cannot be read, that it is locked is all there is to say.
            file.read_to_string(&mut holder).ok();
            let known: String = holder.trim().chars().filter(|c| !c.is_control()).take(200).collect();
            let holder = if known.is_empty() { "another program".into() } else { known };
            return Err(Error::Locked { path: what.into(), holder });
        }
        // Some network disks know no locks: what is left is the comparison of manifests.
        Err(TryLockError::Error(error)) if error.kind() != std::io::ErrorKind::Unsupported => {
            return Err(Error::io("lock for writing", what)(error));
        }
        _ => {}
    }
    // For people only, so a full disk does not matter.
    file.set_len(0).and_then(|()| file.write_all(holder().as_bytes())).ok();
    Ok(file)
}

#[cfg(unix)]
fn same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |about: std::fs::Metadata| (about.dev(), about.ino());
    matches!((file.metadata().map(identity), std::fs::metadata(path).map(identity)), (Ok(a), Ok(b)) if a == b)
}

#[cfg(not(unix))]
fn same_file(_: &File, path: &Path) -> bool {
    // A file that is open cannot be removed there.
    path.exists()
}

/// This process, in words.
fn holder() -> String {
    let named = || std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME")).ok();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(named);
    let host = host.map_or_else(|| "an unnamed host".into(), |name| name.trim().to_string());
    format!("process {} on {host}, since {} UTC\n", std::process::id(), utc(SystemTime::now()))
}

/// Date and time of day. The days of a civil date are counted in eras of 400 years that begin in March.
fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (day, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, year) } else { (month - 9, year + 1) };
    let year = era * 400 + year;
    format!("{year:04}-{month:02}-{date:02} {:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds| utc(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01 00:00:00");
        assert_eq!(at(951_782_399), "2000-02-28 23:59:59");
        assert_eq!(at(951_782_400), "2000-02-29 00:00:00");
        assert_eq!(at(4_107_542_399), "2100-02-28 23:59:59");
        assert_eq!(at(4_107_542_400), "2100-03-01 00:00:00");
    }

    #[test]
    fn a_file_has_one_writer_and_its_lock_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.e2bki");
        let first = WriteLock::of_file(&path).unwrap();
        let refused = WriteLock::of_file(&path).unwrap_err().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())) && refused.contains("UTC"), "{refused}");
        assert!(WriteLock::of_file(folder.path().join("other.e2bki")).is_ok());
        drop(first);
        drop(WriteLock::of_file(&path).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
