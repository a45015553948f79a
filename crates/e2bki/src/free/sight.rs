//! What one frame says of the world: the cubes in which something came back, and those it saw through.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::cubes::{BlockKey, Passed, cube_of, split};
use super::moments::second_of;
use super::pass::Pass;
use super::range_image::RangeImage;
use super::sensor::Sensor;
use super::settings::Settings;
use crate::error::Result;
use crate::pose::{Pose, WORLD_LIMIT_M};

/// Points per parallel task.
const CHUNK: usize = 8192;

/// The contribution of a frame to [`Counters`](super::Counters): it depends on scan and pose only.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sight {
    /// Blocks in ascending order, with what was passed in them.
    pub(super) passed: Vec<(BlockKey, Passed)>,
    /// Blocks in ascending order, with the cubes that hold a return: a bit per cube, by cubic metre.
    pub(super) hits: Vec<(BlockKey, [u64; 8])>,
    /// When it was, if that is known: a whole second.
    pub(super) second: Option<u32>,
}

impl Sight {
    /// Looks at a scan: all of its returns in the sensor's coordinates, before any gate, range cut or label filter.
    /// `rows` says which beam (0: the highest) each return is from, where the data has it.
    pub fn new(
        sensor: &Sensor,
        points: &[[f32; 3]],
        rows: Option<&[u16]>,
        world_from_sensor: &Pose,
        settings: &Settings,
    ) -> Result<Self> {
        let image = RangeImage::new(sensor, points, rows)?;
        Self::of_image(&image, points, world_from_sensor, settings)
    }

    /// The same from a range image that was made before.
    pub fn of_image(
        image: &RangeImage,
        points: &[[f32; 3]],
        world_from_sensor: &Pose,
        settings: &Settings,
    ) -> Result<Self> {
        Self::of_returns(image, &returns(points, world_from_sensor, settings.min_range_m), world_from_sensor, settings)
    }

    /// The same from the cubes of the returns.
    pub(super) fn of_returns(
        image: &RangeImage,
        cubes: &[[i32; 3]],
        world_from_sensor: &Pose,
        settings: &Settings,
    ) -> Result<Self> {
        settings.check()?;
        let passed = Pass::new(image, world_from_sensor, settings).all();
        Ok(Self { passed, hits: hits(cubes), second: None })
    }

    /// A scan of which nothing is known but where its returns are: what it saw through is not counted.
    pub(super) fn of_hits(cubes: &[[i32; 3]]) -> Self {
        Self { passed: Vec::new(), hits: hits(cubes), second: None }
    }

    /// The same, seen at a time in seconds, of which whole seconds from 0 on are kept.
    pub fn at_time(mut self, time: f64) -> Self {
        self.second = second_of(time);
        self
    }

    /// Number of blocks of 2 m in which anything was passed or hit.
    pub fn blocks(&self) -> usize {
        self.seen().count()
    }

    /// Those blocks, in ascending order.
    pub fn keys(&self) -> Vec<BlockKey> {
        self.seen().map(|seen| seen.key).collect()
    }

    /// Those blocks, in ascending order, with what the frame says of them.
    pub(super) fn seen(&self) -> impl Iterator<Item = SeenBlock<'_>> {
        let (mut passed, mut hits) = (self.passed.iter().peekable(), self.hits.iter().peekable());
        std::iter::from_fn(move || {
            let key = match (passed.peek(), hits.peek()) {
                (Some((a, _)), Some((b, _))) => *a.min(b),
                (Some((key, _)), None) | (None, Some((key, _))) => *key,
                (None, None) => return None,
            };
            let passed = passed.next_if(|(at, _)| *at == key).map(|(_, passed)| passed);
            let hits = hits.next_if(|(at, _)| *at == key).map(|(_, hits)| hits);
            Some(SeenBlock { key, passed, hits })
        })
    }
}

/// What a frame says of a block.
#[derive(Clone, Copy)]
pub(super) struct SeenBlock<'a> {
    pub(super) key: BlockKey,
    pub(super) passed: Option<&'a Passed>,
    pub(super) hits: Option<&'a [u64; 8]>,
}

/// The cube of every return that is farther than `min_range_m` from the sensor and in the world, in the order of the
/// points.
pub(super) fn returns(points: &[[f32; 3]], world_from_sensor: &Pose, min_range_m: f64) -> Vec<[i32; 3]> {
    let cube = |point: &[f32; 3]| {
        let local = point.map(f64::from);
        let squared = local[0] * local[0] + local[1] * local[1] + local[2] * local[2];
        let world = world_from_sensor.apply(local);
        // Not a number compares as false.
        let inside = squared >= min_range_m * min_range_m && world.iter().all(|v| v.abs() <= WORLD_LIMIT_M);
        inside.then(|| cube_of(world))
    };
    let chunk = |points: &[[f32; 3]]| points.iter().filter_map(cube).collect::<Vec<_>>();
    points.par_chunks(CHUNK).map(chunk).collect::<Vec<_>>().concat()
}

/// Those cubes as bits of their blocks.
fn hits(cubes: &[[i32; 3]]) -> Vec<(BlockKey, [u64; 8])> {
    let chunk = |cubes: &[[i32; 3]]| {
        let mut numbers: FxHashMap<BlockKey, usize> = FxHashMap::default();
        let mut list: Vec<(BlockKey, [u64; 8])> = Vec::new();
        let mut latest = usize::MAX;
        for cube in cubes {
            let (key, place) = split(*cube);
            // Returns that follow each other are near each other.
            if list.get(latest).is_none_or(|(known, _)| *known != key) {
                latest = *numbers.entry(key).or_insert_with(|| {
                    list.push((key, [0; 8]));
                    list.len() - 1
                });
            }
            list[latest].1[place.metre] |= 1 << place.bit;
        }
        list
    };
    let mut all: Vec<(BlockKey, [u64; 8])> = cubes.par_chunks(CHUNK).map(chunk).flatten().collect();
    all.par_sort_unstable_by_key(|(key, _)| *key);
    all.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            for (kept, next) in kept.1.iter_mut().zip(next.1) {
                *kept |= next;
            }
        }
        same
    });
    all
}
