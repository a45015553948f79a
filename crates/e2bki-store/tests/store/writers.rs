//! One writer at a time, outputs that cannot be written, and counts near their end.

use std::path::Path;

use crate::common::{drive, fingerprint, map_of};
use e2bki::Config;
use e2bki_store::{Error, Folder, Header, MapFile, check, load, recover, save, try_to_write, write_atomically};

fn write(path: &Path, text: &str) -> Result<(), Error> {
    write_atomically(path, |out| {
        std::io::Write::write_all(out, text.as_bytes()).unwrap();
        Ok(())
    })
}

#[test]
fn two_writers_of_one_folder_cannot_take_each_others_tiles() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    let (map, _) = map_of(&drive(40, 100), &Config::default());
    let (other, _) = map_of(&drive(20, 100), &Config::default());
    let mut first = Folder::create(&path, Header::of(&map, &[])).unwrap();
    first.save(&map).unwrap();
    let mut second = Folder::open(&path).unwrap();
    let refused = second.save(&other).unwrap_err();
    assert!(matches!(refused, Error::Locked { .. }), "{refused}");
    assert!(refused.to_string().contains(&format!("process {}", std::process::id())), "{refused}");
    // Readers need no lock.
    assert_eq!(fingerprint(&load(&path).unwrap()), fingerprint(&map));
    first.save(&map).unwrap();
    drop(first);
    // The second one read a manifest that is still there; a third one did not.
    let mut third = Folder::open(&path).unwrap();
    second.save(&other).unwrap();
    drop(second);
    assert!(matches!(third.save(&map).unwrap_err(), Error::Changed { .. }));
    assert_eq!(fingerprint(&load(&path).unwrap()), fingerprint(&other));
    assert!(check(&path).unwrap().findings.is_empty());
}

#[test]
fn a_tile_of_another_moment_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    let (mut map, _) = map_of(&drive(10, 200), &Config::default());
    let mut store = Folder::create(&path, Header::of(&map, &[])).unwrap();
    store.save(&map).unwrap();
    let tile = |path: &Path| {
        let mut names: Vec<_> = std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path()).collect();
        names.retain(|name| name.to_string_lossy().ends_with(".parquet"));
        names.sort();
        names.remove(0)
    };
    let old = std::fs::read(tile(&path)).unwrap();
    map.insert(&drive(1, 500)[0].borrow()).unwrap();
    store.save(&map).unwrap();
    std::fs::write(tile(&path), old).unwrap();
    assert!(!check(&path).unwrap().findings.is_empty());
}

#[test]
fn names_are_as_long_as_they_may_be_and_links_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join("m".repeat(255));
    try_to_write(&long).unwrap();
    write(&long, "long").unwrap();
    assert_eq!(std::fs::read_to_string(&long).unwrap(), "long");
    assert!(try_to_write(&folder.path().join("m".repeat(256))).is_err());
    for bad in [folder.path().to_path_buf(), folder.path().join("none").join("map")] {
        assert!(try_to_write(&bad).is_err() && write(&bad, "x").is_err());
    }
    let protected = folder.path().join("protected");
    write(&protected, "mine").unwrap();
    let mut rights = std::fs::metadata(&protected).unwrap().permissions();
    rights.set_readonly(true);
    std::fs::set_permissions(&protected, rights).unwrap();
    assert!(try_to_write(&protected).unwrap_err().to_string().contains("write-protected"));
    assert!(write(&protected, "x").is_err());
    assert_eq!(std::fs::read_to_string(&protected).unwrap(), "mine");
    #[cfg(unix)]
    {
        let (link, there) = (folder.path().join("link"), folder.path().join("there"));
        std::os::unix::fs::symlink("there", &link).unwrap();
        try_to_write(&link).unwrap();
        assert!(!there.exists());
        write(&link, "through").unwrap();
        assert_eq!(std::fs::read_to_string(&there).unwrap(), "through");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        std::os::unix::fs::symlink("circle", folder.path().join("circle")).unwrap();
        assert!(try_to_write(&folder.path().join("circle")).is_err());
        write(Path::new("/dev/null"), "gone").unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }
    let parts = std::fs::read_dir(folder.path()).unwrap().flatten();
    assert_eq!(parts.filter(|e| e.file_name().to_string_lossy().ends_with(".part")).count(), 0);
}

#[test]
fn counts_near_their_end_are_a_finding_and_no_map() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    // Not a sum: files of those count no ids.
    let (map, _) = map_of(&drive(3, 200), &Config::default().with(|c| c.refinement.prune = true));
    for field in ["frames", "next_id"] {
        let mut header = e2bki_store::Header::of(&map, &["drive".into()]);
        let count = if field == "frames" { &mut header.frames } else { &mut header.next_id };
        *count = 18_446_744_073_709_551_000;
        // A file whose checksums are all right.
        e2bki_store::save_under(&header, &map, &path).unwrap();
        assert_eq!(MapFile::open(&path).unwrap().header(), &header);
        assert!(load(&path).is_err(), "{field}");
        assert!(!check(&path).unwrap().findings.is_empty(), "{field}");
        assert!(recover(&path, folder.path().join("out")).is_err(), "{field}");
    }
    save(&map, &path).unwrap();
    assert!(check(&path).unwrap().findings.is_empty());
}
