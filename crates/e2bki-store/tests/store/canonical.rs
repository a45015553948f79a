//! Equal contents are equal bytes, however they came to be.

use std::path::Path;

use crate::common::{OwnedFrame, belief_bits, classes, drive, mapper};
use e2bki::{Config, Mapper, Pose};
use e2bki_store::{
    Folder, Header, Input, MergeOptions, RollingMapper, content_hash, content_hash_of, load, merge, save, save_with,
};
use proptest::prelude::*;

fn config(threads: usize) -> Config {
    Config::default().with(|c| c.run.threads = threads)
}

fn map_of(frames: &[OwnedFrame], order: &[usize], config: &Config) -> Mapper {
    let mut map = mapper(config);
    order.iter().for_each(|i| drop(map.insert(&frames[*i].borrow()).unwrap()));
    map
}

fn bytes_of(map: &Mapper, path: &Path) -> Vec<u8> {
    save_with(map, &["drive".into()], path).unwrap();
    std::fs::read(path).unwrap()
}

/// Beliefs at some places, voxels and cells, bit for bit.
fn views(map: &Mapper) -> Vec<[u64; 5]> {
    let places: Vec<[f64; 3]> =
        (0..400).map(|i| [f64::from(i % 40) * 0.3, f64::from(i / 40) - 5.0, f64::from(i % 7) * 0.2]).collect();
    let mut all: Vec<[u64; 5]> = map.query(&places).iter().map(|b| belief_bits(&b)).collect();
    all.extend(map.voxels(0.2).unwrap().beliefs.iter().map(|b| belief_bits(&b)));
    all.extend(map.bev(0.25).unwrap().beliefs.iter().map(|b| belief_bits(&b)));
    all.extend(map.live_voxels().map(|voxel| belief_bits(&voxel.belief)));
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_grouping_and_number_of_threads_gives_the_same_bytes(
        order in Just((0..9_usize).collect::<Vec<_>>()).prop_shuffle(),
        groups in prop::collection::vec(0..3_usize, 9),
        threads in prop::collection::vec(1..3_usize, 3),
        files in any::<bool>(),
        cell_size in prop::sample::select(vec![0.25, 0.3]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let config = |threads: usize| config(threads).with(|c| c.clustering.cell_size = cell_size);
        let frames = drive(9, 250);
        let straight = map_of(&frames, &(0..9).collect::<Vec<_>>(), &config(1));
        let expected = bytes_of(&straight, &at("expected"));
        let runs: Vec<Mapper> = (0..3)
            .map(|run| {
                let own: Vec<usize> = order.iter().copied().filter(|frame| groups[*frame] == run).collect();
                map_of(&frames, &own, &config(threads[run]))
            })
            .collect();
        let merged = if files {
            let inputs: Vec<Input> = runs
                .iter()
                .enumerate()
                .map(|(run, map)| {
                    let path = at(&format!("run-{run}"));
                    save_with(map, &["drive".into()], &path).unwrap();
                    Input { path, world_from_map: Pose::IDENTITY }
                })
                .collect();
            let options = MergeOptions { allow_duplicates: true, ..MergeOptions::default() };
            merge(&inputs, &options, at("merged")).unwrap();
            load(at("merged")).unwrap()
        } else {
            let mut all = runs.into_iter();
            let mut whole = all.next().unwrap();
            all.for_each(|run| drop(whole.merge(&run).unwrap()));
            whole
        };
        prop_assert!(bytes_of(&merged, &at("again")) == expected);
        if files {
            prop_assert!(std::fs::read(at("merged")).unwrap() == expected);
        }
        prop_assert!(views(&merged) == views(&straight));
        prop_assert!(merged.states().eq(straight.states()));
        prop_assert_eq!(content_hash_of(&merged).unwrap(), content_hash(at("expected")).unwrap());
        // What is saved and loaded goes on as what never was.
        let mut loaded = load(at("expected")).unwrap();
        prop_assert!(views(&loaded) == views(&straight));
        let (more, mut on) = (drive(11, 250), straight.clone());
        for frame in &more[9..] {
            loaded.insert(&frame.borrow()).unwrap();
            on.insert(&frame.borrow()).unwrap();
        }
        prop_assert!(bytes_of(&loaded, &at("loaded")) == bytes_of(&on, &at("on")));
    }
}

#[test]
fn a_folder_of_tiles_has_the_hash_of_the_file_and_packs_to_its_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let frames: Vec<OwnedFrame> = (0..8).map(|i| crate::common::frame(i + 1, 40.0 * i as f64, 200)).collect();
    let straight = map_of(&frames, &[0, 1, 2, 3, 4, 5, 6, 7], &config(1));
    save(&straight, at("file")).unwrap();
    let hash = content_hash(at("file")).unwrap();
    let mut folder = Folder::create(at("folder"), Header::of(&straight, &[])).unwrap();
    // Saved after every other frame, in another order: tiles are of many moments.
    let mut map = mapper(&config(2));
    for (number, frame) in [5, 0, 7, 2, 1, 6, 3, 4].into_iter().enumerate() {
        map.insert(&frames[frame].borrow()).unwrap();
        if number % 2 == 1 {
            folder.save(&map).unwrap();
        }
    }
    assert_eq!(content_hash(at("folder")).unwrap(), hash);
    folder.pack(at("packed")).unwrap();
    assert!(std::fs::read(at("packed")).unwrap() == std::fs::read(at("file")).unwrap());
    assert_eq!(content_hash(at("packed")).unwrap(), hash);
    // And through a budget.
    let mut rolling = RollingMapper::create(classes(), config(1), at("rolling"), 2_000_000).unwrap();
    for frame in [3, 2, 7, 6, 5, 4, 1, 0] {
        rolling.insert(&frames[frame].borrow()).unwrap();
    }
    rolling.save_as(&[], at("rolled")).unwrap();
    assert_eq!(content_hash(at("rolling")).unwrap(), hash);
    assert!(std::fs::read(at("rolled")).unwrap() == std::fs::read(at("file")).unwrap());
    // A frame more is another map; another name of its drive is not.
    save_with(&straight, &["monday".into()], at("named")).unwrap();
    assert_eq!(content_hash(at("named")).unwrap(), hash);
    map.insert(&frames[0].borrow()).unwrap();
    assert_ne!(content_hash_of(&map).unwrap(), hash);
    let other = map_of(&frames, &[0, 1, 2, 3, 4, 5, 6, 7], &config(1).with(|c| c.kernel.length_scale = 0.3));
    assert_ne!(content_hash_of(&other).unwrap(), hash);
}

#[test]
fn maps_that_are_not_sums_keep_their_ages() {
    let dir = tempfile::tempdir().unwrap();
    let paper = Config::preset("paper-rellis").unwrap().with(|c| c.run.threads = 2);
    let map = map_of(&drive(3, 400), &[0, 1, 2], &paper);
    let path = dir.path().join("paper");
    let header = save(&map, &path).unwrap();
    assert_eq!((header.next_id, header.config.run.threads), (map.next_id(), 2));
    let loaded = load(&path).unwrap();
    assert!(loaded.states().eq(map.states()) && loaded.states().any(|state| state.id + 1 != loaded.len() as u64));
    assert_eq!(content_hash(&path).unwrap(), content_hash_of(&map).unwrap());
}
