//! A map that went through a file goes on exactly as one that did not.

use crate::common::{drive, fingerprint, map_of, mapper};
use e2bki::Config;
use e2bki_store::{MapFile, load, load_region, save, save_with};

#[test]
fn resuming_from_a_file_is_the_same_as_never_stopping() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.e2bki");
    let frames = drive(12, 3000);
    for preset in ["default", "paper-rellis"] {
        let config = Config::preset(preset).unwrap();
        let (mut whole, _) = map_of(&frames[..6], &config);
        save(&whole, &path).unwrap();
        let mut again = load(&path).unwrap();
        assert_eq!(fingerprint(&whole), fingerprint(&again));
        for frame in &frames[6..] {
            whole.insert(&frame.borrow()).unwrap();
            again.insert(&frame.borrow()).unwrap();
        }
        assert_eq!(fingerprint(&whole), fingerprint(&again));
        assert_eq!((whole.frames(), whole.next_id()), (again.frames(), again.next_id()));
    }
}

#[test]
fn the_same_map_is_the_same_bytes_and_an_empty_one_is_a_map() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let config = Config::default();
    let (map, _) = map_of(&drive(4, 3000), &config);
    save(&map, &one).unwrap();
    save(&load(&one).unwrap(), &two).unwrap();
    assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
    save(&mapper(&config), &one).unwrap();
    let empty = load(&one).unwrap();
    assert!(empty.is_empty() && empty.config() == &config);
    save_with(&map, &["b".into(), "a".into(), "b".into()], &one).unwrap();
    assert_eq!(MapFile::open(&one).unwrap().header().sources, ["a", "b"]);
}

#[test]
fn a_region_has_the_beliefs_of_the_whole_map_and_few_of_its_tiles() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.e2bki");
    let (map, _) = map_of(&drive(200, 300), &Config::default());
    save(&map, &path).unwrap();
    let (low, high) = ([100.0, -8.0, -1.0], [110.0, 8.0, 3.0]);
    let part = load_region(&path, low, high).unwrap();
    assert!(part.len() * 2 < map.len(), "{} of {}", part.len(), map.len());
    let places: Vec<[f64; 3]> = (0..4000)
        .map(|i| [100.0 + f64::from(i % 100) * 0.1, f64::from(i / 100) * 0.4 - 8.0, f64::from(i % 7) * 0.3])
        .collect();
    assert_eq!(map.query(&places), part.query(&places));
    assert!(map.query(&places).iter().filter(|belief| belief.observed()).count() > 500);
}
