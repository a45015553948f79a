//! Free space in a map: a frame looked at before the map is, counted when it is inserted, and respected when beliefs are
//! read.

use std::time::{Duration, Instant};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::cubes::{BlockKey, cube_of};
use super::flips::{Metre, Weights};
use super::regions::region_of;
use super::settings::CUBE_M;
use super::sight::returns;
use super::{Counters, RangeImage, Seen, Sensor, Settings, Sight, StandStill, State, Tally, estimate, of_rings};
use crate::classes::ClassSet;
use crate::config::{Config, LidarModel};
use crate::error::Result;
use crate::input::Scan;
use crate::map::Head;
use crate::pose::Pose;

/// A point in a cube that was seen through at least so often, and more often than so many times its hits, moves.
const MOVING_PASSES: u32 = 3;
const MOVING_PER_HIT: u64 = 4;

/// What free space made of a frame.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FreeSpaceReport {
    /// Whether what the frame saw through was counted: not, if the robot stood still or the scan shows no sensor.
    pub counted: bool,
    /// Points in cubes that were known to be free before the frame.
    pub moving: usize,
    /// Why the frame does not say what it saw through, if it does not; its returns count all the same.
    pub off: Option<String>,
    /// Time spent on the frame.
    pub time: Duration,
}

/// What a frame says of free space, before the map is looked at.
#[derive(Debug, Clone)]
pub(crate) struct Looked {
    sight: Sight,
    /// Why it has no passes, if it has none.
    off: Option<String>,
    pose: Pose,
    /// The cube of every return.
    cubes: Vec<[i32; 3]>,
    time: Duration,
}

impl Looked {
    /// Looks at all returns of a frame; nothing if free space is off.
    pub(crate) fn new(scan: &Scan<'_>, pose: &Pose, config: &Config) -> Option<Self> {
        let free = &config.free_space;
        if !free.enabled {
            return None;
        }
        let start = Instant::now();
        let settings = Settings { max_range_m: free.max_range, pose_error_deg: free.pose_error, ..Settings::default() };
        let points = scan.points;
        let sensor = match (free.sensor, scan.rings) {
            // Some drivers leave the beams at 0: such scans are as if they had none.
            (LidarModel::Auto, Some(rings)) => of_rings(points, rings)
                .map(|(sensor, rows)| (sensor, Some(rows)))
                .or_else(|_| estimate(points).map(|sensor| (sensor, None))),
            (LidarModel::Auto, None) => estimate(points).map(|sensor| (sensor, None)),
            (model, _) => Sensor::named(model.name()).map(|sensor| (sensor, None)),
        };
        let cubes = returns(points, pose, settings.min_range_m);
        let image = sensor.and_then(|(sensor, rows)| RangeImage::new(&sensor, points, rows.as_deref()));
        let (sight, off) = match image.and_then(|image| Sight::of_returns(&image, &cubes, pose, &settings)) {
            Ok(sight) => (sight, None),
            // What came back is known of any scan: without it, what only such scans see would count as never hit.
            Err(error) => (Sight::of_hits(&cubes), Some(error.to_string())),
        };
        Some(Self { sight, off, pose: *pose, cubes, time: start.elapsed() })
    }
}

/// The counters of a map, and which of its frames go in.
#[derive(Debug, Clone, Default)]
pub(crate) struct FreeSpace {
    pub(crate) counters: Counters,
    gate: StandStill,
    /// The time of the next frame, if it was said.
    pub(crate) next_time: Option<f64>,
    /// What views have not been told yet.
    pending: Pending,
    /// Number of the latest change of the map in which counters of a region changed.
    regions: FxHashMap<[i32; 3], u64>,
}

/// What counting changed, before views are brought up to date.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pending {
    /// Cubic metres in which a cube became free or is free no more.
    pub(crate) flips: Vec<Metre>,
    regions: Vec<[i32; 3]>,
}

impl FreeSpace {
    /// Free space of counters that were kept: all of them count as changed.
    pub(crate) fn of(counters: Counters) -> Self {
        let mut free = Self { counters, ..Self::default() };
        let keys = free.counters.keys();
        free.touch(keys.into_iter());
        free
    }

    /// Counts a frame; returns what of it was counted. On an error nothing has changed.
    pub(crate) fn count(&mut self, looked: Looked, weights: &Weights) -> Result<(FreeSpaceReport, Option<Sight>)> {
        let start = Instant::now();
        let Looked { mut sight, off, pose, cubes, time } = looked;
        if let Some(time) = self.next_time.take() {
            sight = sight.at_time(time);
        }
        let moving = cubes.par_chunks(8192).map(|cubes| self.counters.count(cubes, is_moving)).sum();
        let mut gate = self.gate.clone();
        let counted = gate.counts(&pose);
        if counted {
            let mut flips = self.counters.flips_of(&sight, weights);
            self.counters.add(&sight)?;
            self.pending.flips.append(&mut flips);
            self.touch(sight.keys().into_iter());
        }
        self.gate = gate;
        let report = FreeSpaceReport { counted: counted && off.is_none(), moving, off, time: time + start.elapsed() };
        Ok((report, counted.then_some(sight)))
    }

    /// Takes counters out and puts others in, each of so many frames. On an error nothing has changed.
    pub(crate) fn replace(
        &mut self,
        (taken, frames_taken): (&[Counters], u64),
        (added, frames_added): (&[Counters], u64),
        weights: &Weights,
    ) -> Result<()> {
        let mut flips = self.counters.replace((taken, frames_taken), (added, frames_added), weights)?;
        self.pending.flips.append(&mut flips);
        self.touch(taken.iter().chain(added).flat_map(Counters::keys));
        Ok(())
    }

    fn touch(&mut self, keys: impl Iterator<Item = BlockKey>) {
        self.pending.regions.extend(keys.map(region_of));
        self.pending.regions.sort_unstable();
        self.pending.regions.dedup();
    }

    /// How many cubic metres views have not been told of.
    pub(crate) fn waiting(&self) -> usize {
        self.pending.flips.len()
    }

    /// Takes what views have not been told; the change that they are told with has this number.
    pub(crate) fn take_pending(&mut self, number: u64) -> Vec<Metre> {
        let Pending { mut flips, regions } = std::mem::take(&mut self.pending);
        self.regions.extend(regions.into_iter().map(|region| (region, number)));
        flips.sort_unstable();
        flips.dedup();
        flips
    }

    /// Regions whose counters changed after the change of that number, in ascending order.
    pub(crate) fn regions_since(&self, number: u64) -> Vec<[i32; 3]> {
        let mut found: Vec<[i32; 3]> =
            self.regions.iter().filter(|(_, last)| **last > number).map(|(region, _)| *region).collect();
        found.sort_unstable();
        found
    }

    /// For every point whether it is in space known to be free.
    pub(crate) fn moving(&self, points: &[[f32; 3]], pose: &Pose) -> Vec<bool> {
        let moves = |point: &[f32; 3]| is_moving(self.counters.at(pose.apply(point.map(f64::from))));
        points.par_iter().with_min_len(8192).map(moves).collect()
    }
}

fn is_moving(tally: Tally) -> bool {
    tally.passes >= MOVING_PASSES && u64::from(tally.passes) > MOVING_PER_HIT * u64::from(tally.hits)
}

/// How the counters of a map act on its beliefs.
#[derive(Debug, Clone)]
pub(crate) struct Existence<'a> {
    counters: &'a Counters,
    /// Weight of a hit, by class.
    kappa: Vec<f32>,
    /// Whether it can move, by class.
    movable: Vec<bool>,
    /// How far around a place something that is there keeps it from being called free, metres: half a voxel, so that a
    /// voxel that holds a surface stays where its centre was seen through.
    around: f64,
}

/// Weight of a hit, by class.
pub(crate) fn kappas(classes: &ClassSet, config: &Config) -> Vec<f32> {
    let free = &config.free_space;
    let weight = |class| if classes.is_movable(class) { free.movable_weight } else { free.static_weight };
    (0..classes.len()).map(|class| weight(class) as f32).collect()
}

/// What is known of a place: its counts, and what a hit of its class weighs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Known {
    pub(crate) tally: Tally,
    /// When its block was seen.
    pub(crate) seen: Option<Seen>,
    pub(crate) kappa: f32,
}

impl Known {
    pub(crate) fn state(&self) -> State {
        self.tally.state(f64::from(self.kappa))
    }
}

impl<'a> Existence<'a> {
    pub(crate) fn new(free: &'a FreeSpace, classes: &ClassSet, config: &Config) -> Self {
        let around = 0.5 * config.views.resolution.min(CUBE_M);
        let movable = (0..classes.len()).map(|class| classes.is_movable(class)).collect();
        Self { counters: &free.counters, kappa: kappas(classes, config), movable, around }
    }

    /// Whether a primitive is there no more.
    pub(crate) fn is_gone_primitive(&self, head: &Head) -> bool {
        head.gone()
    }

    /// Whether something of a class in the very cube of a place is there no more.
    pub(crate) fn is_gone(&self, place: [f64; 3], class: usize) -> bool {
        self.in_cube(place, class).state() == State::Free
    }

    /// What is known of something of a class in the very cube of a place.
    pub(crate) fn in_cube(&self, place: [f64; 3], class: usize) -> Known {
        let (tally, seen) = self.counters.look(cube_of(place));
        Known { tally, seen, kappa: self.kappa_of(Some(class)) }
    }

    /// Whether a belief that something of a class is at a place is left out: nothing there or close by was hit and not
    /// seen through.
    pub(crate) fn leaves_out(&self, place: [f64; 3], class: usize) -> bool {
        self.known(place, Some(class)).state() == State::Free
    }

    /// What is known of a place. Where a belief has a class, that is of what is within half a voxel; where nothing is
    /// believed, of the cube, and a hit weighs as those of classes that stay do.
    pub(crate) fn known(&self, place: [f64; 3], class: Option<usize>) -> Known {
        let kappa = self.kappa_of(class);
        if place.iter().any(|v| !v.is_finite()) {
            return Known { tally: Tally::default(), seen: None, kappa };
        }
        let (tally, seen) = self.counters.look(cube_of(place));
        let of = |tally| Known { tally, seen, kappa };
        let own = of(tally);
        if class.is_none() || own.state() != State::Free {
            return own;
        }
        let (low, high) = (cube_of(place.map(|v| v - self.around)), cube_of(place.map(|v| v + self.around)));
        let cubes = (low[0]..=high[0])
            .flat_map(|x| (low[1]..=high[1]).flat_map(move |y| (low[2]..=high[2]).map(move |z| [x, y, z])));
        cubes.map(|cube| of(self.counters.of(cube))).find(|known| known.state() == State::Occupied).unwrap_or(own)
    }

    /// What is known of a cube whose class is not said.
    pub(super) fn of_cube(&self, cube: [i32; 3]) -> Known {
        let (tally, seen) = self.counters.look(cube);
        Known { tally, seen, kappa: self.kappa_of(None) }
    }

    /// Whether things of a class can move.
    pub(super) fn is_movable(&self, class: usize) -> bool {
        self.movable.get(class).copied().unwrap_or(false)
    }

    /// Bit `class % 64` of every class that can move.
    pub(super) fn movable_labels(&self) -> u64 {
        self.movable.iter().enumerate().fold(0, |bits, (class, movable)| bits | u64::from(*movable) << (class % 64))
    }

    /// Weight of a hit of a class, or of those that stay.
    pub(super) fn kappa_of(&self, class: Option<usize>) -> f32 {
        let most = || self.kappa.iter().copied().fold(0.0, f32::max);
        class.and_then(|class| self.kappa.get(class).copied()).unwrap_or_else(most)
    }
}
