//! Free space in a map: a frame looked at before the map is, counted when it is inserted, and respected when beliefs are
//! read.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::cubes::cube_of;
use super::{Counters, Sensor, Settings, Sight, StandStill, State, Tally, estimate};
use crate::classes::ClassSet;
use crate::config::{Config, LidarModel};
use crate::error::Result;
use crate::pose::Pose;

/// A point in a cube that was seen through at least so often, and more often than so many times its hits, moves.
const MOVING_PASSES: u32 = 3;
const MOVING_PER_HIT: u64 = 4;

/// What free space made of a frame.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FreeSpaceReport {
    /// Whether the frame was counted: not, if the robot stood still or the scan shows no sensor.
    pub counted: bool,
    /// Points in cubes that were known to be free before the frame.
    pub moving: usize,
    /// Why the frame says nothing of free space, if it does not.
    pub off: Option<String>,
    /// Time spent on the frame.
    pub time: Duration,
}

/// What a frame says of free space, before the map is looked at.
#[derive(Debug, Clone)]
pub(crate) struct Looked {
    sight: Result<Sight>,
    pose: Pose,
    /// The cube of every return.
    cubes: Vec<[i32; 3]>,
    time: Duration,
}

impl Looked {
    /// Looks at all points of a frame; nothing if free space is off.
    pub(crate) fn new(points: &[[f32; 3]], pose: &Pose, config: &Config) -> Option<Self> {
        let free = &config.free_space;
        if !free.enabled {
            return None;
        }
        let start = Instant::now();
        let settings = Settings { max_range_m: free.max_range, pose_error_deg: free.pose_error, ..Settings::default() };
        let sensor = match free.sensor {
            LidarModel::Auto => estimate(points),
            model => Sensor::named(model.name()),
        };
        let sight = sensor.and_then(|sensor| Sight::new(&sensor, points, None, pose, &settings));
        let cubes = if sight.is_ok() { returns(points, pose, settings.min_range_m) } else { Vec::new() };
        Some(Self { sight, pose: *pose, cubes, time: start.elapsed() })
    }
}

fn returns(points: &[[f32; 3]], pose: &Pose, min_range_m: f64) -> Vec<[i32; 3]> {
    let cube = |point: &[f32; 3]| {
        let local = point.map(f64::from);
        let squared: f64 = local.iter().map(|v| v * v).sum();
        // Not a number compares as false.
        (squared >= min_range_m * min_range_m && squared < f64::INFINITY).then(|| cube_of(pose.apply(local)))
    };
    points.par_iter().with_min_len(8192).filter_map(cube).collect()
}

/// The counters of a map, and which of its frames go in.
#[derive(Debug, Clone, Default)]
pub(crate) struct FreeSpace {
    pub(crate) counters: Counters,
    gate: StandStill,
}

impl FreeSpace {
    /// Counts a frame. On an error nothing has changed.
    pub(crate) fn count(&mut self, looked: Looked) -> Result<FreeSpaceReport> {
        let start = Instant::now();
        let Looked { sight, pose, cubes, time } = looked;
        let sight = match sight {
            Ok(sight) => sight,
            Err(error) => {
                return Ok(FreeSpaceReport { off: Some(error.to_string()), time, ..FreeSpaceReport::default() });
            }
        };
        let moving = cubes.par_iter().with_min_len(8192).filter(|cube| is_moving(self.counters.of(**cube))).count();
        let mut gate = self.gate.clone();
        let counted = gate.counts(&pose);
        if counted {
            self.counters.add(&sight)?;
        }
        self.gate = gate;
        Ok(FreeSpaceReport { counted, moving, off: None, time: time + start.elapsed() })
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
}

/// What is known of a place: its counts, and what a hit of its class weighs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Known {
    pub(crate) tally: Tally,
    pub(crate) kappa: f32,
}

impl Known {
    pub(crate) fn state(&self) -> State {
        self.tally.state(f64::from(self.kappa))
    }
}

impl<'a> Existence<'a> {
    pub(crate) fn new(free: &'a FreeSpace, classes: &ClassSet, config: &Config) -> Self {
        let weight = |class: usize| {
            let free = &config.free_space;
            (if classes.is_movable(class) { free.movable_weight } else { free.static_weight }) as f32
        };
        Self { counters: &free.counters, kappa: (0..classes.len()).map(weight).collect() }
    }

    /// Whether something of a class that was at a place is there no more.
    pub(crate) fn is_gone(&self, place: [f64; 3], class: usize) -> bool {
        self.known(place, Some(class)).state() == State::Free
    }

    /// What is known of a place; without a class it weighs as those that stay do.
    pub(crate) fn known(&self, place: [f64; 3], class: Option<usize>) -> Known {
        let most = self.kappa.iter().copied().fold(0.0, f32::max);
        let kappa = class.and_then(|class| self.kappa.get(class).copied()).unwrap_or(most);
        Known { tally: self.counters.at(place), kappa }
    }
}
