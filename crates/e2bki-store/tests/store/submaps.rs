//! Submaps beside a map: they come back to the bit, belong to one state of the map, and never stand in its way.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::{CLASSES, OwnedFrame, drive, frame, mapper};
use e2bki::submaps::{Submap, SubmapRule};
use e2bki::{Config, Mapper, Pose};
use e2bki_store::{Input, MergeOptions, list_submaps, load, load_with_submaps, merge, save, save_with, submaps_folder};
use proptest::prelude::*;

fn config() -> Config {
    Config::default().with(|c| {
        c.refinement.prune = false;
        c.run.threads = 1;
    })
}

fn insert(map: &mut Mapper, frames: &[OwnedFrame]) {
    frames.iter().for_each(|frame| drop(map.insert(&frame.borrow()).unwrap()));
}

/// Six submaps of two frames.
fn six() -> (Mapper, Vec<OwnedFrame>) {
    let frames = drive(12, 300);
    let mut map = mapper(&config());
    map.keep_submaps(SubmapRule::Frames(2), "monday").unwrap();
    insert(&mut map, &frames);
    (map, frames)
}

fn assert_same_submaps(a: &Mapper, b: &Mapper) {
    let (a, b) = (a.submaps().unwrap(), b.submaps().unwrap());
    assert_eq!((a.len(), a.next_id()), (b.len(), b.next_id()));
    for (a, b) in a.iter().zip(b.iter()) {
        assert_eq!((a.id(), a.source(), a.frame_count()), (b.id(), b.source(), b.frame_count()));
        assert_eq!((a.anchor(), a.pose(), a.trust(), a.frames()), (b.anchor(), b.pose(), b.trust(), b.frames()));
        assert_eq!(a.part(), b.part());
    }
}

fn shift(by: f64) -> Pose {
    let (s, c) = (0.1 * by).sin_cos();
    Pose::new([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [by, -by, 0.3]).unwrap()
}

#[test]
fn a_map_comes_back_with_its_submaps_and_can_be_taken_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("street.e2bki");
    let (mut map, frames) = six();
    map.correct(&[(1, shift(0.7)), (4, shift(-0.3))].into()).unwrap();
    save(&map, &path).unwrap();
    let mut again = load_with_submaps(&path).unwrap();
    assert_same_submaps(&map, &again);
    assert!(again.states().eq(map.states()) && again.live_voxels().eq(map.live_voxels()));
    // Without them the map is as any other.
    assert!(load(&path).unwrap().submaps().is_none());
    let listed = list_submaps(&path).unwrap();
    assert_eq!(listed.iter().map(|one| one.frames).sum::<u64>(), 12);
    assert_eq!(listed[2].first_last, Some((4, 5)));
    assert!(listed.iter().all(|one| one.bytes > 0 && one.source == "monday"));
    assert_eq!(listed[1].pose, shift(0.7));
    again.remove_submaps(&[0, 1, 4]).unwrap();
    let mut rest = mapper(&config());
    insert(&mut rest, &frames[4..8]);
    insert(&mut rest, &frames[10..]);
    assert_eq!(bare(&again), bare(&rest));
}

/// What a map holds, without the numbers of its primitives.
fn bare(map: &Mapper) -> Vec<String> {
    let mut all: Vec<String> = map.states().map(|s| format!("{:?} {:?}", s.sums, s.log_evidence)).collect();
    all.sort();
    all
}

fn files(folder: &Path, ending: &str) -> Vec<std::path::PathBuf> {
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = all.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    all.sort();
    all
}

#[test]
fn a_correction_writes_no_part_again_and_what_is_not_needed_goes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("street.e2bki");
    let (mut map, _) = six();
    save(&map, &path).unwrap();
    let beside = submaps_folder(&path);
    let parts = files(&beside, ".part");
    let times: Vec<_> = parts.iter().map(|path| std::fs::metadata(path).unwrap().modified().unwrap()).collect();
    map.correct(&[(1, shift(0.7))].into()).unwrap();
    save(&map, &path).unwrap();
    assert_eq!(files(&beside, ".part"), parts);
    let again: Vec<_> = parts.iter().map(|path| std::fs::metadata(path).unwrap().modified().unwrap()).collect();
    assert_eq!(again, times);
    assert_eq!(files(&beside, ".manifest").len(), 1);
    map.remove_submaps(&[2]).unwrap();
    save(&map, &path).unwrap();
    assert_eq!(files(&beside, ".part").len(), 5);
    assert_same_submaps(&load_with_submaps(&path).unwrap(), &map);
}

#[test]
fn damaged_missing_and_foreign_submaps_are_named_and_the_map_stays_usable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("street.e2bki");
    let (mut map, frames) = six();
    save(&map, &path).unwrap();
    let part = files(&submaps_folder(&path), ".part")[3].clone();
    let whole = std::fs::read(&part).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&part, &bytes).unwrap();
        let error = load_with_submaps(&path).unwrap_err().to_string();
        assert!(error.contains("000003") && error.contains("the map itself is not affected"), "{at}: {error}");
        std::fs::write(&part, &whole[..at]).unwrap();
        assert!(load_with_submaps(&path).is_err());
    }
    std::fs::remove_file(&part).unwrap();
    assert!(load_with_submaps(&path).unwrap_err().to_string().contains("000003"));
    assert!(load(&path).unwrap().states().eq(map.states()));
    std::fs::write(&part, &whole).unwrap();
    let manifest = files(&submaps_folder(&path), ".manifest")[0].clone();
    let mut bytes = std::fs::read(&manifest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&manifest, &bytes).unwrap();
    assert!(load_with_submaps(&path).unwrap_err().to_string().contains("damaged"));
    assert!(load(&path).is_ok());

    // Submaps of another state of the map, and a map without any.
    map.forget_submaps();
    insert(&mut map, &[frame(99, 3.0, 50)]);
    save(&map, &path).unwrap();
    assert!(load_with_submaps(&path).unwrap_err().to_string().contains("another state"));
    let plain = folder.path().join("plain.e2bki");
    let mut map = mapper(&config());
    insert(&mut map, &frames[..1]);
    save(&map, &plain).unwrap();
    assert!(load_with_submaps(&plain).unwrap_err().to_string().contains("--submaps"));
    assert!(!submaps_folder(&plain).exists());
}

#[test]
fn merged_maps_keep_their_submaps_and_a_drive_can_be_trusted_less() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, ab, plain] = ["a", "b", "ab", "plain"].map(|name| folder.path().join(format!("{name}.e2bki")));
    let frames = drive(8, 300);
    let map_of = |frames: &[OwnedFrame], source: &str, path: &Path, keep: bool| {
        let mut map = mapper(&config());
        if keep {
            map.keep_submaps(SubmapRule::Frames(2), source).unwrap();
        }
        insert(&mut map, frames);
        save_with(&map, &[source.into()], path).unwrap();
        map
    };
    let (first, second) = (map_of(&frames[..4], "robot-a", &a, true), map_of(&frames[4..], "robot-b", &b, true));
    let inputs = [&a, &b].map(|path| Input { path: path.clone(), world_from_map: Pose::IDENTITY });
    let half = |name: &str| MergeOptions { trust: vec![(name.into(), 0.5)], ..MergeOptions::default() };
    let merged = merge(&inputs, &half("robot-b"), &ab).unwrap();
    assert_eq!(merged.submaps, Some(4));
    let mut map = load_with_submaps(&ab).unwrap();
    let evidence = |map: &Mapper| map.primitives().flat_map(|primitive| primitive.log_evidence()).sum::<f64>();
    assert!((evidence(&map) - evidence(&first) - 0.5 * evidence(&second)).abs() < 1e-5);
    let ids = map.submaps().unwrap().of_source("robot-b").unwrap();
    map.remove_submaps(&ids).unwrap();
    assert_eq!(bare(&map), bare(&first));
    // The same without submaps: the map is of one drive, which is trusted as a whole.
    let whole = map_of(&frames[4..], "robot-b", &plain, false);
    let inputs = [&a, &plain].map(|path| Input { path: path.clone(), world_from_map: Pose::IDENTITY });
    let merged = merge(&inputs, &half("robot-b"), &ab).unwrap();
    assert_eq!(merged.submaps, None);
    let sum = evidence(&load(&ab).unwrap());
    assert!((sum - evidence(&first) - 0.5 * evidence(&whole)).abs() < 1e-5);
    let nobody = merge(&inputs, &half("robot-c"), &ab).unwrap_err().to_string();
    assert!(nobody.contains("robot-a, robot-b"), "{nobody}");
    let zero = MergeOptions { trust: vec![("robot-b".into(), 0.0)], ..MergeOptions::default() };
    assert!(merge(&inputs, &zero, &ab).unwrap_err().to_string().contains("1/256"));
    // Moved as a whole, with submaps: as if every submap had been corrected.
    let moved = [Input { path: a.clone(), world_from_map: shift(2.0) }];
    merge(&moved, &MergeOptions::default(), &ab).unwrap();
    let mut direct = first.clone();
    let pose = |submap: &Submap| (submap.id(), shift(2.0).after(&submap.pose()).unwrap());
    let poses: BTreeMap<u32, Pose> = first.submaps().unwrap().iter().map(pose).collect();
    direct.correct(&poses).unwrap();
    assert_eq!(bare(&load_with_submaps(&ab).unwrap()), bare(&direct));
}

#[test]
fn submaps_of_other_classes_and_of_other_maps_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, out] = ["a", "b", "out"].map(|name| folder.path().join(format!("{name}.e2bki")));
    let frames = drive(4, 200);
    let map_of = |first: &str, path: &Path| {
        let names = (0..CLASSES).map(|c| if c == 0 { first.to_string() } else { format!("class-{c}") });
        let classes = e2bki::ClassSet::from_names(names.collect::<Vec<_>>()).unwrap();
        let mut map = Mapper::new(classes, config()).unwrap();
        map.keep_submaps(SubmapRule::Frames(2), first).unwrap();
        insert(&mut map, &frames);
        save_with(&map, &[first.into()], path).unwrap();
        map
    };
    let (map, _) = (map_of("road", &a), map_of("grass", &b));
    // Equal but for the name of a class: the submaps of one are not those of the other.
    let (own, other) = (submaps_folder(&b), submaps_folder(&a));
    std::fs::remove_dir_all(&own).unwrap();
    std::fs::create_dir(&own).unwrap();
    for file in files(&other, "") {
        std::fs::copy(&file, own.join(file.file_name().unwrap())).unwrap();
    }
    let kept = std::fs::read(&b).unwrap();
    let reason = load_with_submaps(&b).unwrap_err().to_string();
    assert!(reason.contains("other classes") && reason.contains("road") && reason.contains("grass"), "{reason}");
    assert!(list_submaps(&b).is_err() && load(&b).is_ok());
    let inputs = [&a, &b].map(|path| Input { path: path.clone(), world_from_map: Pose::IDENTITY });
    assert!(std::fs::read(&b).unwrap() == kept);
    // For merging it is a map without submaps, and that is said.
    let merged = merge(&inputs, &MergeOptions::default(), &out).unwrap();
    assert!(merged.without_submaps.unwrap().contains("b.e2bki has none"));
    // With its own submaps such a map is merged by the names of classes, which no submap can be: that is said.
    map_of("grass", &b);
    let merged = merge(&inputs, &MergeOptions::default(), &out).unwrap();
    assert_eq!((merged.submaps, merged.header.classes.len()), (None, CLASSES + 1));
    assert!(merged.without_submaps.unwrap().contains("classes"));
    // A part under the name of another.
    let parts = files(&other, ".part");
    std::fs::copy(&parts[0], &parts[1]).unwrap();
    let reason = load_with_submaps(&a).unwrap_err().to_string();
    assert!(reason.contains("another map") && reason.contains("000001"), "{reason}");
    assert!(load(&a).unwrap().states().eq(map.states()));
}

#[test]
fn maps_moved_by_whole_cubes_have_as_many_primitives_and_the_same_sums() {
    let folder = tempfile::tempdir().unwrap();
    let [kept, plain, out, back] = ["a", "b", "out", "back"].map(|name| folder.path().join(format!("{name}.e2bki")));
    let (mut map, _) = six();
    save_with(&map, &["monday".into()], &kept).unwrap();
    map.forget_submaps();
    save_with(&map, &["monday".into()], &plain).unwrap();
    let quarter = [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    let motions = [([500.0, -3.25, 0.75], Pose::IDENTITY.rotation()), ([-7.5, 0.0, 100.0], quarter)];
    for (shift, rotation) in motions {
        let motion = Pose::new(rotation, shift).unwrap();
        // What lies on a face that is turned round may be joined with what is behind it, and only submaps tell it apart.
        let paths = if rotation == quarter { vec![&kept] } else { vec![&kept, &plain] };
        for path in paths {
            let moved = |from: &Path, motion: Pose, to: &Path| {
                let input = Input { path: from.into(), world_from_map: motion };
                merge(&[input], &MergeOptions::default(), to).unwrap()
            };
            let merged = moved(path, motion, &out);
            if rotation == Pose::IDENTITY.rotation() {
                assert_eq!(merged.rows, merged.rows_before);
            }
            assert_ne!(bare(&load(&out).unwrap()), bare(&map));
            moved(&out, motion.inverse(), &back);
            assert_eq!(bare(&load(&back).unwrap()), bare(&map));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: crate::common::cases(100), failure_persistence: None, ..ProptestConfig::default() })]
    /// With files in between, any sequence gives the same as without.
    #[test]
    fn saving_and_loading_changes_nothing(
        steps in prop::collection::vec((0..5_u8, any::<prop::sample::Index>(), -2.0..2.0_f64), 1..12),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("map.e2bki");
        let begin = || {
            let mut map = mapper(&config());
            map.keep_submaps(SubmapRule::Called, "drive").unwrap();
            map
        };
        let (mut kept, mut direct) = (begin(), begin());
        for (number, (step, index, by)) in steps.into_iter().enumerate() {
            for (map, files) in [(&mut kept, true), (&mut direct, false)] {
                let ids: Vec<u32> = map.submaps().unwrap().iter().map(Submap::id).collect();
                let chosen = (!ids.is_empty()).then(|| ids[index.index(ids.len())]);
                match (step, chosen) {
                    (0 | 1, _) => insert(map, &[frame(number as u64 + 1, by, 40)]),
                    (2, Some(id)) => drop(map.remove_submaps(&[id]).unwrap()),
                    (3, Some(id)) => drop(map.correct(&[(id, shift(by))].into()).unwrap()),
                    (4, Some(_)) => {
                        // Every frame by another motion, so that submaps are bent.
                        let frames = map.submaps().unwrap().iter().flat_map(Submap::frames);
                        let corrected = frames.map(|frame| {
                            let motion = shift(by * 0.1 * frame.number as f64);
                            (frame.number, motion.after(&frame.world_from_sensor).unwrap())
                        });
                        let poses = corrected.collect();
                        map.correct_frames(None, &poses).unwrap();
                    }
                    _ => map.begin_submap().unwrap(),
                }
                if files {
                    save(map, &path).unwrap();
                    *map = load_with_submaps(&path).unwrap();
                    prop_assert_eq!(map.classes().len(), CLASSES);
                }
                // Loading closes a submap.
                map.keep_submaps(SubmapRule::Called, "drive").unwrap();
            }
            prop_assert_eq!(bare(&kept), bare(&direct));
            assert_same_submaps(&kept, &direct);
        }
    }
}
