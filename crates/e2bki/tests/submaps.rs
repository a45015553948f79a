//! A map that keeps its submaps against maps built directly: taken out, moved and kept, byte for byte.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::collections::BTreeMap;

use common::{OwnedFrame, belief_bits, frame, mapper};
use e2bki::submaps::{Part, Placement, Submap, SubmapRule, Trust, moved_states};
use e2bki::{Config, Error, Mapper, Pose, PrimitiveState};
use proptest::prelude::*;

fn config() -> Config {
    Config::default().with(|c| {
        c.refinement.prune = false;
        c.run.threads = 1;
    })
}

/// Cube and class of a state: what tells the primitives of a sum apart.
fn key(state: &PrimitiveState) -> ([i64; 3], usize) {
    let best = state.log_evidence.iter().copied().max().unwrap();
    let label = state.log_evidence.iter().position(|v| *v == best).unwrap();
    (state.sums.mean().map(|v| (v / config().clustering.cell_size).floor() as i64), label)
}

/// The same map with its primitives numbered by cube and class, so that only what it holds is compared.
fn canonical(map: &Mapper) -> Mapper {
    let mut states: Vec<PrimitiveState> = map.states().collect();
    states.sort_by_key(key);
    assert!(states.windows(2).all(|pair| key(&pair[0]) != key(&pair[1])), "two primitives of one cube and class");
    states.iter_mut().zip(0..).for_each(|(state, id)| state.id = id);
    let next_id = states.len() as u64;
    Mapper::restore(map.classes().clone(), map.config().clone(), map.frames(), next_id, states).unwrap()
}

/// States, live voxels and beliefs, bit for bit.
fn assert_same(a: &Mapper, b: &Mapper) {
    let (a, b) = (canonical(a), canonical(b));
    assert_eq!(a.frames(), b.frames());
    assert_eq!(a.len(), b.len());
    for (a, b) in a.states().zip(b.states()) {
        assert_eq!(a, b);
    }
    let voxels = |map: &Mapper| -> Vec<_> {
        map.live_voxels().map(|v| (v.center.map(f64::to_bits), belief_bits(&v.belief))).collect()
    };
    assert_eq!(voxels(&a), voxels(&b));
    let places: Vec<[f64; 3]> = a.states().step_by(7).map(|state| state.sums.mean()).collect();
    assert_eq!(a.query(&places), b.query(&places));
}

/// A submap's frames, and where it was moved to.
struct Stretch {
    id: u32,
    frames: Vec<OwnedFrame>,
    pose: Option<Pose>,
}

/// The map of some stretches, built directly: what each adds is mapped alone, moved primitive by primitive, and summed.
fn directly(stretches: &[Stretch]) -> Mapper {
    let mut all: BTreeMap<([i64; 3], usize), PrimitiveState> = BTreeMap::new();
    let mut count = 0;
    for stretch in stretches {
        let mut alone = mapper(&config());
        for frame in &stretch.frames {
            alone.insert(&frame.borrow()).unwrap();
            count += 1;
        }
        let anchor = stretch.frames[0].world_from_sensor;
        let motion = stretch.pose.filter(|pose| *pose != anchor).map(|pose| pose.after(&anchor.inverse()).unwrap());
        let moved = |state: PrimitiveState| match &motion {
            Some(motion) => moved_states(&state, motion, &config()),
            None => vec![state],
        };
        for state in alone.states().flat_map(moved) {
            match all.entry(key(&state)) {
                std::collections::btree_map::Entry::Vacant(free) => {
                    free.insert(state);
                }
                std::collections::btree_map::Entry::Occupied(mut known) => {
                    let known = known.get_mut();
                    known.sums.add(&state.sums);
                    known.log_evidence.iter_mut().zip(&state.log_evidence).for_each(|(a, b)| *a += b);
                }
            }
        }
    }
    let mut states: Vec<PrimitiveState> = all.into_values().collect();
    states.iter_mut().zip(0..).for_each(|(state, id)| state.id = id);
    let empty = mapper(&config());
    let next = states.len() as u64;
    Mapper::restore(empty.classes().clone(), config(), count, next, states).unwrap()
}

/// The map after its states and submaps were kept elsewhere.
fn kept_and_restored(map: &Mapper) -> Mapper {
    let submaps = map.submaps().unwrap();
    let copy = |submap: &Submap| {
        let states: Vec<PrimitiveState> = submap.part().states().collect();
        let part =
            Part::of_states(common::CLASSES, config().clustering.cell_size, &states, &submap.part().frame_sums())
                .unwrap();
        let bits = |pose: Pose| Pose::restored(pose.rotation(), pose.translation()).unwrap();
        Submap::restored(
            (submap.id(), submap.source().into()),
            (submap.frames().to_vec(), submap.frame_count()),
            (bits(submap.anchor()), Placement { pose: bits(submap.pose()), ..submap.placement().clone() }),
            submap.trust(),
            part,
        )
    };
    let (copies, next_id) = (submaps.iter().map(copy).collect(), submaps.next_id());
    let mut again =
        Mapper::restore(map.classes().clone(), config(), map.frames(), map.next_id(), map.states().collect()).unwrap();
    again.restore_submaps(copies, next_id).unwrap();
    again.keep_submaps(SubmapRule::Called, "drive").unwrap();
    again
}

fn pose(angle: f64, shift: [f64; 3]) -> Pose {
    let (s, c) = angle.sin_cos();
    Pose::new([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], shift).unwrap()
}

#[derive(Debug, Clone)]
enum Step {
    Insert { seed: u64, x: f64 },
    Begin,
    TakeOut(prop::sample::Index),
    Correct(Vec<(prop::sample::Index, f64, [f64; 3])>),
    Back(prop::sample::Index),
    Keep,
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    let moved = (index(), -0.4..0.4_f64, prop::array::uniform3(-2.0..2.0_f64));
    prop_oneof![
        6 => (any::<u64>(), 0.0..4.0_f64).prop_map(|(seed, x)| Step::Insert { seed, x }),
        3 => Just(Step::Begin),
        2 => index().prop_map(Step::TakeOut),
        3 => prop::collection::vec(moved, 1..4).prop_map(Step::Correct),
        1 => index().prop_map(Step::Back),
        1 => Just(Step::Keep),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: common::cases(250), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_sequence_gives_the_map_built_directly(steps in prop::collection::vec(step(), 1..14)) {
        let mut map = mapper(&config());
        map.keep_submaps(SubmapRule::Called, "drive").unwrap();
        let mut stretches: Vec<Stretch> = Vec::new();
        let (mut next_id, mut begin) = (0, true);
        for step in steps {
            match step {
                Step::Insert { seed, x } => {
                    let frame = frame(seed, x, 40);
                    map.insert(&frame.borrow()).unwrap();
                    if begin {
                        stretches.push(Stretch { id: next_id, frames: Vec::new(), pose: None });
                        next_id += 1;
                    }
                    begin = false;
                    stretches.last_mut().unwrap().frames.push(frame);
                }
                Step::Begin => {
                    map.begin_submap().unwrap();
                    begin = true;
                }
                Step::TakeOut(index) if !stretches.is_empty() => {
                    let gone = stretches.remove(index.index(stretches.len()));
                    map.remove_submaps(&[gone.id]).unwrap();
                    begin = true;
                }
                Step::Correct(news) if !stretches.is_empty() => {
                    let mut poses = BTreeMap::new();
                    for (index, angle, shift) in news {
                        let at = index.index(stretches.len());
                        let pose = pose(angle, shift);
                        stretches[at].pose = Some(pose);
                        poses.insert(stretches[at].id, pose);
                    }
                    map.correct(&poses).unwrap();
                    begin = true;
                }
                Step::Back(index) if !stretches.is_empty() => {
                    let at = index.index(stretches.len());
                    stretches[at].pose = None;
                    map.correct(&[(stretches[at].id, stretches[at].frames[0].world_from_sensor)].into()).unwrap();
                    begin = true;
                }
                Step::Keep => {
                    map = kept_and_restored(&map);
                    begin = true;
                }
                _ => {}
            }
        }
        prop_assert_eq!(map.submaps().unwrap().len(), stretches.len());
        assert_same(&map, &directly(&stretches));
    }
}

/// Ten runs of three frames each.
fn ten_runs() -> (Mapper, Vec<Vec<OwnedFrame>>) {
    let runs: Vec<Vec<OwnedFrame>> =
        (0..10).map(|run| (0..3).map(|i| frame(run * 31 + i + 1, 0.7 * run as f64, 300)).collect()).collect();
    let mut map = mapper(&config());
    for (number, run) in runs.iter().enumerate() {
        map.keep_submaps(SubmapRule::Called, &format!("robot-{}", number % 2)).unwrap();
        for frame in run {
            map.insert(&frame.borrow()).unwrap();
        }
    }
    (map, runs)
}

#[test]
fn three_of_ten_runs_taken_out_leave_the_map_of_the_other_seven() {
    let (mut map, runs) = ten_runs();
    let done = map.remove_submaps(&[7, 2, 4]).unwrap();
    assert_eq!(done.submaps, 3);
    assert!(done.removed > 0 && done.altered > 0 && done.made == 0);
    let mut seven = mapper(&config());
    for run in runs.iter().enumerate().filter(|(i, _)| ![2, 4, 7].contains(i)).map(|(_, run)| run) {
        run.iter().for_each(|frame| drop(seven.insert(&frame.borrow()).unwrap()));
    }
    assert_same(&map, &seven);
    // Everything out is an empty map.
    let rest: Vec<u32> = map.submaps().unwrap().iter().map(Submap::id).collect();
    map.remove_submaps(&rest).unwrap();
    assert!(map.is_empty() && map.frames() == 0 && map.live_voxel_count() == 0);
}

#[test]
fn no_correction_changes_nothing_and_a_thousand_leave_no_trace() {
    let (mut map, _) = ten_runs();
    let before = map.clone();
    let there: BTreeMap<u32, Pose> = map.submaps().unwrap().iter().map(|submap| (submap.id(), submap.pose())).collect();
    assert_eq!(map.correct(&there).unwrap(), Default::default());
    assert!(map.states().eq(before.states()));
    // As poses come back from text: the same but for the last digits.
    let nearly = there.iter().map(|(id, pose)| {
        let shift = pose.translation().map(|v| v + 1e-9);
        (*id, Pose::new(pose.rotation(), shift).unwrap())
    });
    map.correct(&nearly.collect()).unwrap();
    assert!(map.states().eq(before.states()));
    for i in 0..50 {
        map.correct(&[(i % 10, pose(0.01 * f64::from(i), [f64::from(i), 0.5, 0.1]))].into()).unwrap();
    }
    map.correct(&there).unwrap();
    assert_same(&map, &before);
}

#[test]
fn trust_scales_evidence_and_can_be_taken_back() {
    let (mut map, _) = ten_runs();
    let before = map.clone();
    let ids = map.submaps().unwrap().of_source("robot-1").unwrap();
    assert_eq!(ids, [1, 3, 5, 7, 9]);
    map.trust_submaps(&ids, Trust::new(0.5).unwrap()).unwrap();
    let total = |map: &Mapper| map.primitives().flat_map(|primitive| primitive.log_evidence()).sum::<f64>();
    let weight = |map: &Mapper| map.states().map(|state| state.sums.weight).sum::<f64>();
    let part = |id: u32| {
        before
            .submaps()
            .unwrap()
            .get(id)
            .unwrap()
            .part()
            .states()
            .flat_map(|s| s.log_evidence)
            .map(|v| v as f64 / 4_294_967_296.0)
            .sum::<f64>()
    };
    let expected = total(&before) - 0.5 * ids.iter().map(|id| part(*id)).sum::<f64>();
    assert!((total(&map) - expected).abs() < 1e-5, "{} {expected}", total(&map));
    assert_eq!(weight(&map), weight(&before));
    let mut without = map.clone();
    without.remove_submaps(&ids).unwrap();
    let mut never = before.clone();
    never.remove_submaps(&ids).unwrap();
    assert_same(&without, &never);
    map.trust_submaps(&ids, Trust::FULL).unwrap();
    assert_same(&map, &before);
}

#[test]
fn corrected_frames_move_their_submaps() {
    let mut map = mapper(&config());
    map.keep_submaps(SubmapRule::Metres(2.0), "drive").unwrap();
    let frames = common::drive(5, 200);
    for (number, frame) in frames.iter().enumerate() {
        map.name_next_frame(100 + number as u64, Some(0.1 * number as f64));
        map.insert(&frame.borrow()).unwrap();
    }
    let numbers = |map: &Mapper| -> Vec<Vec<u64>> {
        let numbers = |submap: &Submap| submap.frames().iter().map(|frame| frame.number).collect();
        map.submaps().unwrap().iter().map(numbers).collect()
    };
    assert_eq!(numbers(&map), [vec![100, 101], vec![102, 103], vec![104]]);
    let shift = Pose::from_translation([0.0, 0.25, 0.0]).unwrap();
    let given = |numbers: &[u64]| -> BTreeMap<u64, Pose> {
        let corrected = |n: &u64| (*n, shift.after(&frames[*n as usize - 100].world_from_sensor).unwrap());
        numbers.iter().map(corrected).collect()
    };
    let before = map.clone();
    let missing = map.correct_frames(None, &given(&[100, 104])).unwrap_err().to_string();
    assert!(missing.contains("submap 1") && missing.contains("102 to 103"), "{missing}");
    assert!(map.states().eq(before.states()));
    map.correct_frames(None, &given(&[100, 101, 103, 104])).unwrap();
    for submap in map.submaps().unwrap().iter() {
        let (a, b) = (submap.pose().translation(), submap.anchor().translation());
        assert!((a[1] - b[1] - 0.25).abs() < 1e-12 && (a[0] - b[0]).abs() < 1e-12);
    }
    let y = |map: &Mapper| {
        let (sum, weight) =
            map.states().fold((0.0, 0.0), |(sum, w), s| (sum + s.sums.mean()[1] * s.sums.weight, w + s.sums.weight));
        sum / weight
    };
    assert!((y(&map) - y(&before) - 0.25).abs() < 1e-5, "{} {}", y(&map), y(&before));
}

#[test]
fn corrected_frames_mend_the_drift_within_a_submap() {
    // Frames that see nothing in common, each 4 cm farther to the left than the one before it was believed to be.
    let frames: Vec<_> = (0..6).map(|k| frame(k, 200.0 * k as f64, 150)).collect();
    let drifted = |k: usize| {
        let drift = Pose::from_translation([0.0, 0.04 * k as f64, 0.0]).unwrap();
        drift.after(&frames[k].world_from_sensor).unwrap()
    };
    let true_poses: BTreeMap<u64, Pose> = (0..6).zip(frames.iter().map(|frame| frame.world_from_sensor)).collect();
    let mut map = mapper(&config());
    map.keep_submaps(SubmapRule::Called, "drive").unwrap();
    for (k, frame) in frames.iter().enumerate() {
        map.insert(&e2bki::Frame { world_from_sensor: drifted(k), ..frame.borrow() }).unwrap();
    }
    let before = map.clone();
    // Mean across the road of what every frame saw.
    let seen = |map: &Mapper| -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); 6];
        for state in map.states() {
            let frame = (state.sums.mean()[0] / 200.0).round() as usize;
            sums[frame].0 += state.sums.mean()[1] * state.sums.weight;
            sums[frame].1 += state.sums.weight;
        }
        sums.into_iter().map(|(sum, weight)| sum / weight).collect()
    };
    let ideal: Vec<f64> = seen(&map).into_iter().enumerate().map(|(k, y)| y - 0.04 * k as f64).collect();
    let off = |map: &Mapper| seen(map).iter().zip(&ideal).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!((off(&map) - 0.2).abs() < 1e-4, "{}", off(&map));
    map.correct_frames(None, &true_poses).unwrap();
    assert!(off(&map) < 1e-4, "{}", off(&map));
    // Key frames are enough: what was seen between them moves by what lies between their motions.
    let keys =
        true_poses.iter().filter(|(number, _)| [0, 2, 5].contains(*number)).map(|(n, pose)| (*n, *pose)).collect();
    let mut by_keys = before.clone();
    by_keys.correct_frames(None, &keys).unwrap();
    assert!(off(&by_keys) < 1e-4, "{}", off(&by_keys));
    // As one piece it would be off by half of the drift.
    let mut rigid = before.clone();
    let middle = frames[3].world_from_sensor.after(&drifted(3).inverse()).unwrap();
    rigid.correct(&[(0, middle.after(&drifted(0)).unwrap())].into()).unwrap();
    assert!(off(&rigid) > 0.1, "{}", off(&rigid));
    // What was kept and restored is where it was, and going back gives the old bytes.
    assert!(kept_and_restored(&map).states().eq(map.states()));
    for map in [&mut map, &mut by_keys] {
        map.correct_frames(None, &(0..6).map(|k| (k, drifted(k as usize))).collect()).unwrap();
        assert!(map.states().eq(before.states()));
    }
}

#[test]
fn what_cannot_be_done_is_refused_and_nothing_changes() {
    let mut plain = mapper(&config());
    plain.insert(&frame(1, 0.0, 100).borrow()).unwrap();
    assert!(plain.remove_submaps(&[0]).unwrap_err().to_string().contains("--submaps"));
    assert!(plain.correct(&BTreeMap::new()).is_err() && plain.begin_submap().is_err());
    let mut pruned = mapper(&config().with(|c| c.refinement.prune = true));
    let reason = pruned.keep_submaps(SubmapRule::Called, "a").unwrap_err().to_string();
    assert!(reason.contains("refinement.prune"), "{reason}");
    assert!(mapper(&config()).keep_submaps(SubmapRule::Metres(f64::NAN), "a").is_err());
    assert!(mapper(&config()).keep_submaps(SubmapRule::Frames(0), "a").is_err());

    let (mut map, _) = ten_runs();
    let before = map.clone();
    assert!(matches!(map.remove_submaps(&[3, 10]), Err(Error::Submap { id: 10, .. })));
    let far = Pose::from_translation([1.9e7, 1.9e7, 1.999_999_9e7]).unwrap();
    assert!(matches!(map.correct(&[(99, far)].into()), Err(Error::Submap { id: 99, .. })));
    assert!(matches!(map.correct(&[(1, far)].into()), Err(Error::Submap { id: 1, .. })));
    assert!(map.submaps().unwrap().of_source("robot-7").unwrap_err().to_string().contains("robot-0, robot-1"));
    assert_same(&map, &before);
    // Primitives that went another way: what is left is not the sum, and that is said.
    map.take_inside([-100.0, -100.0, -100.0], [4.0, 100.0, 100.0]);
    let some = map.clone();
    assert!(map.remove_submaps(&[1]).unwrap_err().to_string().contains("another way"));
    assert!(map.states().eq(some.states()) && map.submaps().unwrap().len() == 10);
}

#[test]
fn a_map_that_was_there_before_is_a_submap_and_so_is_one_that_is_merged() {
    let frames = common::drive(4, 200);
    let mut map = mapper(&config());
    map.insert(&frames[0].borrow()).unwrap();
    map.keep_submaps(SubmapRule::Frames(1), "second").unwrap();
    map.insert(&frames[1].borrow()).unwrap();
    map.insert(&frames[2].borrow()).unwrap();
    let mut other = mapper(&config());
    other.insert(&frames[3].borrow()).unwrap();
    map.merge(&other).unwrap();
    assert_eq!(map.submaps().unwrap().len(), 4);
    map.remove_submaps(&[0, 2]).unwrap();
    let mut direct = mapper(&config());
    direct.insert(&frames[1].borrow()).unwrap();
    direct.insert(&frames[3].borrow()).unwrap();
    assert_same(&map, &direct);
}

/// What submaps added, summed by another way: every stretch mapped alone.
#[test]
fn what_a_submap_added_is_the_map_of_its_frames_alone() {
    let frames: Vec<OwnedFrame> = (0..12).map(|k| frame(k + 3, 0.4 * (k % 5) as f64, 120)).collect();
    let mut map = mapper(&config());
    map.keep_submaps(SubmapRule::Frames(3), "drive").unwrap();
    for (number, frame) in frames.iter().enumerate() {
        if number == 7 {
            // Half of the map goes away while a submap grows, as with a memory budget, and comes back.
            let gone = map.take_inside([-100.0, -100.0, -100.0], [3.0, 100.0, 100.0]);
            assert!(gone.len() > 10);
            map.insert(&frame.borrow()).unwrap();
            let mut fresh = map.take_inside([-100.0, -100.0, -100.0], [3.0, 100.0, 100.0]);
            // Where both have something, the sum: as the tiles of a folder have it.
            let mut all: BTreeMap<_, PrimitiveState> = BTreeMap::new();
            for state in gone.into_iter().chain(fresh.drain(..)) {
                all.entry(key(&state)).and_modify(|known| known.add(&state).unwrap()).or_insert(state);
            }
            map.put_back_anew(all.into_values().collect()).unwrap();
            continue;
        }
        map.insert(&frame.borrow()).unwrap();
        // Looking in between changes nothing.
        let so_far = map.submaps().unwrap().iter().map(|submap| submap.part().len()).max();
        assert!(so_far.unwrap() > 0 && map.byte_size().submaps > 0);
    }
    assert_eq!(map.submaps().unwrap().len(), 4);
    for (submap, frames) in map.submaps().unwrap().iter().zip(frames.chunks(3)) {
        let mut alone = mapper(&config());
        let mut seen: BTreeMap<([i64; 3], usize), u64> = BTreeMap::new();
        for (number, frame) in frames.iter().enumerate() {
            let mut one = mapper(&config());
            one.insert(&frame.borrow()).unwrap();
            one.states()
                .for_each(|state| *seen.entry(key(&state)).or_default() += number as u64 * state.sums.weight as u64);
            alone.insert(&frame.borrow()).unwrap();
        }
        let mut states: Vec<PrimitiveState> = alone.states().collect();
        states.sort_by_key(key);
        states.iter_mut().zip(0..).for_each(|(state, id)| state.id = id);
        assert_eq!(submap.part().states().collect::<Vec<_>>(), states);
        let sums: Vec<u64> = states.iter().map(|state| seen[&key(state)]).collect();
        assert_eq!(submap.part().frame_sums(), sums);
    }
    let mut rest = mapper(&config());
    frames[..3].iter().chain(&frames[9..]).for_each(|frame| drop(rest.insert(&frame.borrow()).unwrap()));
    map.remove_submaps(&[1, 2]).unwrap();
    assert_same(&map, &rest);
}

#[test]
fn submaps_moved_by_whole_cubes_and_right_angles_stay_whole() {
    let (mut map, _) = ten_runs();
    let before = map.clone();
    let quarter = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    let motions = [
        Pose::from_translation([500.0, -0.75, 0.25]).unwrap(),
        Pose::new(quarter, [-3.25, 1000.5, 0.0]).unwrap(),
        Pose::new([[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]], [0.0, 0.25, -2.0]).unwrap(),
    ];
    for motion in motions {
        let done = map.move_submaps(&motion).unwrap();
        assert_eq!(done.submaps, 10);
        // Means that lie on a face of their cube are in the cube behind it where the face was turned round.
        if motion.rotation() == Pose::IDENTITY.rotation() {
            assert_eq!(map.len(), before.len());
        }
        let mut direct: BTreeMap<([i64; 3], usize), PrimitiveState> = BTreeMap::new();
        for state in before.submaps().unwrap().iter().flat_map(|s| s.part().states().collect::<Vec<_>>()) {
            let moved = moved_states(&state, &motion, &config());
            assert_eq!((moved.len(), moved[0].sums.weight), (1, state.sums.weight));
            let entry = direct.entry(key(&moved[0]));
            entry.and_modify(|known| known.add(&moved[0]).unwrap()).or_insert(moved[0].clone());
        }
        let mut states: Vec<PrimitiveState> = map.states().collect();
        states.sort_by_key(key);
        assert_eq!(states.len(), direct.len());
        for (a, b) in states.iter().zip(direct.values()) {
            assert_eq!((a.sums, &a.log_evidence), (b.sums, &b.log_evidence));
        }
        map.move_submaps(&motion.inverse()).unwrap();
        assert!(map.states().eq(before.states()));
    }
    // Corrected by whole cubes as a user would say it: all frames of a turned drive.
    let shift = Pose::from_translation([0.0, 12.5, 0.0]).unwrap();
    let there = |submap: &Submap| (submap.id(), shift.after(&submap.pose()).unwrap());
    let poses: BTreeMap<u32, Pose> = map.submaps().unwrap().iter().map(there).collect();
    map.correct(&poses).unwrap();
    assert_eq!(map.len(), before.len());
    // By half a cube nothing is lost either.
    map.move_submaps(&Pose::from_translation([0.125, 0.125, 0.0]).unwrap()).unwrap();
    let points = |map: &Mapper| map.states().map(|state| state.sums.weight).sum::<f64>();
    assert_eq!(points(&map), points(&before));
}

#[test]
fn a_moved_map_keeps_the_corrections_within_its_submaps() {
    let frames: Vec<_> = (0..4).map(|k| frame(k, 50.0 * k as f64, 100)).collect();
    let mut map = mapper(&config());
    map.keep_submaps(SubmapRule::Called, "drive").unwrap();
    frames.iter().for_each(|frame| drop(map.insert(&frame.borrow()).unwrap()));
    let bent = |k: u64, motion: &Pose| {
        let drift = pose(0.01 * k as f64, [0.0, 0.1 * k as f64, 0.0]);
        motion.after(&drift.after(&frames[k as usize].world_from_sensor).unwrap()).unwrap()
    };
    let corrected = |motion: &Pose| -> BTreeMap<u64, Pose> { (0..4).map(|k| (k, bent(k, motion))).collect() };
    let motion = pose(0.8, [7.0, -3.0, 0.5]);
    let mut at_once = map.clone();
    at_once.correct_frames(None, &corrected(&motion)).unwrap();
    map.correct_frames(None, &corrected(&Pose::IDENTITY)).unwrap();
    map.move_submaps(&motion).unwrap();
    assert_same(&map, &at_once);
}

#[test]
fn submaps_of_other_classes_are_refused_and_nothing_changes() {
    let (mut map, _) = ten_runs();
    let before = map.clone();
    let names: Vec<String> = (0..common::CLASSES).map(|c| format!("other-{c}")).collect();
    for names in [names.clone(), names[1..].to_vec()] {
        let classes = e2bki::ClassSet::from_names(&names).unwrap();
        let mut other = Mapper::new(classes.clone(), config()).unwrap();
        other.keep_submaps(SubmapRule::Called, "other").unwrap();
        let reason = map.merge(&other).unwrap_err().to_string();
        assert!(reason.contains("classes differ") && reason.contains("other-1"), "{reason}");
        assert_same(&map, &before);
        assert_eq!(map.submaps().unwrap().len(), 10);
    }
    // Parts of fewer classes, as from another map's files.
    let part = |classes: usize| Part::of_states(classes, 0.25, &[], &[]).unwrap();
    let at = (Pose::IDENTITY, Placement::rigid(Pose::IDENTITY));
    let submap = Submap::restored((3, "x".into()), (Vec::new(), 1), at, Trust::FULL, part(common::CLASSES - 1));
    let reason = map.restore_submaps(vec![submap], 4).unwrap_err();
    assert!(matches!(&reason, Error::Submap { id: 3, what } if what.contains("classes")), "{reason}");
    assert_eq!(map.submaps().unwrap().len(), 10);
    assert_same(&map, &before);
    map.remove_submaps(&[9]).unwrap();
}
