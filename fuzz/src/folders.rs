//! Map folders: operations in any order by two writers, against what the folder must then hold.

use std::path::{Path, PathBuf};

use e2bki::{Mapper, PrimitiveState};
use e2bki_store::{Error, Folder, Header, check, is_folder, load, recover};

use crate::maps::scratch;
use crate::seeds::{add, empty};

/// Steps of one run: each flushes files.
const MOST_STEPS: usize = 48;

/// A program that has the folder open.
struct Writer {
    map: Mapper,
    folder: Folder,
}

fn states(map: &Mapper) -> Vec<PrimitiveState> {
    map.states().collect()
}

/// Opens the folder as a program that goes on with its map does.
fn open(path: &Path) -> Option<Writer> {
    let folder = Folder::open(path).ok()?;
    let map = folder.load().ok()?;
    Some(Writer { map, folder })
}

/// A folder whose files go when it does, also when a step fails.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// Each byte is a step of one of two writers. What was last reported saved is what is there, always.
pub(crate) fn operations(data: &[u8]) {
    let here = Scratch(scratch("folder"));
    std::fs::remove_dir_all(&here.0).ok();
    let map = empty();
    let first = Folder::create(&here.0, Header::of(&map, &[])).unwrap_or_else(|e| panic!("no scratch folder: {e}"));
    let mut saved = states(&map);
    let mut writers = [Some(Writer { map, folder: first }), None];
    for step in data.iter().take(MOST_STEPS) {
        let (who, place) = (usize::from(step & 1), step >> 4);
        let writer = &mut writers[who];
        match (step >> 1 & 7, writer) {
            (0..=2, Some(writer)) => add(&mut writer.map, place),
            (3..=4, Some(writer)) => match writer.folder.save(&writer.map) {
                Ok(_) => saved = states(&writer.map),
                // Another writer is busy, or has been: this one must not write over it.
                Err(Error::Locked { .. } | Error::Changed { .. }) => {}
                Err(error) => panic!("a save failed for no reason: {error}"),
            },
            (5, writer) => *writer = None,
            (6, _) => {
                let out = scratch("recovered.e2bki");
                let found = recover(&here.0, &out).unwrap_or_else(|e| panic!("a whole map is not recovered: {e}"));
                assert_eq!((found.rows_lost, found.lost.len()), (Some(0), 0));
                std::fs::remove_file(out).ok();
            }
            (_, writer @ None) => *writer = open(&here.0),
            _ => {}
        }
        assert!(is_folder(&here.0));
        let there = load(&here.0).unwrap_or_else(|e| panic!("the map cannot be read: {e}"));
        assert!(states(&there) == saved, "the folder does not hold what was reported saved");
    }
    drop(writers);
    let found = check(&here.0).unwrap_or_else(|e| panic!("the map cannot be checked: {e}"));
    assert!(found.findings.is_empty(), "{:?}", found.findings);
}
