//! A byte budget changes where primitives are, never what they are.

use crate::common::{belief_bits, classes, drive, fingerprint, frame, map_of};
use e2bki::Config;
use e2bki_store::{Folder, Header, RollingMapper, load};

#[test]
fn a_small_budget_gives_the_same_map_also_when_the_robot_returns() {
    let folder = tempfile::tempdir().unwrap();
    for preset in ["default", "paper-rellis"] {
        let config = Config::preset(preset).unwrap();
        // Along the street, and back again.
        let mut frames: Vec<_> = (0..60).map(|i| frame(i, i as f64 * 5.0, 800)).collect();
        frames.extend((0..60).map(|i| frame(100 + i, 300.0 - i as f64 * 5.0, 800)));
        let (whole, _) = map_of(&frames, &config);
        // What a frame touches must fit into it, with what is derived for whoever looks.
        whole.changes_since(0);
        let budget = whole.byte_size().total() * 2 / 5;
        let path = folder.path().join(preset);
        let mut rolling = RollingMapper::create(classes(), config.clone(), &path, budget).unwrap();
        for (number, frame) in frames.iter().enumerate() {
            rolling.insert(&frame.borrow()).unwrap();
            if number == 70 {
                // Stopped and started again in the middle.
                rolling.save().unwrap();
                drop(rolling);
                rolling = RollingMapper::open(&path, budget).unwrap();
            }
        }
        assert!(rolling.peak_bytes() <= budget, "{} of {budget}", rolling.peak_bytes());
        assert!(rolling.resident().len() * 2 < whole.len());
        assert_eq!(rolling.len(), whole.len() as u64);
        let places: Vec<[f64; 3]> = (0..600).map(|i| [f64::from(i) * 0.5, f64::from(i % 11) - 5.0, 0.1]).collect();
        let asked = rolling.query(&places).unwrap();
        assert!(asked.iter().zip(whole.query(&places).iter()).all(|(a, b)| belief_bits(a) == belief_bits(&b)));
        assert!(asked.iter().filter(|belief| belief.observed()).count() > 100);
        rolling.save().unwrap();
        assert_eq!(fingerprint(&load(&path).unwrap()), fingerprint(&whole));
        // As one file it is, byte for byte, what is saved of the map that needs no budget; and it can be gone on with.
        let (packed, plain) = (folder.path().join("packed"), folder.path().join("plain"));
        let header = rolling.save_as(&[], &packed).unwrap();
        assert_eq!(e2bki_store::save(&whole, &plain).unwrap(), header);
        assert!(std::fs::read(&packed).unwrap() == std::fs::read(&plain).unwrap());
        let unpacked = folder.path().join(format!("unpacked-{preset}"));
        assert_eq!(fingerprint(&Folder::unpack(&packed, &unpacked, 0).unwrap().load().unwrap()), fingerprint(&whole));
        assert_eq!(fingerprint(&rolling.into_map().unwrap()), fingerprint(&whole));
    }
}

#[test]
fn little_goes_out_at_a_time_and_the_farthest_first() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config::default();
    let frames: Vec<_> = (0..120).map(|i| frame(i, i as f64 * 8.0, 400)).collect();
    let (whole, _) = map_of(&frames, &config);
    whole.changes_since(0);
    let budget = whole.byte_size().total() * 4 / 5;
    let mut rolling = RollingMapper::create(classes(), config, folder.path().join("map"), budget).unwrap();
    let (mut most, mut least, mut spills) = (0, usize::MAX, 0);
    for frame in &frames {
        rolling.insert(&frame.borrow()).unwrap();
        let here = rolling.resident().len();
        if here < most {
            (least, spills) = (least.min(here), spills + 1);
        }
        most = most.max(here);
    }
    // What goes out is copied on its way, which is beside the budget: a tenth of it, and the rest of a ring of tiles.
    assert!(spills > 0 && least * 4 > most * 3, "{spills}: {least} of {most}");
    let near = frames.len() - 10;
    assert!(frames[near..].iter().all(|frame| {
        let [x, y, _] = frame.borrow().world_from_sensor.translation();
        rolling.holds([x, y].map(|v| (v / f64::from(e2bki::TILE_M)).floor() as i32))
    }));
}

#[test]
fn a_budget_that_cannot_hold_one_frame_is_refused_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let frames = drive(6, 20_000);
    let mut rolling = RollingMapper::create(classes(), Config::default(), folder.path().join("map"), 100_000).unwrap();
    let refused = frames.iter().find_map(|frame| rolling.insert(&frame.borrow()).err());
    assert!(refused.unwrap().to_string().contains("budget"));
    assert!(RollingMapper::create(classes(), Config::default(), folder.path().join("map"), 1).is_err());
}

#[test]
fn an_autosave_writes_only_the_tiles_that_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    let (mut map, _) = map_of(&drive(150, 200), &Config::default());
    let mut store = Folder::create(&path, Header::of(&map, &["street".into()])).unwrap();
    let first = store.save(&map).unwrap();
    assert!(first.written > 4 && first.unchanged == 0);
    let again = store.save(&map).unwrap();
    assert_eq!((again.written, again.unchanged), (0, first.written));
    map.insert(&frame(9, 149.0, 500).borrow()).unwrap();
    let more = store.save(&map).unwrap();
    assert!(more.written > 0 && more.written < first.written / 2, "{more:?}");
    assert_eq!(fingerprint(&load(&path).unwrap()), fingerprint(&map));
    // Nothing is left over: one file for each tile, the manifest and the lock.
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), Folder::open(&path).unwrap().boxes().len() + 2);
    let packed = folder.path().join("packed");
    Folder::open(&path).unwrap().pack(&packed).unwrap();
    assert_eq!(fingerprint(&load(&packed).unwrap()), fingerprint(&map));
}

#[test]
fn saving_after_one_frame_encodes_only_what_it_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    let (mut map, _) = map_of(&drive(300, 100), &Config::default());
    let mut store = Folder::create(&path, Header::of(&map, &["street".into()])).unwrap();
    let first = store.save(&map).unwrap();
    assert_eq!((first.encoded, first.unchanged), (first.written, 0));
    assert!(first.encoded > 10);
    // Nothing changed: nothing is encoded.
    let again = store.save(&map).unwrap();
    assert_eq!((again.encoded, again.written, again.unchanged), (0, 0, first.written));
    // One frame touches the few tiles under it; a clone of the map is known as well.
    map.insert(&frame(9, 16.0, 300).borrow()).unwrap();
    let more = store.save(&map.clone()).unwrap();
    assert!(more.encoded <= 4 && more.written == more.encoded, "{more:?}");
    assert_eq!(fingerprint(&load(&path).unwrap()), fingerprint(&map));
    map.insert(&frame(10, 280.0, 300).borrow()).unwrap();
    assert!(store.save(&map).unwrap().encoded <= 4);
    // Tiles that lose all of their primitives go.
    map.remove_outside([-100.0, -100.0, -100.0], [200.0, 100.0, 100.0]);
    store.save(&map).unwrap();
    assert_eq!(fingerprint(&load(&path).unwrap()), fingerprint(&map));
    // A map that the folder does not know is compared as a whole: a clone that went its own way, a loaded one.
    let mut other = map.clone();
    map.insert(&frame(11, 100.0, 300).borrow()).unwrap();
    store.save(&map).unwrap();
    other.insert(&frame(12, 40.0, 300).borrow()).unwrap();
    let compared = store.save(&other).unwrap();
    assert_eq!(compared.encoded, compared.written + compared.unchanged);
    assert_eq!(fingerprint(&load(&path).unwrap()), fingerprint(&other));
    let loaded = load(&path).unwrap();
    let compared = store.save(&loaded).unwrap();
    assert_eq!((compared.written, compared.encoded), (0, compared.unchanged));
    drop(store);
    let mut reopened = Folder::open(&path).unwrap();
    assert_eq!(reopened.save(&other).unwrap().written, 0);
}

#[test]
fn a_rolling_map_writes_only_tiles_that_frames_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    let mut rolling = RollingMapper::create(classes(), Config::default(), &path, 1 << 30).unwrap();
    for frame in drive(120, 100) {
        rolling.insert(&frame.borrow()).unwrap();
    }
    let first = rolling.save().unwrap();
    assert!(first.encoded > 4 && first.encoded == first.written);
    assert_eq!(rolling.save().unwrap().encoded, 0);
    rolling.insert(&frame(9, 16.0, 300).borrow()).unwrap();
    let more = rolling.save().unwrap();
    assert!(more.encoded <= 4 && more.written == more.encoded, "{more:?}");
    assert_eq!(fingerprint(&load(&path).unwrap()), fingerprint(rolling.resident()));
}
