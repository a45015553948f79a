//! Finished work, kept line by line in a file, so that an interrupted experiment continues where it was.
//!
//! A line is written at once and synced. A line cut short by a crash is dropped when the file is opened again.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use e2bki_eval::Record;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    record: Record,
}

/// Records by the key of everything they depend on.
pub(super) struct State {
    path: PathBuf,
    file: File,
    known: FxHashMap<String, Record>,
}

impl State {
    /// Opens or creates `records.jsonl` in a folder.
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let path = folder.join("records.jsonl");
        let failed = || format!("cannot open {}", path.display());
        // Always at the end, also when two experiments share a folder.
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).with_context(failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).with_context(failed)?;
        // What follows the last line end was cut short.
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64).with_context(failed)?;
        let mut known = FxHashMap::default();
        for line in bytes[..whole].split(|b| *b == b'\n') {
            // Lines of another version of the program, or damaged ones, are work to be done again.
            if let Ok(line) = serde_json::from_slice::<Line>(line) {
                known.insert(line.key, line.record);
            }
        }
        Ok(Self { path, file, known })
    }

    /// The record of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Record> {
        self.known.get(key)
    }

    /// Keeps a record; a later one of the same key replaces it.
    pub(super) fn put(&mut self, key: &str, record: &Record) -> Result<()> {
        let mut line = serde_json::to_vec(&Line { key: key.into(), record: record.clone() })?;
        line.push(b'\n');
        let failed = || format!("cannot write {}", self.path.display());
        self.file.write_all(&line).with_context(failed)?;
        self.file.sync_data().with_context(failed)?;
        self.known.insert(key.into(), record.clone());
        Ok(())
    }
}

/// A key of everything a result depends on: 128 bits of FNV-1a as text.
pub(super) fn key(parts: &[&str]) -> String {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    // A separator that occurs in no part keeps ("a", "bc") and ("ab", "c") apart.
    for byte in parts.iter().flat_map(|part| part.bytes().chain([0xff])) {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    format!("{hash:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki_eval::View;

    #[test]
    fn a_line_cut_short_is_dropped_and_the_rest_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let record = |name: &str| Record::new("d", name, View::Voxel);
        let mut state = State::open(folder.path()).unwrap();
        state.put("a", &record("one")).unwrap();
        state.put("b", &record("two")).unwrap();
        state.put("a", &record("three")).unwrap();
        drop(state);
        let file = folder.path().join("records.jsonl");
        let mut bytes = std::fs::read(&file).unwrap();
        bytes.truncate(bytes.len() - 7);
        bytes.splice(0..0, b"not json\n".iter().copied());
        std::fs::write(&file, &bytes).unwrap();
        let mut state = State::open(folder.path()).unwrap();
        assert_eq!(state.get("a").unwrap().method, "one");
        assert_eq!(state.get("b").unwrap().method, "two");
        state.put("c", &record("four")).unwrap();
        drop(state);
        let state = State::open(folder.path()).unwrap();
        assert_eq!(state.get("c").unwrap().method, "four");
        assert_eq!(state.get("a").unwrap().method, "one");
    }

    #[test]
    fn keys_tell_parts_apart() {
        assert_ne!(key(&["a", "bc"]), key(&["ab", "c"]));
        assert_eq!(key(&["a"]), key(&["a"]));
        assert_eq!(key(&[]).len(), 32);
    }
}
