//! Any bytes as a map file: refused or read, in bounded memory; whatever is read can be saved and read again unchanged.
#![no_main]

use e2bki_store::MapFile;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(mut file) = MapFile::of_bytes(bytes.to_vec(), "fuzz") else { return };
    let Ok(map) = file.load() else { return };
    let folder = std::env::temp_dir().join(format!("e2bki-fuzz-{}", std::process::id()));
    e2bki_store::save_with(&map, &file.header().sources.clone(), &folder).expect("a map that loads can be saved");
    let again = e2bki_store::load(&folder).expect("what was saved loads");
    assert!(map.states().eq(again.states()));
});
