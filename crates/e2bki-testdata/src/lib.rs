//! Where tests find real data, and how they say that they were skipped. For tests only.
//!
//! The data is in the folder that `E2BKI_DATA` names, or else in `shared/data` beside the workspace. A test without its data
//! is skipped where a person sees it: on standard error, past the test runner's capture, and as a line of the file that
//! `E2BKI_SKIPS` names. Where `E2BKI_DATA` is set, somebody expects the tests to run: a folder that is missing or empty is
//! then a failure.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file or folder of the real data; `None`, with the skip recorded, where it is not there.
///
/// # Panics
///
/// Where `E2BKI_DATA` names a folder that is missing or empty, or the folder asked for is empty.
pub fn real(path: &str) -> Option<PathBuf> {
    match find(path, std::env::var_os("E2BKI_DATA")) {
        Ok(found) => Some(found),
        Err(Absent::Skip(why)) => {
            skip(&why);
            None
        }
        #[allow(clippy::panic)] // a test that was expected to run fails
        Err(Absent::Fail(why)) => panic!("{why}"),
    }
}

/// Records that the running test is skipped, and why.
pub fn skip(why: &str) {
    let thread = std::thread::current();
    let line = format!("{}: {why}\n", thread.name().unwrap_or("a test"));
    // Written past the macros that the test runner captures. Who cannot be told does not fail the test.
    std::io::stderr().write_all(format!("skipped: {line}").as_bytes()).ok();
    if let Some(file) = std::env::var_os("E2BKI_SKIPS") {
        let opened = OpenOptions::new().append(true).create(true).open(file);
        opened.and_then(|mut file| file.write_all(line.as_bytes())).ok();
    }
}

#[derive(Debug, PartialEq)]
enum Absent {
    Skip(String),
    Fail(String),
}

fn find(path: &str, given: Option<OsString>) -> Result<PathBuf, Absent> {
    let root = match given {
        Some(root) => {
            let root = PathBuf::from(root);
            if !holds_something(&root) {
                return Err(Absent::Fail(format!("E2BKI_DATA is {}, which is missing or empty", root.display())));
            }
            root
        }
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
    };
    let found = root.join(path);
    if found.is_dir() && !holds_something(&found) {
        return Err(Absent::Fail(format!("{} is empty", found.display())));
    }
    if found.exists() { Ok(found) } else { Err(Absent::Skip(format!("no real data {path} (set E2BKI_DATA)"))) }
}

fn holds_something(folder: &Path) -> bool {
    folder.read_dir().is_ok_and(|mut entries| entries.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_was_promised_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("data");
        let find = |path: &str| find(path, Some(root.clone().into_os_string()));
        assert!(matches!(find("scans"), Err(Absent::Fail(_))), "a missing folder");
        std::fs::create_dir(&root).unwrap();
        assert!(matches!(find("scans"), Err(Absent::Fail(_))), "an empty folder");
        std::fs::create_dir(root.join("scans")).unwrap();
        assert!(matches!(find("scans"), Err(Absent::Fail(_))), "an empty dataset");
        assert!(matches!(find("bags"), Err(Absent::Skip(_))), "another dataset");
        std::fs::write(root.join("scans/000000.bin"), "x").unwrap();
        assert_eq!(find("scans"), Ok(root.join("scans")));
        assert_eq!(find("scans/000000.bin"), Ok(root.join("scans/000000.bin")));
    }
}
