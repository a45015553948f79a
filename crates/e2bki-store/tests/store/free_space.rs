//! Counters of free space in map files.

use e2bki::free::{Counters, State};
use e2bki::submaps::SubmapRule;
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
use e2bki_store::{
    CostTable, ExportOptions, Folder, Format, Header, Input, MapFile, MergeOptions, RollingMapper, check, export,
    import_npz, load, load_with_submaps, merge, recover, save,
};

fn new_map(more: &str) -> Mapper {
    let text = format!("[free_space]\nenabled = true\nsensor = \"vlp-16\"\n[refinement]\nprune = false\n{more}");
    Mapper::new(classes(), Config::from_toml(&text).unwrap()).unwrap()
}

fn classes() -> ClassSet {
    ClassSet::from_names(["wall", "box"]).unwrap().with_movable(&["box"]).unwrap()
}

/// A round wall 9 m away and a box of a metre between, seen by 16 beams.
fn scan(azimuth_of_box: f64) -> (Vec<[f32; 3]>, Vec<u32>) {
    let (mut points, mut labels) = (Vec::new(), Vec::new());
    for beam in 0..16 {
        let elevation = (15.0 - 2.0 * f64::from(beam)).to_radians();
        for column in 0..1800 {
            let azimuth = std::f64::consts::TAU * f64::from(column) / 1800.0;
            let on_box = (azimuth - azimuth_of_box).abs() < 0.1 && elevation.abs() < 0.1;
            let range = if on_box { 5.0 } else { 9.0 };
            points.push([range * azimuth.cos(), range * azimuth.sin(), range * elevation.tan()].map(|v| v as f32));
            labels.push(u32::from(on_box));
        }
    }
    (points, labels)
}

/// Adds frames that are so far from each other; the box walks around.
fn insert(map: &mut impl FnMut(&Frame<'_>), frames: impl Iterator<Item = u32>, step: f64) {
    for frame in frames {
        let (points, labels) = scan(1.0 + 0.4 * f64::from(frame % 9));
        let world_from_sensor = Pose::from_translation([step * f64::from(frame), 0.0, 0.0]).unwrap();
        map(&Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None });
    }
}

fn map_of(frames: std::ops::Range<u32>, step: f64) -> Mapper {
    let mut map = new_map("");
    insert(&mut |frame| drop(map.insert(frame).unwrap()), frames, step);
    map
}

fn map() -> Mapper {
    map_of(0..3, 0.2)
}

/// Everything that shows: counters, what is gone, voxels.
fn shown(map: &Mapper) -> (Counters, Vec<bool>, usize) {
    let gone = map.primitives().map(|primitive| primitive.is_gone()).collect();
    (map.free_space().unwrap().clone(), gone, map.live_voxels().count())
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

#[test]
fn a_folder_keeps_what_is_free_by_tile_and_writes_what_changed() {
    let here = tempfile::tempdir().unwrap();
    let path = here.path().join("map");
    let mut map = map_of(0..8, 6.0);
    assert!(map.primitives().any(|p| p.is_gone()), "the box was seen through");
    let mut folder = Folder::create(&path, Header::of(&map, &[])).unwrap();
    folder.save(&map).unwrap();
    let files = || {
        let all = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        all.filter(|name| name.starts_with("free_")).collect::<std::collections::BTreeSet<_>>()
    };
    let before = files();
    assert!(before.len() > 3 && check(&path).unwrap().findings.is_empty());
    assert_eq!(shown(&load(&path).unwrap()), shown(&map));
    insert(&mut |frame| drop(map.insert(frame).unwrap()), 60..61, 2.0);
    folder.save(&map).unwrap();
    assert!(files().intersection(&before).count() > 1, "tiles without a change stay as they are");
    assert_eq!(shown(&load(&path).unwrap()), shown(&map));
    // The folder and the map packed into one file are the same.
    let (packed, direct) = (here.path().join("packed"), here.path().join("direct"));
    folder.pack(&packed).unwrap();
    save(&load(&path).unwrap(), &direct).unwrap();
    assert_eq!(shown(&load(&packed).unwrap()), shown(&map));
    let unpacked = Folder::unpack(&packed, here.path().join("unpacked"), 0).unwrap();
    assert_eq!(shown(&unpacked.load().unwrap()), shown(&map));
    // Damage is found, and the rest recovered.
    let victim = path.join(files().first().unwrap());
    let mut bytes = std::fs::read(&victim).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&victim, &bytes).unwrap();
    assert!(load(&path).unwrap_err().to_string().contains("free space"));
    assert!(!check(&path).unwrap().findings.is_empty());
    let out = here.path().join("out");
    assert!(recover(&path, &out).unwrap().lost.iter().any(|line| line.contains("free space")));
    assert_eq!(load(&out).unwrap().len(), map.len());
}

#[test]
fn a_budget_changes_nothing_of_what_is_free() {
    let here = tempfile::tempdir().unwrap();
    // There and back.
    let numbers = || (0..24_u32).chain((0..24).rev());
    let mut whole = new_map("");
    insert(&mut |frame| drop(whole.insert(frame).unwrap()), numbers(), 9.0);
    let path = here.path().join("map");
    // With what is derived for whoever looks.
    whole.changes_since(0);
    let budget = whole.byte_size().total() * 2 / 3;
    let mut rolling = RollingMapper::create(classes(), whole.config().clone(), &path, budget).unwrap();
    let mut spilled = false;
    for (at, number) in numbers().enumerate() {
        insert(&mut |frame| drop(rolling.insert(frame).unwrap()), std::iter::once(number), 9.0);
        spilled |= (rolling.resident().len() as u64) < rolling.len();
        if at == 30 {
            rolling.save().unwrap();
            drop(rolling);
            rolling = RollingMapper::open(&path, budget).unwrap();
        }
    }
    assert!(spilled, "the budget was never reached");
    let places: Vec<[f64; 3]> = (0..400).map(|i| [f64::from(i) * 0.5, f64::from(i % 11) - 5.0, 0.1]).collect();
    let asked = rolling.query(&places).unwrap();
    assert!(asked.iter().zip(whole.query(&places).iter()).all(|(a, b)| a.label() == b.label()));
    rolling.save().unwrap();
    assert_eq!(shown(&load(&path).unwrap()), shown(&whole));
    let (packed, plain) = (here.path().join("packed"), here.path().join("plain"));
    rolling.save_as(&[], &packed).unwrap();
    save(&whole, &plain).unwrap();
    assert!(std::fs::read(&packed).unwrap() == std::fs::read(&plain).unwrap());
    assert_eq!(shown(&rolling.into_map().unwrap()), shown(&whole));
}

#[test]
fn merged_files_count_together_and_submaps_come_back() {
    let here = tempfile::tempdir().unwrap();
    let at = |name: &str| here.path().join(name);
    let mut map = new_map("");
    map.keep_submaps(SubmapRule::Frames(2), "monday").unwrap();
    insert(&mut |frame| drop(map.insert(frame).unwrap()), 0..4, 1.0);
    save(&map, at("a")).unwrap();
    let kept = load_with_submaps(at("a")).unwrap();
    let frames: Vec<u64> = kept.submaps().unwrap().iter().map(|submap| submap.free_space().frames()).collect();
    assert_eq!(frames, [2, 2]);
    let mut again = kept.clone();
    again.remove_submaps(&[1]).unwrap();
    assert_eq!(again.free_space(), map_of(0..2, 1.0).free_space());
    save(&map_of(4..8, 1.0), at("b")).unwrap();
    let inputs = |pose: Pose| {
        [("a", Pose::IDENTITY), ("b", pose)].map(|(name, world_from_map)| Input { path: at(name), world_from_map })
    };
    merge(&inputs(Pose::IDENTITY), &MergeOptions::default(), at("c")).unwrap();
    let merged = load(at("c")).unwrap();
    assert_eq!(merged.free_space(), map_of(0..8, 1.0).free_space());
    assert!(merged.classes().is_movable(1));
    let moved = Pose::from_translation([100.0, 0.1, 0.0]).unwrap();
    merge(&inputs(moved), &MergeOptions::default(), at("d")).unwrap();
    let merged = load(at("d")).unwrap();
    assert_eq!(merged.query(&[[105.0, 0.1, 0.1]]).state(0), State::Free);
    // A map that was made without it cannot be mixed in.
    let mut without = Mapper::new(classes(), map.config().clone().with(|c| c.free_space.enabled = false)).unwrap();
    insert(&mut |frame| drop(without.insert(frame).unwrap()), 0..1, 1.0);
    save(&without, at("b")).unwrap();
    let options = |on: bool| MergeOptions {
        config: Some(map.config().clone().with(|c| c.free_space.enabled = on)),
        ..MergeOptions::default()
    };
    let refused = merge(&inputs(Pose::IDENTITY), &options(true), at("e")).unwrap_err().to_string();
    assert!(refused.contains("free space"), "{refused}");
    merge(&inputs(Pose::IDENTITY), &options(false), at("e")).unwrap();
    // Nor does it begin to count when it is loaded with other parameters.
    let mut file = MapFile::open(at("b")).unwrap();
    assert!(file.load_as(map.config().clone(), |_| true).unwrap().free_space().is_none());
}

#[test]
fn files_and_tables_say_when_places_were_last_seen() {
    let here = tempfile::tempdir().unwrap();
    let (mut map, path) = (new_map(""), here.path().join("map.e2bki"));
    let mut time = 100.0;
    insert(
        &mut |frame| {
            map.name_next_frame(0, Some(time));
            time += 7.0;
            map.insert(frame).unwrap();
        },
        0..3,
        0.2,
    );
    save(&map, &path).unwrap();
    assert!(check(&path).unwrap().findings.is_empty());
    let again = load(&path).unwrap();
    assert_eq!(again.free_space(), map.free_space());
    assert_eq!(again.last_seen([-9.0, 0.0, 0.1]), Some(114.0));
    let table = here.path().join("map.csv");
    export(&again, Format::Csv, &table, &ExportOptions::default()).unwrap();
    let text = std::fs::read_to_string(&table).unwrap();
    assert!(text.lines().next().unwrap().ends_with("passes,last_seen"));
    let times: std::collections::BTreeSet<&str> =
        text.lines().skip(1).filter_map(|line| line.rsplit(',').next()).collect();
    assert!(times.contains("114") && times.iter().all(|time| ["100", "107", "114"].contains(time)), "{times:?}");
    let archive = here.path().join("map.npz");
    export(&map, Format::Npz, &archive, &ExportOptions::default()).unwrap();
    assert_eq!(import_npz(&archive).unwrap().free_space(), map.free_space());
}

#[test]
fn exports_have_what_exists_and_all_on_request() {
    let here = tempfile::tempdir().unwrap();
    let map = map_of(0..8, 0.2);
    let gone = map.primitives().filter(|p| p.is_gone()).count();
    assert!(gone > 0);
    let all = ExportOptions { gone: true, ..ExportOptions::default() };
    for (options, rows) in [(ExportOptions::default(), map.len() - gone), (all, map.len())] {
        let path = here.path().join("map.csv");
        export(&map, Format::Csv, &path, &options).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), rows + 1);
        assert!(text.lines().next().unwrap().ends_with("state,existence,hits,passes"));
        let free = text.lines().skip(1).filter(|line| line.split(',').nth(15) == Some("1")).count();
        assert_eq!(free, rows + gone - map.len());
        for (format, header) in
            [(Format::Ply, format!("element vertex {rows}")), (Format::Pcd, format!("POINTS {rows}"))]
        {
            let path = here.path().join("map");
            export(&map, format, &path, &options).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            let start = String::from_utf8_lossy(&bytes[..600.min(bytes.len())]).into_owned();
            assert!(start.contains(&header) && start.contains("existence"), "{start}");
        }
    }
    let path = here.path().join("map.npz");
    export(&map, Format::Npz, &path, &ExportOptions::default()).unwrap();
    assert_eq!(shown(&import_npz(&path).unwrap()), shown(&map));
}

#[test]
fn a_grid_is_free_above_seen_ground_that_was_seen_through() {
    let here = tempfile::tempdir().unwrap();
    let config = Config::from_toml("[free_space]\nenabled = true\nsensor = \"os1-64\"").unwrap();
    let mut map = Mapper::new(ClassSet::from_names(["road", "wall"]).unwrap(), config.clone()).unwrap();
    let mut plain = Mapper::new(map.classes().clone(), config.with(|c| c.free_space.enabled = false)).unwrap();
    // A flat road in a round wall, from a sensor 1.6 m above.
    let (mut points, mut labels) = (Vec::new(), Vec::new());
    for beam in 0..64 {
        let slope = (16.6 - 33.2 * f64::from(beam) / 63.0_f64).to_radians().tan();
        for column in 0..1024 {
            let azimuth = std::f64::consts::TAU * f64::from(column) / 1024.0;
            let flat = if slope < 0.0 { (-1.6 / slope).min(12.0) } else { 12.0 };
            points.push([flat * azimuth.cos(), flat * azimuth.sin(), flat * slope].map(|v| v as f32));
            labels.push(u32::from(flat == 12.0));
        }
    }
    for x in [0.0, 0.3, 0.6] {
        let world_from_sensor = Pose::from_translation([x, 0.0, 1.53]).unwrap();
        let frame = Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None };
        map.insert(&frame).unwrap();
        plain.insert(&frame).unwrap();
    }
    let pixels = |map: &Mapper| -> Vec<u8> {
        let path = here.path().join("grid.pgm");
        let mut costs = CostTable::default();
        ["road=0", "wall=100"].iter().for_each(|cost| costs.add(cost).unwrap());
        let options = ExportOptions { resolution: Some(0.1), costs, ..ExportOptions::default() };
        export(map, Format::Grid, &path, &options).unwrap();
        std::fs::read(&path).unwrap()
    };
    let count = |pixels: &[u8], value: u8| pixels.iter().filter(|pixel| **pixel == value).count();
    let (with, without) = (pixels(&map), pixels(&plain));
    assert_eq!(with.len(), without.len());
    assert!(count(&with, 254) > count(&without, 254), "gaps between the rings are free");
    assert!(count(&with, 0) * 10 > count(&without, 0) * 9, "the wall stays");
    // Nothing that was something became free.
    assert!(with.iter().zip(&without).skip(40).all(|(a, b)| *b != 0 || *a != 254));

    // From above: one pixel per cell, as the map says of the space over the ground.
    let (path, options) =
        (here.path().join("above.png"), ExportOptions { resolution: Some(0.25), ..Default::default() });
    assert_eq!(export(&plain, Format::Bev, &path, &options).unwrap().len(), 4);
    assert_eq!(export(&map, Format::Bev, &path, &options).unwrap().len(), 6);
    let picture = image::open(here.path().join("above-state.png")).unwrap().to_rgba8();
    let world = std::fs::read_to_string(here.path().join("above-state.pgw")).unwrap();
    let world: Vec<f64> = world.lines().map(|line| line.parse().unwrap()).collect();
    let view = map.birds_eye().unwrap();
    let mut seen = [0; 3];
    for (column, row, pixel) in picture.enumerate_pixels() {
        let place = [world[4] + 0.25 * f64::from(column), world[5] - 0.25 * f64::from(row)];
        let state = view.states(&[place])[0];
        assert_eq!(pixel.0, [[205, 205, 205, 255], [254, 254, 254, 255], [0, 0, 0, 255]][state as usize], "{place:?}");
        seen[state as usize] += 1;
    }
    assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
}
