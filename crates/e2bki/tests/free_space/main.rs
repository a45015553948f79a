//! Free space in a map: someone walks around inside a round wall, and leaves nothing behind.

mod whole_scan;

use e2bki::free::{Counters, Forgetting, State};
use e2bki::submaps::SubmapRule;
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Result, Semantics};

const WALL_M: f64 = 12.0;
/// Height of the ground: not on the border of two cubes.
const GROUND_M: f64 = -0.1;
const GROUND: u32 = 0;
const WALL: u32 = 1;
const PERSON: u32 = 2;

fn config(enabled: bool) -> Result<Config> {
    Config::from_toml(&format!("[free_space]\nenabled = {enabled}\nsensor = \"os1-64\"\n[run]\nthreads = 2"))
}

fn new_map(enabled: bool) -> Result<Mapper> {
    Mapper::new(ClassSet::from_names(["ground", "wall", "person"])?, config(enabled)?)
}

/// Where the person stands in a frame, and the sensor.
fn person(frame: usize) -> [f64; 2] {
    [6.0, -4.0 + 1.0 * frame as f64]
}

fn sensor(frame: usize) -> [f64; 3] {
    [0.0, -0.2 * frame as f64, 1.5]
}

/// What 64 beams over 33.2° see: ground, wall, and a person of 0.6 m.
fn scan(frame: usize) -> (Vec<[f32; 3]>, Vec<u32>) {
    let at = sensor(frame);
    let [px, py] = person(frame);
    let (mut points, mut labels) = (Vec::new(), Vec::new());
    for beam in 0..64 {
        let elevation = (16.6 - 33.2 * f64::from(beam) / 63.0_f64).to_radians();
        for column in 0..1024 {
            let azimuth = std::f64::consts::TAU * f64::from(column) / 1024.0;
            let direction = [azimuth.cos() * elevation.cos(), azimuth.sin() * elevation.cos(), elevation.sin()];
            // Distance along the beam at which it enters an upright cylinder from inside, or from outside.
            let hit = |center: [f64; 2], radius: f64, inside: bool| {
                let from = [at[0] - center[0], at[1] - center[1]];
                let a = direction[0] * direction[0] + direction[1] * direction[1];
                let b = from[0] * direction[0] + from[1] * direction[1];
                let c = from[0] * from[0] + from[1] * from[1] - radius * radius;
                let root = (b * b - a * c).sqrt();
                (-b + if inside { root } else { -root }) / a
            };
            let ground = if direction[2] < 0.0 { (at[2] - GROUND_M) / -direction[2] } else { f64::INFINITY };
            let mut nearest = (hit([0.0, 0.0], WALL_M, true), WALL);
            let walker = hit([px, py], 0.3, false);
            let height = at[2] + walker * direction[2];
            for (range, label) in [(ground, GROUND), (walker, PERSON)] {
                let there = label != PERSON || (range.is_finite() && range > 0.0 && height < 1.8);
                if there && range < nearest.0 {
                    nearest = (range, label);
                }
            }
            points.push(direction.map(|v| (v * nearest.0) as f32));
            labels.push(nearest.1);
        }
    }
    (points, labels)
}

fn insert(map: &mut Mapper, frames: impl IntoIterator<Item = usize>) -> Result<usize> {
    let mut moving = 0;
    for frame in frames {
        let (points, labels) = scan(frame);
        let world_from_sensor = Pose::from_translation(sensor(frame))?;
        let flags = map.moving(&points, &world_from_sensor);
        let wrong = flags.iter().zip(&labels).filter(|(moves, label)| **moves && **label != PERSON).count();
        assert!(wrong * 1000 < points.len(), "{wrong} of {} points move that do not", points.len());
        let report = map.insert(&Frame {
            points: &points,
            semantics: Semantics::Labels(&labels),
            world_from_sensor,
            scan: None,
        })?;
        if let Some(free) = report.free_space {
            assert!(free.counted && free.off.is_none());
            assert_eq!(free.moving, flags.iter().filter(|moves| **moves).count());
            moving += free.moving;
        }
    }
    Ok(moving)
}

/// The person's chest in a frame, on the side of the sensor.
fn chest(frame: usize) -> [f64; 3] {
    let [x, y] = person(frame);
    let length = x.hypot(y);
    [x - 0.25 * x / length, y - 0.25 * y / length, 1.2]
}

#[test]
fn who_walked_by_leaves_no_ghost_and_walls_stay() -> Result<()> {
    let (mut with, mut without) = (new_map(true)?, new_map(false)?);
    assert!(insert(&mut with, 0..9)? > 100, "points in free space are moving");
    insert(&mut without, 0..9)?;
    assert!(without.free_space().is_none());
    let gone: Vec<[f64; 3]> = (0..8).map(chest).collect();
    let ghosts = without.query(&gone);
    assert!(ghosts.iter().all(|belief| belief.label() == Some(PERSON as usize)), "without free space all are there");
    assert!((0..8).all(|i| ghosts.state(i) == State::Unknown && ghosts.existence(i).is_none()));
    let left = with.query(&gone);
    for i in 0..8 {
        assert_eq!((left.get(i).label(), left.state(i)), (None, State::Free), "place {i}: {:?}", left.tally(i));
        assert!(left.existence(i).unwrap() <= 0.5);
    }
    let there =
        with.query(&[[-WALL_M, 0.05, 1.2], [-7.0, 1.0, GROUND_M], [2.0, 2.0, 1.0], [14.0, 0.0, 1.2], [f64::NAN; 3]]);
    assert_eq!(there.get(0).label(), Some(WALL as usize));
    assert_eq!(there.get(1).label(), Some(GROUND as usize));
    let states: Vec<State> = (0..5).map(|i| there.state(i)).collect();
    assert_eq!(states, [State::Occupied, State::Occupied, State::Free, State::Unknown, State::Unknown]);
    // Voxels, live voxels and the view from above agree.
    let of_person = |label: Option<usize>| label == Some(PERSON as usize);
    let count = |map: &Mapper| -> Result<[usize; 3]> {
        Ok([
            map.voxels(0.2)?.beliefs.iter().filter(|b| of_person(b.label())).count(),
            map.live_voxels().filter(|voxel| of_person(voxel.belief.label())).count(),
            map.bev(0.2)?.beliefs.iter().filter(|b| of_person(b.label())).count(),
        ])
    };
    let (few, many) = (count(&with)?, count(&without)?);
    for i in 0..3 {
        assert!(few[i] * 3 < many[i], "{few:?} of {many:?}");
    }
    // The primitives themselves stay: nothing is erased.
    assert!(with.states().eq(without.states()));
    Ok(())
}

#[test]
fn halves_of_a_drive_merge_to_the_whole() -> Result<()> {
    let [mut whole, mut even, mut odd, mut back] = [new_map(true)?, new_map(true)?, new_map(true)?, new_map(true)?];
    insert(&mut whole, 0..6)?;
    insert(&mut back, (0..6).rev())?;
    insert(&mut even, (0..6).step_by(2))?;
    insert(&mut odd, (1..6).step_by(2))?;
    even.merge(&odd)?;
    let counters = |map: &Mapper| map.free_space().cloned().unwrap();
    assert_eq!(counters(&even), counters(&whole));
    assert_eq!(counters(&back), counters(&whole));
    let mut rest = counters(&even);
    rest.remove(&counters(&odd))?;
    let mut alone = new_map(true)?;
    insert(&mut alone, (0..6).step_by(2))?;
    assert_eq!(rest, counters(&alone));
    assert_eq!(Counters::from_bytes(&rest.to_bytes())?, rest);
    Ok(())
}

#[test]
fn a_frame_that_is_no_scan_is_mapped_without_free_space() -> Result<()> {
    let config = Config::from_toml("free_space = true")?;
    let mut map = Mapper::new(ClassSet::from_names(["a", "b"])?, config)?;
    let points: Vec<[f32; 3]> = (0..900).map(|i| [0.1 * (i % 30) as f32, 0.1 * (i / 30) as f32, -1.0]).collect();
    let labels = vec![1; 900];
    let report = map.insert(&Frame {
        points: &points,
        semantics: Semantics::Labels(&labels),
        world_from_sensor: Pose::IDENTITY,
        scan: None,
    })?;
    let free = report.free_space.unwrap();
    assert!(!free.counted && free.off.unwrap().contains("sensor"));
    assert_eq!(map.query(&[[1.5, 1.5, -1.0]]).get(0).label(), Some(1));
    let tally = map.query(&[[1.5, 1.5, -1.0]]).tally(0);
    assert_eq!((tally.hits, tally.passes), (1, 0), "what came back counts all the same");
    Ok(())
}

/// Every voxel of the live view, by its place.
fn voxels(map: &Mapper) -> std::collections::BTreeMap<[u64; 3], e2bki::Belief> {
    map.live_voxels().map(|voxel| (voxel.center.map(f64::to_bits), voxel.belief)).collect()
}

#[test]
fn live_voxels_are_what_a_query_answers_and_changes_are_announced() -> Result<()> {
    let mut map = new_map(true)?;
    let mut before = voxels(&map);
    let mut gone = 0;
    for frame in 0..6 {
        let number = map.change_number();
        insert(&mut map, [frame])?;
        let after = voxels(&map);
        let places: Vec<[f64; 3]> = after.keys().map(|place| place.map(f64::from_bits)).collect();
        let asked = map.query(&places);
        for ((place, live), asked) in places.iter().zip(after.values()).zip(asked.iter()) {
            assert_eq!((live.label(), live.evidence()), (asked.label(), asked.evidence()), "at {place:?}");
        }
        let all = map.voxels(map.config().views.resolution)?;
        assert_eq!(all.centers.len(), after.len());
        let told: std::collections::BTreeSet<[i32; 3]> = map.changes_since(number).view_blocks().into_iter().collect();
        let metre = |place: &[u64; 3]| place.map(|v| f64::from_bits(v).floor() as i32);
        for place in before.keys().chain(after.keys()).filter(|place| before.get(*place) != after.get(*place)) {
            assert!(told.contains(&metre(place)), "a change at {:?} was not told", place.map(f64::from_bits));
        }
        gone += before.keys().filter(|place| !after.contains_key(*place)).count();
        before = after;
    }
    assert!(gone > 50, "{gone} voxels went");
    // A primitive is gone where its cube is free.
    let free = map.primitives().filter(|p| map.existence_of(p).is_some_and(|(state, ..)| state == State::Free));
    assert!(free.map(|p| p.id()).eq(map.primitives().filter(|p| p.is_gone()).map(|p| p.id())));
    Ok(())
}

/// The primitives that are gone, by what is known of all cubes, and how many of them go with the cube above.
fn gone_by_rule(map: &Mapper, counters: &Counters) -> (Vec<u64>, usize) {
    let free = |cube: [i32; 3], kappa: f64| {
        let tally = counters.of(cube);
        tally.passes >= 1 && f64::from(tally.passes) >= kappa * f64::from(tally.hits)
    };
    let cube = |mean: [f64; 3]| mean.map(|v| (v * 4.0).floor() as i32);
    let all: Vec<([i32; 3], bool, u64)> =
        map.primitives().map(|p| (cube(p.mean()), p.label() == PERSON as usize, p.id())).collect();
    let stays: std::collections::BTreeSet<[i32; 3]> =
        all.iter().filter(|(cube, moves, _)| !moves && !free(*cube, 4.0)).map(|(cube, ..)| *cube).collect();
    let (mut gone, mut feet) = (Vec::new(), 0);
    for (cube, moves, id) in all {
        let above = [cube[0], cube[1], cube[2] + 1];
        let own = free(cube, if moves { 0.5 } else { 4.0 });
        let stands = stays.contains(&cube) || stays.contains(&[cube[0], cube[1], cube[2] - 1]);
        let left = moves && stands && counters.of(above).hits > 0 && free(above, 4.0);
        if own || left {
            gone.push(id);
        }
        feet += usize::from(left && !own);
    }
    (gone, feet)
}

#[test]
fn feet_go_with_what_was_above_them() -> Result<()> {
    let mut map = new_map(true)?;
    map.keep_submaps(SubmapRule::Frames(2), "walk")?;
    let check = |map: &Mapper| {
        let (gone, feet) = gone_by_rule(map, map.free_space().unwrap());
        assert_eq!(map.primitives().filter(|p| p.is_gone()).map(|p| p.id()).collect::<Vec<_>>(), gone);
        for p in map.primitives() {
            let (state, existence, _) = map.existence_of(&p).unwrap();
            assert_eq!((state == State::Free, existence <= 0.5), (p.is_gone(), p.is_gone()));
        }
        feet
    };
    let mut most = 0;
    for frame in 0..9 {
        insert(&mut map, [frame])?;
        most = most.max(check(&map));
    }
    assert!(most >= 3, "{most} primitives went with what was above them");
    // What is there again has its feet again: the sums and the counters of the last frames are taken out.
    let before = check(&map);
    map.remove_submaps(&[3, 4])?;
    let after = check(&map);
    assert!(after < before, "{before} and {after}");
    Ok(())
}

/// Everything that a map shows.
fn shown(map: &Mapper) -> (Vec<e2bki::PrimitiveState>, Counters, Vec<bool>, usize) {
    // Where a primitive is in the list depends on when it was made.
    let mut states: Vec<(e2bki::PrimitiveState, bool)> =
        map.primitives().map(|p| (e2bki::PrimitiveState { id: 0, ..p.state() }, p.is_gone())).collect();
    states.sort_by_key(|(state, _)| (state.sums.origin, state.sums.first.map(f64::to_bits), state.sums.weight as u64));
    let (states, gone) = states.into_iter().unzip();
    (states, map.free_space().cloned().unwrap_or_default(), gone, map.live_voxels().count())
}

#[test]
fn submaps_take_what_they_saw_through_along() -> Result<()> {
    let config = || config(true).map(|config| config.with(|c| c.refinement.prune = false));
    let new = || Mapper::new(ClassSet::from_names(["ground", "wall", "person"])?, config()?);
    let mut map = new()?;
    map.keep_submaps(SubmapRule::Frames(3), "walk")?;
    insert(&mut map, 0..3)?;
    let first = shown(&map);
    insert(&mut map, 3..9)?;
    let whole = shown(&map);
    let mut direct = new()?;
    insert(&mut direct, 0..9)?;
    assert_eq!(shown(&direct), whole, "keeping submaps changes nothing");
    // Corrected there and back.
    let poses: Vec<Pose> = map.submaps().unwrap().iter().map(|submap| submap.pose()).collect();
    let (s, c) = 0.02_f64.sin_cos();
    let turn = Pose::new([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [0.3, -0.1, 0.02])?;
    map.correct(&[(1, turn.after(&poses[1])?), (2, turn.after(&poses[2])?)].into())?;
    let moved = shown(&map);
    assert_ne!(moved.1, whole.1);
    assert_eq!(moved.1.frames(), whole.1.frames());
    map.correct(&[(1, poses[1]), (2, poses[2])].into())?;
    assert_eq!(shown(&map), whole);
    // Taken out while they lie elsewhere.
    map.correct(&[(1, turn.after(&poses[1])?)].into())?;
    map.remove_submaps(&[1, 2])?;
    assert_eq!(shown(&map), first);
    // What lies in a submap may be put back with its counters.
    let other = {
        let mut other = new()?;
        insert(&mut other, 3..9)?;
        other
    };
    map.merge(&other)?;
    assert_eq!(shown(&map).1, whole.1);
    map.remove_submaps(&[0, 3])?;
    assert!(map.is_empty() && map.free_space().unwrap().is_empty());
    Ok(())
}

#[test]
fn a_place_was_last_seen_when_the_last_frame_saw_it_and_submaps_take_that_along() -> Result<()> {
    let config = config(true)?.with(|c| c.refinement.prune = false);
    let mut map = Mapper::new(ClassSet::from_names(["ground", "wall", "person"])?, config)?;
    map.keep_submaps(SubmapRule::Frames(2), "drive")?;
    let wall = [-WALL_M, 0.05, 1.2];
    assert_eq!(map.last_seen(wall), None);
    for frame in 0..6 {
        // The last frame does not say when it was.
        map.name_next_frame(frame as u64, (frame < 5).then_some(1000.5 + 10.0 * frame as f64));
        insert(&mut map, [frame])?;
    }
    assert_eq!((map.first_seen(wall), map.last_seen(wall)), (Some(1000.0), Some(1040.0)));
    assert_eq!((map.last_seen([90.0, 0.0, 0.0]), map.last_seen([f64::NAN; 3])), (None, None));
    // Forgetting is a way of reading: walls stay, where a person may have come is unknown after a while.
    let (places, before) = ([wall, [2.0, 2.0, 1.0]], map.states().count());
    let beliefs = map.query(&places);
    assert_eq!(beliefs.seen(0).map(|seen| (seen.first, seen.last)), Some((1000, 1040)));
    let reading = |as_of| Forgetting::of_classes(as_of, map.classes(), 60.0, f64::INFINITY);
    let states = |as_of: f64| -> Result<Vec<State>> {
        let reading = reading(as_of)?;
        Ok((0..2).map(|place| beliefs.as_of(place, &reading).0).collect())
    };
    assert_eq!(states(1050.0)?, [State::Occupied, State::Free]);
    assert_eq!(states(1200.0)?, [State::Occupied, State::Unknown]);
    assert_eq!(beliefs.as_of(1, &reading(1040.0)?).1, beliefs.existence(1));
    assert_eq!((map.query(&places), map.states().count()), (beliefs.clone(), before));
    // Without its last submap the map was last seen before.
    let ids: Vec<u32> =
        map.submaps().map(|submaps| submaps.iter().map(|submap| submap.id()).collect()).unwrap_or_default();
    map.remove_submaps(&ids[2..])?;
    assert_eq!((map.first_seen(wall), map.last_seen(wall)), (Some(1000.0), Some(1030.0)));
    Ok(())
}

#[test]
fn a_map_that_does_not_know_what_it_hit_is_not_mixed_with_one_that_does() -> Result<()> {
    let (mut with, mut without) = (new_map(true)?, new_map(false)?);
    insert(&mut with, 0..1)?;
    insert(&mut without, 0..1)?;
    let message = with.merge(&without).unwrap_err().to_string();
    assert!(message.contains("free_space.enabled"), "{message}");
    // Nor the other way round, where counters would be dropped.
    let (before, frames) = (without.states().collect::<Vec<_>>(), without.frames());
    let message = without.merge(&with).unwrap_err().to_string();
    assert!(message.contains("would be lost") && message.contains("free_space.enabled"), "{message}");
    assert!(without.states().eq(before) && without.frames() == frames);
    with.forget_free_space();
    let mut other_way = without.clone();
    other_way.merge(&with)?;
    with.merge(&without)?;
    assert!(with.states().map(|state| state.sums).eq(other_way.states().map(|state| state.sums)));
    assert!(with.free_space().is_none() && !with.config().free_space.enabled);
    Ok(())
}

#[test]
fn from_above_a_place_is_what_the_space_over_its_ground_is() -> Result<()> {
    let (mut map, mut without) = (new_map(true)?, new_map(false)?);
    insert(&mut map, 0..9)?;
    insert(&mut without, 0..1)?;
    let view = map.birds_eye()?;
    let places = [[-7.0, 1.0], [-WALL_M, 0.05], [20.0, 0.0], [f64::NAN, 0.0], [6.0, -2.0]];
    let expected = [State::Free, State::Occupied, State::Unknown, State::Unknown, State::Free];
    assert_eq!(view.states(&places), expected);
    let beliefs = view.query(&places);
    assert!((0..5).all(|i| beliefs.state(i) == expected[i]));
    assert_eq!(
        beliefs.get(0).label(),
        Some(GROUND as usize),
        "free is where one can be; the class is still that of the ground"
    );
    assert!(beliefs.existence(0).unwrap() <= 0.5 && beliefs.existence(1).unwrap() > 0.5);
    // Every cell by the rule read again: primitives and counters, cube by cube.
    let kappa_of = |label: usize| if label == PERSON as usize { 0.5 } else { 4.0 };
    let cube = |v: f64| (v / 0.25).floor();
    let primitives: Vec<([f64; 3], f64)> = map.primitives().map(|p| (p.mean(), kappa_of(p.label()))).collect();
    let cells = view.cells(0.5)?;
    let mut seen = [0; 3];
    for (i, [x, y]) in cells.centers.iter().enumerate() {
        let Some(ground) = view.ground([*x, *y]) else { continue };
        if x.hypot(*y) < 11.0 {
            assert!((ground - GROUND_M).abs() < 0.02, "ground at {ground} under {x}, {y}");
        }
        let mut states = Vec::new();
        let mut z = cube(ground + 0.5);
        while z * 0.25 < ground + 1.75 {
            let here = |m: &[f64; 3]| (cube(m[0]), cube(m[1]), cube(m[2])) == (cube(*x), cube(*y), z);
            let heaviest =
                primitives.iter().filter(|(mean, _)| here(mean)).map(|(_, kappa)| *kappa).fold(0.0, f64::max);
            let kappa = if heaviest > 0.0 { heaviest } else { 4.0 };
            states.push(map.free_space().unwrap().at([*x, *y, z * 0.25 + 0.1]).state(kappa));
            z += 1.0;
        }
        let all_free = states.iter().all(|state| *state == State::Free);
        let state = match states.contains(&State::Occupied) {
            true => State::Occupied,
            false if all_free => State::Free,
            false => State::Unknown,
        };
        assert_eq!(cells.beliefs.state(i), state, "at {x}, {y}: {states:?}");
        seen[state as usize] += 1;
    }
    assert!(seen[1] > 100 && seen[2] > 50, "{seen:?}");
    // A robot as low as a mat meets the ground itself.
    let low = map.birds_eye()?.with_band([-0.05, 0.05])?;
    let ground = [[-7.0, 1.0], [-7.25, 1.0], [-6.75, 1.0], [-7.0, 1.25], [-7.0, 0.75]];
    assert!(low.states(&ground).contains(&State::Occupied));
    assert!(map.birds_eye()?.with_band([1.0, 0.5]).is_err() && map.birds_eye()?.with_band([f64::NAN, 1.0]).is_err());
    let blind = without.birds_eye()?;
    assert_eq!(
        (blind.states(&places[..1]), blind.query(&places[..1]).state(0)),
        (vec![State::Unknown], State::Unknown)
    );
    Ok(())
}
