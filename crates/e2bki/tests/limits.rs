//! Exact without end: a robot that stands still for a week, and what happens where sums would no longer be exact.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod common;

use common::*;
use e2bki::submaps::SubmapRule;
use e2bki::{Config, Mapper, PrimitiveState};

/// Ten frames a second for a week.
const WEEK: i64 = 10 * 60 * 60 * 24 * 7;

/// What a primitive holds after as many equal frames, in whole numbers.
fn times(state: &PrimitiveState, count: i64) -> PrimitiveState {
    let mut many = state.clone();
    let sums = &mut many.sums;
    sums.weight *= count as f64;
    sums.range *= count as f64;
    sums.first = sums.first.map(|v| v * count as f64);
    sums.second = sums.second.map(|v| v.checked_mul(count).unwrap());
    many.log_evidence.iter_mut().for_each(|v| *v = v.checked_mul(count).unwrap());
    many
}

/// A map of as many equal frames.
fn parked(frame: &OwnedFrame, count: i64) -> Mapper {
    let mut once = mapper(&Config::default());
    once.insert(&frame.borrow()).unwrap();
    let states = once.states().map(|state| times(&state, count)).collect();
    Mapper::restore(classes(), Config::default(), count as u64, once.next_id(), states).unwrap()
}

#[test]
fn a_week_of_standing_still_is_summed_to_the_last_quantum() {
    let still = frame(3, 0.0, 4000);
    let moving: Vec<OwnedFrame> = (0..3).map(|i| frame(10 + i, 1.0 + i as f64, 1500)).collect();
    let week = parked(&still, WEEK);
    let most = week.states().flat_map(|state| state.log_evidence).max().unwrap();
    assert!(most > 1 << 53, "the test means sums beyond what f64 tells apart: {most}");
    // The week, then three more of its frames and three others: in any order, and by merging.
    let others = |map: &mut Mapper| moving.iter().for_each(|frame| drop(map.insert(&frame.borrow()).unwrap()));
    let again = |map: &mut Mapper| (0..3).for_each(|_| drop(map.insert(&still.borrow()).unwrap()));
    let (mut a, mut b, mut c) = (week.clone(), week.clone(), mapper(&Config::default()));
    again(&mut a);
    others(&mut a);
    others(&mut b);
    again(&mut b);
    others(&mut c);
    again(&mut c);
    c.merge(&week).unwrap();
    let mut d = parked(&still, WEEK + 3);
    others(&mut d);
    for map in [&b, &c, &d] {
        assert!(map.states().eq(a.states()));
        assert!(fingerprint(map) == fingerprint(&a));
    }
    let report = a.insert(&still.borrow()).unwrap();
    assert_eq!(report.saturated, 0);
}

#[test]
fn at_the_limit_a_cube_takes_no_more_and_says_so() {
    let still = frame(3, 0.0, 300);
    let mut once = mapper(&Config::default());
    once.insert(&still.borrow()).unwrap();
    // As many frames as the most crowded cube can take: the next one is refused there, and there only.
    let heaviest = once.states().map(|state| state.log_evidence.into_iter().max().unwrap()).max().unwrap();
    let full = (1_i64 << 62) / heaviest;
    let points = once.states().map(|state| state.sums.weight).fold(0.0, f64::max);
    let full = full.min(((1_u64 << 31) as f64 / points) as i64);
    let mut map = parked(&still, full);
    map.keep_submaps(SubmapRule::Called, "depot").unwrap();
    let before: Vec<PrimitiveState> = map.states().collect();
    let mut refused = 0;
    for _ in 0..3 {
        let report = map.insert(&still.borrow()).unwrap();
        assert!(report.saturated > 0 && report.saturated < before.len(), "{report:?}");
        refused = report.saturated;
    }
    let after: Vec<PrimitiveState> = map.states().collect();
    let unchanged = before.iter().zip(&after).filter(|(a, b)| a == b).count();
    assert_eq!(unchanged, refused);
    let added = before.iter().zip(&after).zip(once.states()).filter(|((_, b), one)| **b == times(one, full + 3));
    assert_eq!(added.count(), before.len() - refused);
    // What was refused is in no submap either: the frames come out again.
    map.remove_submaps(&[1]).unwrap();
    assert!(map.states().eq(before.iter().cloned()));
    // Maps that do not fit together are refused as a whole.
    let error = map.clone().merge(&map).unwrap_err().to_string();
    assert!(error.contains("summed exactly"), "{error}");
    let mut other = once.clone();
    assert!(other.merge(&map).unwrap_err().to_string().contains("summed exactly"));
    assert!(other.states().eq(once.states()) && other.frames() == 1);
    // A frame elsewhere is as ever.
    assert_eq!(map.insert(&frame(9, 300.0, 300).borrow()).unwrap().saturated, 0);
}

#[test]
fn a_frame_of_very_many_points_of_one_cube_is_exact() {
    // More than are summed in floating point at once, and in no order.
    let count = 100_000;
    let place =
        |i: usize| [4.0 + 0.2 * ((i * 37) % 1000) as f32 / 1000.0, 0.1, 0.05 + 0.1 * ((i * 7) % 13) as f32 / 13.0];
    let points: Vec<[f32; 3]> = (0..count).map(place).collect();
    let evidence: Vec<f32> =
        (0..count * CLASSES).map(|i| if i % CLASSES == 2 { 1e9 + i as f32 } else { 0.0 }).collect();
    let whole = OwnedFrame { points, evidence, world_from_sensor: e2bki::Pose::IDENTITY };
    let config = Config::default().with(|c| {
        c.input.context = 0.0;
        c.input.class_trust = 0.0;
        // Else what a frame's points are worth together depends on how many there are.
        c.fusion.correlated = e2bki::config::Correlated::Lifetime;
    });
    let mut at_once = mapper(&config);
    at_once.insert(&whole.borrow()).unwrap();
    let mut parts = mapper(&config);
    for part in 0..100 {
        let own = part * 1000..(part + 1) * 1000;
        let evidence = whole.evidence[own.start * CLASSES..own.end * CLASSES].to_vec();
        let part = OwnedFrame { points: whole.points[own].to_vec(), evidence, ..whole };
        parts.insert(&part.borrow()).unwrap();
    }
    assert!(
        at_once.states().eq(parts.states()) && at_once.states().map(|s| s.sums.weight).sum::<f64>() == count as f64
    );
}
