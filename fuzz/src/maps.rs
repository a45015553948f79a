//! Map files and archives of maps.

use std::path::PathBuf;
use std::sync::OnceLock;

use e2bki::{Mapper, Pose};
use e2bki_store::MapFile;

use crate::{reseal, seeds};

/// A file of this process alone.
pub(crate) fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("e2bki-fuzz-{}-{name}", std::process::id()))
}

/// Whatever is read can be saved and read again unchanged.
fn read(bytes: Vec<u8>) {
    let Ok(mut file) = MapFile::of_bytes(bytes, "fuzz") else { return };
    let sources = file.header().sources.clone();
    let Ok(map) = file.load() else { return };
    same_again(&map, &sources);
}

fn same_again(map: &Mapper, sources: &[String]) {
    let path = scratch("again.e2bki");
    e2bki_store::save_with(map, sources, &path).unwrap_or_else(|e| panic!("a map that loads cannot be saved: {e}"));
    let again = e2bki_store::load(&path).unwrap_or_else(|e| panic!("what was saved does not load: {e}"));
    assert!(map.states().eq(again.states()), "a map that was saved is another one");
}

/// Any bytes as a map file.
pub(crate) fn file(data: &[u8]) {
    read(data.to_vec());
}

/// A damaged map file whose checksums were made right again, so that what is behind them is reached.
pub(crate) fn resealed(data: &[u8]) {
    if let Some(bytes) = reseal::map(data) {
        read(bytes);
    }
}

/// An archive of arrays, as it is and with its checksums made right.
pub(crate) fn npz(data: &[u8]) {
    let path = scratch("map.npz");
    for bytes in [Some(data.to_vec()), reseal::zip(data)].into_iter().flatten() {
        std::fs::write(&path, bytes).unwrap_or_else(|e| panic!("no scratch file: {e}"));
        if let Ok(map) = e2bki_store::import_npz(&path) {
            same_again(&map, &[]);
        }
    }
}

/// What a submap added, around any bytes that checksums were made right for; whatever is read can be taken out again.
pub(crate) fn submap(data: &[u8]) {
    static KEPT: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
    let (map, part) = KEPT.get_or_init(|| seeds::with_submap("submap.e2bki", seeds::add_some));
    std::fs::write(part, reseal::submap(data)).unwrap_or_else(|e| panic!("no scratch file: {e}"));
    let Ok(mut map) = e2bki_store::load_with_submaps(map) else { return };
    let ids: Vec<u32> =
        map.submaps().into_iter().flat_map(|submaps| submaps.iter()).map(|submap| submap.id()).collect();
    let shift = Pose::from_translation([0.1, 0.2, 0.3]).unwrap_or_else(|e| panic!("{e}"));
    map.correct(&ids.iter().map(|id| (*id, shift)).collect()).ok();
    map.remove_submaps(&ids).ok();
}
