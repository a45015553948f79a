//! Merging: by name, in any order, moved, and never the same drive twice unnoticed.

use crate::common::{drive, map_of};
use e2bki::submaps::SubmapRule;
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
use e2bki_store::{Input, MapFile, MergeOptions, load, merge, save_with};

fn input(path: &std::path::Path) -> Input {
    Input { path: path.into(), world_from_map: Pose::IDENTITY }
}

#[test]
fn merging_two_halves_is_the_same_in_either_order_and_as_merging_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, ab, ba] = ["a", "b", "ab", "ba"].map(|name| folder.path().join(name));
    let frames = drive(12, 2000);
    let config = Config::default();
    let ((mut first, _), (second, _)) = (map_of(&frames[..6], &config), map_of(&frames[6..], &config));
    save_with(&first, &["monday".into()], &a).unwrap();
    save_with(&second, &["tuesday".into()], &b).unwrap();
    let merged = merge(&[input(&a), input(&b)], &MergeOptions::default(), &ab).unwrap();
    merge(&[input(&b), input(&a)], &MergeOptions::default(), &ba).unwrap();
    assert_eq!(std::fs::read(&ab).unwrap(), std::fs::read(&ba).unwrap());
    assert_eq!(merged.header.sources, ["monday", "tuesday"]);
    assert!(merged.rows < merged.rows_before);
    first.merge(&second).unwrap();
    let again = load(&ab).unwrap();
    assert!(again.states().eq(first.states()) && again.live_voxels().eq(first.live_voxels()));
    assert_eq!(again.frames(), 12);

    // The same drive again is refused, unless it is asked for.
    let twice = merge(&[input(&ab), input(&a)], &MergeOptions::default(), &ba).unwrap_err().to_string();
    assert!(twice.contains("monday"), "{twice}");
    let asked = MergeOptions { allow_duplicates: true, ..MergeOptions::default() };
    merge(&[input(&ab), input(&a)], &asked, &ba).unwrap();

    // Other parameters are refused by name, unless they are given.
    let (other, _) = map_of(&frames[..2], &Config::default().with(|c| c.kernel.prior = 0.01));
    save_with(&other, &["wednesday".into()], &b).unwrap();
    let differ = merge(&[input(&a), input(&b)], &MergeOptions::default(), &ba).unwrap_err().to_string();
    assert!(differ.contains("prior`"), "{differ}");
    let given = MergeOptions { config: Some(Config::default()), ..MergeOptions::default() };
    merge(&[input(&a), input(&b)], &given, &ba).unwrap();
}

/// A wall of one class as seen by a robot with its own class table.
fn wall(classes: [&str; 2], label: u32, world_from_sensor: Pose) -> Mapper {
    let classes = ClassSet::from_names(classes).unwrap().with_costs([(classes[1], 70), ("wall", 100)]).unwrap();
    let mut map = Mapper::new(classes, Config::default()).unwrap();
    let points: Vec<[f32; 3]> =
        (0..4000).map(|i| [2.0 + (i % 80) as f32 * 0.05, (i % 3) as f32 * 0.01, (i / 80) as f32 * 0.05]).collect();
    let labels = vec![label; points.len()];
    map.insert(&Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None })
        .unwrap();
    map
}

#[test]
fn classes_meet_by_name_and_a_motion_brings_maps_together() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, out] = ["a", "b", "out"].map(|name| folder.path().join(name));
    // The second robot calls its own place the origin; in truth it stands elsewhere and turned.
    let truth = Pose::new([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]], [100.0, 50.0, 1.0]).unwrap();
    save_with(&wall(["road", "wall"], 1, Pose::IDENTITY), &["a".into()], &a).unwrap();
    save_with(&wall(["wall", "tree"], 0, Pose::IDENTITY), &["b".into()], &b).unwrap();
    let moved = Input { path: b, world_from_map: truth };
    let merged = merge(&[input(&a), moved], &MergeOptions::default(), &out).unwrap();
    assert_eq!(merged.header.classes.names(), ["road", "wall", "tree"]);
    let costs: Vec<Option<u8>> = (0..3).map(|class| merged.header.classes.cost(class)).collect();
    assert_eq!(costs, [None, Some(100), Some(70)]);
    let map = load(&out).unwrap();
    let beliefs = map.query(&[[3.0, 0.0, 1.0], truth.apply([3.0, 0.0, 1.0]), [50.0, 50.0, 1.0]]);
    let labels: Vec<Option<usize>> = beliefs.iter().map(|belief| belief.label()).collect();
    assert_eq!(labels, [Some(1), Some(1), None]);
    assert_eq!(MapFile::open(&out).unwrap().header().sources, ["a", "b"]);
}

/// What a map holds, without the numbers of its primitives.
fn bare(map: &Mapper) -> Vec<String> {
    map.states().map(|state| format!("{:?} {:?}", state.sums, state.log_evidence)).collect()
}

#[test]
fn a_map_that_is_moved_is_cut_at_the_faces_of_cubes_as_corrections_cut_it() {
    let folder = tempfile::tempdir().unwrap();
    let [a, out] = ["a", "out"].map(|name| folder.path().join(name));
    let truth = Pose::new([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]], [100.0, 50.0, 1.0]).unwrap();
    let mut map = wall(["road", "wall"], 1, Pose::IDENTITY);
    save_with(&map, &["a".into()], &a).unwrap();
    let merged = merge(&[Input { path: a, world_from_map: truth }], &MergeOptions::default(), &out).unwrap();
    assert!(merged.rows > merged.rows_before, "{} {}", merged.rows, merged.rows_before);
    map.keep_submaps(SubmapRule::Called, "a").unwrap();
    map.correct(&[(0, truth)].into()).unwrap();
    assert_eq!(bare(&load(&out).unwrap()), bare(&map));
}
