//! Sums: any order, any grouping, and back.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::scans::{patches, small_sensor, some_pose};
use crate::free::{Counters, Settings, Sight, Tally};
use crate::pose::{Pose, WORLD_LIMIT_M};

fn frames(count: u64) -> Vec<Sight> {
    let sensor = small_sensor();
    let settings = Settings { max_range_m: 9.0, ..Settings::default() };
    let base = some_pose(1);
    (0..count)
        .map(|i| {
            let step = Pose::from_translation([0.3 * i as f64, 0.1, 0.0]).unwrap();
            let pose = step.after(&base).unwrap();
            let sight = Sight::new(&sensor, &patches(&sensor, i, 0.1), None, &pose, &settings).unwrap();
            // Some without a time, others together in a second.
            if i % 4 == 3 { sight } else { sight.at_time(time_of(i)) }
        })
        .collect()
}

fn time_of(frame: u64) -> f64 {
    1_700_000_000.3 + (frame / 2) as f64
}

fn sum<'a>(frames: impl IntoIterator<Item = &'a Sight>) -> Counters {
    let mut counters = Counters::default();
    for frame in frames {
        counters.add(frame).unwrap();
    }
    counters
}

#[test]
fn even_and_odd_frames_are_the_whole_and_come_apart_again() {
    let frames = frames(12);
    let whole = sum(&frames);
    let (even, odd) = (sum(frames.iter().step_by(2)), sum(frames.iter().skip(1).step_by(2)));
    let mut merged = even.clone();
    merged.merge(&odd).unwrap();
    assert_eq!(merged, whole);
    assert!(merged.cubes().eq(whole.cubes()));
    merged.remove(&even).unwrap();
    assert_eq!(merged, odd);
    merged.remove(&odd).unwrap();
    assert_eq!(merged, Counters::default());
    assert!(merged.is_empty() && merged.byte_size() < 200_000);
}

#[test]
fn counts_are_those_of_the_frames_one_by_one() {
    let frames = frames(5);
    let whole = sum(&frames);
    let alone: Vec<Counters> = frames.iter().map(|frame| sum([frame])).collect();
    let mut cubes = 0;
    for (cube, tally) in whole.cubes() {
        let parts = alone.iter().map(|one| one.of(cube));
        let total =
            parts.clone().fold(Tally::default(), |a, b| Tally { hits: a.hits + b.hits, passes: a.passes + b.passes });
        assert_eq!(tally, total);
        assert!(parts.into_iter().all(|one| one.hits <= 1 && one.passes <= 1), "a frame counts a place once");
        cubes += 1;
    }
    assert!(cubes > 1000);
}

#[test]
fn bytes_can_be_put_together_from_slabs_of_columns() {
    use crate::free::{CountersBytes, CountersHead};
    for frames in [frames(8), frames(3).into_iter().map(|frame| Sight { second: None, ..frame }).collect()] {
        let whole = sum(&frames);
        let columns: Vec<Vec<u8>> = whole.columns(|_| true).into_values().map(|column| column.to_bytes()).collect();
        let looked: Vec<_> = columns.iter().map(|bytes| CountersHead::of_bytes(bytes).unwrap()).collect();
        let mut slabs: Vec<_> = looked
            .iter()
            .enumerate()
            .flat_map(|(at, (_, slabs))| slabs.iter().map(move |slab| (slab.x, at, slab)))
            .collect();
        slabs.sort_by_key(|(x, at, _)| (*x, *at));
        assert!(columns.len() > 2 && slabs.len() > 4 * columns.len());
        let mut bytes = Vec::new();
        let head = CountersHead::of_parts(looked.iter().map(|(head, _)| *head), whole.frames());
        let mut made = CountersBytes::begin(head, &mut bytes);
        for (_, at, slab) in slabs {
            made.put(&Counters::of_slab(&columns[at][slab.bytes.clone()], slab).unwrap(), &mut bytes);
        }
        assert!(bytes == whole.to_bytes());
    }
}

#[test]
fn a_block_was_last_seen_by_the_latest_frame_that_saw_anything_of_it() {
    let frames = frames(8);
    let mut whole = sum(&frames);
    let expected = |frames: &[Sight], at: [i32; 3]| {
        let block = at.map(|v| v.div_euclid(8));
        let saw = |frame: &&Sight| frame.keys().contains(&block);
        let seconds = frames.iter().filter(saw).filter_map(|frame| frame.second);
        seconds.clone().min().zip(seconds.max())
    };
    let place = |cube: [i32; 3]| cube.map(|v| 0.25 * f64::from(v) + 0.1);
    let told = |counters: &Counters, cube| counters.seen(place(cube)).map(|seen| (seen.first, seen.last));
    let cubes: Vec<[i32; 3]> = whole.cubes().map(|(cube, _)| cube).step_by(29).collect();
    for cube in &cubes {
        assert_eq!(told(&whole, *cube), expected(&frames, *cube), "{cube:?}");
    }
    let span = whole.span().unwrap();
    assert_eq!((span.first, span.last), (1_700_000_000, 1_700_000_003));
    // Without its last frames, the map was last seen earlier.
    whole.remove(&sum(&frames[5..])).unwrap();
    for cube in &cubes {
        assert_eq!(told(&whole, *cube), expected(&frames[..5], *cube), "{cube:?}");
    }
    assert_eq!(whole.span().unwrap().last, 1_700_000_002);
    // Another second is another frame.
    let other = frames[0].clone().at_time(5.0);
    assert!(whole.subtract(&other).is_err());
    // By whole blocks a motion is exact in time, too; otherwise no time is invented.
    let moved = whole.moved(&Pose::from_translation([4.0, -2.0, 6.0]).unwrap()).unwrap();
    for cube in &cubes {
        assert_eq!(told(&moved, [cube[0] + 16, cube[1] - 8, cube[2] + 24]), told(&whole, *cube));
    }
    let (s, c) = 0.4_f64.sin_cos();
    let turn = Pose::new([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [0.3, 0.1, 0.0]).unwrap();
    assert_eq!(whole.moved(&turn).unwrap().span(), whole.span());
    // Without times nothing is kept of them.
    let untimed: Vec<Sight> = frames.into_iter().map(|frame| Sight { second: None, ..frame }).collect();
    let untimed = sum(&untimed);
    assert_eq!((untimed.span(), untimed.to_bytes()[0]), (None, 1));
}

#[test]
fn counters_are_kept_as_bytes_and_damage_is_refused() {
    let frames = frames(9);
    let whole = sum(&frames);
    let bytes = whole.to_bytes();
    assert_eq!(Counters::from_bytes(&bytes).unwrap(), whole);
    assert_eq!(sum(frames.iter().rev()).to_bytes(), bytes);
    assert_eq!(Counters::from_bytes(&Counters::default().to_bytes()).unwrap(), Counters::default());
    for len in (0..bytes.len()).step_by(1 + bytes.len() / 50) {
        assert!(Counters::from_bytes(&bytes[..len]).is_err());
    }
    assert!(Counters::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
    // Whatever is changed, it is refused or read as what it then says.
    for at in (0..bytes.len()).step_by(1 + bytes.len() / 400) {
        for flip in [1, 0x10, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            if let Ok(read) = Counters::from_bytes(&changed) {
                assert_eq!(read.to_bytes(), changed);
            }
        }
    }
}

#[test]
fn what_was_never_added_cannot_be_taken_out() {
    let frames = frames(4);
    let mut counters = sum(&frames[..2]);
    let before = counters.clone();
    let message = counters.subtract(&frames[3]).unwrap_err().to_string();
    assert!(message.contains("never added"), "{message}");
    assert!(counters.remove(&sum(&frames[1..3])).is_err());
    assert!(Counters::default().subtract(&Sight::default()).is_err());
    assert_eq!(counters, before);
}

#[test]
fn any_number_of_threads_counts_the_same() {
    let with = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| frames(3));
    assert_eq!(with(1), with(4));
}

#[test]
fn points_that_are_no_returns_change_nothing() {
    let (sensor, settings) = (small_sensor(), Settings::default());
    let good = patches(&sensor, 5, 0.2);
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let mut bad = vec![[nan, 1.0, 1.0], [0.0; 3], [inf, 0.0, 0.0], [1e30, 0.0, 0.0], [-inf, nan, inf], [0.1, 0.1, 0.1]];
    bad.extend(&good);
    let pose = some_pose(2);
    let expected = Sight::new(&sensor, &good, None, &pose, &settings).unwrap();
    assert_eq!(Sight::new(&sensor, &bad, None, &pose, &settings).unwrap(), expected);
    for cloud in [vec![], vec![[nan; 3]; 100], vec![[0.0; 3]; 100], vec![[3.0, 0.0, 0.0]], vec![[1e20, 1e20, 0.0]; 9]] {
        let sight = Sight::new(&sensor, &cloud, None, &pose, &settings).unwrap();
        assert!(sight.passed.is_empty() && sight.hits.len() <= 1);
        assert_eq!(Counters::default().at([f64::NAN, 0.0, f64::INFINITY]), Tally::default());
    }
    // A cloud straight above the sensor is not one of its scans.
    let above = vec![[0.01, 0.0, 5.0]; 1000];
    assert!(Sight::new(&sensor, &above, None, &pose, &settings).unwrap_err().to_string().contains("beyond"));
    let wrong = Settings { max_range_m: f64::NAN, ..settings };
    assert!(Sight::new(&sensor, &good, None, &pose, &wrong).is_err());
    assert!(Sight::new(&sensor, &good, Some(&[1, 2]), &pose, &settings).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn frames_in_any_order_and_grouping_are_the_same_counters(
        order in Just((0..6_usize).collect::<Vec<_>>()).prop_shuffle(), cut in 0..6_usize, out in 0..6_usize,
    ) {
        let frames = frames(6);
        let whole = sum(&frames);
        let (left, right) = order.split_at(cut);
        let mut merged = sum(right.iter().map(|i| &frames[*i]));
        merged.merge(&sum(left.iter().map(|i| &frames[*i]))).unwrap();
        prop_assert_eq!(&merged, &whole);
        merged.subtract(&frames[out]).unwrap();
        prop_assert_eq!(&merged, &sum(frames.iter().enumerate().filter(|(i, _)| *i != out).map(|(_, frame)| frame)));
        merged.add(&frames[out]).unwrap();
        prop_assert_eq!(&merged, &whole);
    }
}

/// Free or not for the hits of either weight, and whether something has left, with which goes what is below.
fn free(tally: Tally) -> [bool; 3] {
    let free = |kappa| tally.state(kappa) == crate::free::State::Free;
    [free(0.5), free(4.0), tally.has_left(0.5)]
}

#[test]
fn flips_are_where_states_change() {
    let weights = crate::free::flips::Weights::new(&[4.0, 0.5, 4.0]);
    let frames = frames(10);
    let mut counters = Counters::default();
    let metre = |cube: [i32; 3]| cube.map(|v| v.div_euclid(4));
    let differing = |a: &Counters, b: &Counters| -> BTreeSet<[i32; 3]> {
        let cubes: BTreeSet<[i32; 3]> = a.cubes().chain(b.cubes()).map(|(cube, _)| cube).collect();
        cubes.into_iter().filter(|cube| free(a.of(*cube)) != free(b.of(*cube))).map(metre).collect()
    };
    let mut all = 0;
    for frame in &frames {
        let before = counters.clone();
        let told: Vec<[i32; 3]> = counters.flips_of(frame, &weights);
        counters.add(frame).unwrap();
        let told: BTreeSet<[i32; 3]> = told.into_iter().collect();
        assert_eq!(told, differing(&before, &counters));
        all += told.len();
    }
    assert!(all > 100);
    let some = sum(&frames[2..5]);
    let before = counters.clone();
    let told: BTreeSet<[i32; 3]> = counters
        .replace((std::slice::from_ref(&some), some.frames()), (&[], 0), &weights)
        .unwrap()
        .into_iter()
        .collect();
    assert_eq!(told, differing(&before, &counters));
    let back: BTreeSet<[i32; 3]> = counters
        .replace((&[], 0), (std::slice::from_ref(&some), some.frames()), &weights)
        .unwrap()
        .into_iter()
        .collect();
    assert_eq!(back, told);
    assert_eq!(counters, before);
}

#[test]
fn moved_counters_lose_no_surface_and_invent_no_free_space() {
    let whole = sum(&frames(6));
    assert_eq!(whole.moved(&Pose::IDENTITY).unwrap(), whole);
    // A pose that was written down and read again is the same pose.
    let rounded = Pose::new([[1.0, -1e-15, 0.0], [1e-15, 1.0, 0.0], [0.0, 0.0, 1.0]], [1e-9, 0.0, -1e-9]).unwrap();
    assert_eq!(whole.moved(&rounded).unwrap(), whole);
    assert_ne!(whole.moved(&Pose::from_translation([0.01, 0.0, 0.0]).unwrap()).unwrap(), whole);
    // By whole cubes it is exact.
    let step = Pose::from_translation([0.75, -1.0, 2.25]).unwrap();
    let moved = whole.moved(&step).unwrap();
    let shifted = |cube: [i32; 3]| [cube[0] + 3, cube[1] - 4, cube[2] + 9];
    let there: BTreeMap<[i32; 3], (u32, u32)> =
        whole.cubes().map(|(cube, tally)| (shifted(cube), (tally.hits, tally.passes))).collect();
    assert_eq!(moved.cubes().map(|(cube, t)| (cube, (t.hits, t.passes))).collect::<BTreeMap<_, _>>(), there);
    let (s, c) = 0.3_f64.sin_cos();
    let motion = Pose::new([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [3.1, -0.4, 0.17]).unwrap();
    let moved = whole.moved(&motion).unwrap();
    assert_eq!(moved.frames(), whole.frames());
    assert_eq!(Counters::from_bytes(&moved.to_bytes()).unwrap(), moved);
    let back = motion.inverse();
    let corners = (0..27).map(|i| [i / 9, i / 3 % 3, i % 3].map(|v| 0.01 + 0.115 * f64::from(v)));
    for (cube, tally) in moved.cubes() {
        for corner in corners.clone() {
            let place: [f64; 3] = std::array::from_fn(|i| f64::from(cube[i]) * 0.25 + corner[i]);
            let was = whole.at(back.apply(place));
            assert!(tally.hits >= was.hits && tally.passes <= was.passes, "{cube:?}: {tally:?} of {was:?}");
        }
    }
    let free = |counters: &Counters| counters.cubes().filter(|(_, t)| free(*t)[1]).count() as f64;
    assert!(free(&moved) > 0.5 * free(&whole), "{} of {}", free(&moved), free(&whole));
    assert!(whole.moved(&Pose::from_translation([9.9e5, 0.0, 0.0]).unwrap()).is_err() || WORLD_LIMIT_M > 9.9e5);
}
