//! Scores: static and dynamic accuracy of points and voxels, thin things lost, space known to be free, static returns
//! of other frames called free.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use e2bki::free::{Counters, KAPPA_MOVABLE, KAPPA_STATIC, Settings, Sight, State, cube_of};

use super::drive::{Frame, Recorded};

const MOVABLE: [&str; 3] = ["car", "truck", "person"];
const THIN: [&str; 3] = ["pole", "sign/light", "fence"];
const GROUND: [&str; 3] = ["road", "sidewalk", "terrain"];

/// Rights and wrongs of one kind.
#[derive(Default, Clone, Copy)]
pub(super) struct Share {
    yes: f64,
    all: f64,
}

impl Share {
    pub(super) fn count(&mut self, yes: bool) {
        self.yes += f64::from(u8::from(yes));
        self.all += 1.0;
    }

    pub(super) fn percent(self) -> f64 {
        100.0 * self.yes / self.all
    }
}

fn count<'a>(recorded: &Recorded, frames: impl Iterator<Item = &'a Frame>, settings: &Settings) -> Result<Counters> {
    let mut counters = Counters::default();
    for frame in frames {
        counters.add(&Sight::new(&recorded.sensor, &frame.points, None, &frame.pose, settings)?)?;
    }
    Ok(counters)
}

fn kappa(recorded: &Recorded, label: u8) -> f64 {
    if recorded.is(label, &MOVABLE) { KAPPA_MOVABLE } else { KAPPA_STATIC }
}

/// Cubes that hold something that stays, by its label, and is there.
fn stays(recorded: &Recorded, counters: &Counters) -> BTreeSet<[i32; 3]> {
    let mut cubes = BTreeSet::new();
    for frame in &recorded.frames {
        for i in (0..frame.points.len()).filter(|i| !recorded.is(frame.label[*i], &MOVABLE)) {
            let world = frame.world(i);
            if counters.at(world).state(KAPPA_STATIC) != State::Free {
                cubes.insert(cube_of(world));
            }
        }
    }
    cubes
}

/// Whether a point is called gone, as a map does it: its cube is free, or it can move, something that stays is in its
/// cube or in the one below, and what was in the cube above has left.
fn is_gone(recorded: &Recorded, counters: &Counters, stays: &BTreeSet<[i32; 3]>, world: [f64; 3], label: u8) -> bool {
    if counters.at(world).state(kappa(recorded, label)) == State::Free {
        return true;
    }
    let [x, y, z] = cube_of(world);
    recorded.is(label, &MOVABLE)
        && counters.of([x, y, z + 1]).has_left(KAPPA_STATIC)
        && (stays.contains(&[x, y, z]) || stays.contains(&[x, y, z - 1]))
}

/// Of points, then of voxels: static accuracy, dynamic accuracy and the root of their product, percent; then the percentage
/// of points on thin things that are called gone.
pub(super) fn accuracy(recorded: &Recorded, settings: &Settings) -> Result<[f64; 7]> {
    let counters = count(recorded, recorded.frames.iter(), settings)?;
    let stays = stays(recorded, &counters);
    let [mut still, mut moved, mut thin] = [Share::default(); 3];
    // Points, moving points and points called gone of every cube.
    let mut cubes: BTreeMap<[i32; 3], [f64; 3]> = BTreeMap::new();
    for frame in &recorded.frames {
        for i in (0..frame.points.len()).filter(|i| (1.5..50.0).contains(&frame.range(*i))) {
            let world = frame.world(i);
            let gone = is_gone(recorded, &counters, &stays, world, frame.label[i]);
            if frame.moving[i] {
                moved.count(gone)
            } else {
                still.count(!gone)
            }
            if !frame.moving[i] && recorded.is(frame.truth[i], &THIN) {
                thin.count(gone);
            }
            let cube = cubes.entry(cube_of(world)).or_default();
            cube[0] += 1.0;
            cube[1] += f64::from(u8::from(frame.moving[i]));
            cube[2] += f64::from(u8::from(gone));
        }
    }
    let [mut still_cubes, mut moved_cubes] = [Share::default(); 2];
    for [all, moving, gone] in cubes.values() {
        let gone = *gone > 0.5 * all;
        if *moving > 0.5 * all { moved_cubes.count(gone) } else { still_cubes.count(!gone) }
    }
    let [sa, da, vsa, vda] = [still, moved, still_cubes, moved_cubes].map(Share::percent);
    Ok([sa, da, (sa * da).sqrt(), vsa, vda, (vsa * vda).sqrt(), thin.percent()])
}

/// Share of empty space 0.5 to 2 m above ground and within 20 m that the even frames know to be free, by the beams of the
/// odd ones; and the share of static returns of the odd ones that are called free.
pub(super) fn coverage(recorded: &Recorded, settings: &Settings) -> Result<[f64; 2]> {
    let counters = count(recorded, recorded.frames.iter().step_by(2), settings)?;
    // The usual label of every cube, and the height of the ground.
    let mut labels: HashMap<[i32; 3], BTreeMap<u8, u32>> = HashMap::new();
    let mut ground: HashMap<[i32; 2], (f64, f64)> = HashMap::new();
    let metre = |w: [f64; 3]| [w[0].floor() as i32, w[1].floor() as i32];
    for frame in recorded.frames.iter().step_by(2) {
        for i in 0..frame.points.len() {
            let world = frame.world(i);
            *labels.entry(cube_of(world)).or_default().entry(frame.label[i]).or_default() += 1;
            if recorded.is(frame.truth[i], &GROUND) {
                let (sum, count) = ground.entry(metre(world)).or_default();
                (*sum, *count) = (*sum + world[2], *count + 1.0);
            }
        }
    }
    let state = |world: [f64; 3]| {
        let usual = labels.get(&cube_of(world)).and_then(|of| of.iter().max_by_key(|(_, count)| **count));
        counters.at(world).state(usual.map_or(KAPPA_STATIC, |(label, _)| kappa(recorded, *label)))
    };
    let [mut free, mut wrong] = [Share::default(); 2];
    let mut turn = 0.0;
    for frame in recorded.frames.iter().skip(1).step_by(2) {
        for i in 0..frame.points.len() {
            let range = frame.range(i);
            if !frame.moving[i] && range < 30.0 {
                wrong.count(state(frame.world(i)) == State::Free);
            }
            let end = (range - 0.3).min(20.0);
            // Places spread evenly along the beams, by the golden ratio.
            turn = (turn + 0.618_033_988_749_894_9) % 1.0;
            if i % 5 == 0 && end > 2.0 {
                let share = (2.0 + (end - 2.0) * turn) / range;
                let end = frame.true_pose.apply(frame.points[i].map(f64::from));
                let world: [f64; 3] = std::array::from_fn(|a| frame.origin[a] + share * (end[a] - frame.origin[a]));
                let height = ground.get(&metre(world)).map(|(sum, count)| world[2] - sum / count);
                if height.is_some_and(|height| (0.5..2.0).contains(&height)) {
                    free.count(state(world) == State::Free);
                }
            }
        }
    }
    Ok([free.percent(), wrong.percent()])
}
