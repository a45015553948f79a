//! Counters of free space in map files.

use e2bki::free::State;
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
use e2bki_store::{MapFile, check, load, recover, save};

/// A round wall 9 m away, seen by 16 beams from a few places.
fn map() -> Mapper {
    let config = Config::from_toml("[free_space]\nenabled = true\nsensor = \"vlp-16\"").unwrap();
    let classes = ClassSet::from_names(["wall", "box"]).unwrap().with_movable(&["box"]).unwrap();
    let mut map = Mapper::new(classes, config).unwrap();
    let mut points = Vec::new();
    for beam in 0..16 {
        let elevation = (15.0 - 2.0 * f64::from(beam)).to_radians();
        for column in 0..1800 {
            let azimuth = std::f64::consts::TAU * f64::from(column) / 1800.0;
            points.push([9.0 * azimuth.cos(), 9.0 * azimuth.sin(), 9.0 * elevation.tan()].map(|v| v as f32));
        }
    }
    let labels = vec![0; points.len()];
    for frame in 0..3 {
        let world_from_sensor = Pose::from_translation([0.2 * f64::from(frame), 0.0, 0.0]).unwrap();
        map.insert(&Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor }).unwrap();
    }
    map
}

#[test]
fn a_map_file_keeps_what_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let (map, path) = (map(), folder.path().join("map.e2bki"));
    assert!(map.free_space().unwrap().frames() == 3);
    save(&map, &path).unwrap();
    assert!(check(&path).unwrap().findings.is_empty());
    let again = load(&path).unwrap();
    assert_eq!(again.free_space(), map.free_space());
    assert!(again.classes().is_movable(1), "what can move is kept too");
    let places = [[5.0, 0.1, 0.1], [-9.0, 0.0, 0.1], [20.0, 0.0, 0.0]];
    let (before, after) = (map.query(&places), again.query(&places));
    assert_eq!(before, after);
    assert_eq!([0, 1, 2].map(|i| after.state(i)), [State::Free, State::Occupied, State::Unknown]);
    // The same map is the same bytes, and a program without free space still reads the primitives.
    let second = folder.path().join("second.e2bki");
    save(&again, &second).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&second).unwrap());
    let mut file = MapFile::open(&path).unwrap();
    let plain = file.load_as(Config::default(), |_| true).unwrap();
    assert!(plain.free_space().is_none() && plain.len() == map.len());
}

#[test]
fn damaged_counters_are_found_and_the_rest_is_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let (map, path) = (map(), folder.path().join("map.e2bki"));
    save(&map, &path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let at = whole.windows(4).rposition(|bytes| bytes == b"FREE").unwrap();
    let mut bytes = whole.clone();
    bytes[at + 40] ^= 0x55;
    std::fs::write(&path, &bytes).unwrap();
    assert!(load(&path).unwrap_err().to_string().contains("free space"));
    assert!(!check(&path).unwrap().findings.is_empty());
    let out = folder.path().join("out.e2bki");
    let recovered = recover(&path, &out).unwrap();
    assert!(recovered.lost.iter().any(|line| line.contains("free space")), "{:?}", recovered.lost);
    assert_eq!(load(&out).unwrap().len(), map.len());
    // Without its end the file still gives its counters.
    std::fs::write(&path, &whole[..whole.len() - 100]).unwrap();
    let out = folder.path().join("cut.e2bki");
    recover(&path, &out).unwrap();
    assert_eq!(load(&out).unwrap().free_space(), map.free_space());
}
