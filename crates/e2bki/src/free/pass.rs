//! Which cubes a scan saw through.
//!
//! A cube at distance r is passed if the least range in the window that covers it exceeds r + ρ + 0.1 m + 0.005 r and
//! half of the window's pixels came back. The window's least range stands in for a model of incidence: at a glancing
//! view of the ground, some beam of the window ends nearer than the cube. The test looks at scan and pose only, never
//! at the map, so that counts are sums over frames.
//!
//! Blocks are tested before their parts. The ball that stands for a block holds the balls of all cubes in it, so its
//! window holds theirs: what ends before the nearest cube of a block ends before all of them, and nothing is lost by
//! leaving it.

use rayon::prelude::*;

use super::angles::{asin_above, floor};
use super::cubes::{BlockKey, Passed, centre_of, half_of, quarter_of};
use super::polar::{LANES, Places, polar};
use super::range_image::{RangeImage, column_of};
use super::settings::{BLOCK_M, CUBE_M, LEVELS, POSITION_PER_DEG, Settings};
use super::tables::{Tables, Window};
use crate::maths::floor_i32;
use crate::pose::Pose;

/// Level of the blocks of 2 m.
const TOP: usize = LEVELS - 1;
/// What windows have beyond a place on every side, in pixels: a beam may be anywhere in its pixel, and what lies between
/// two beams is seen by neither.
const BEYOND_PX: f32 = 1.0;
/// By how much the ball of a block is larger than it need be, metres, and its window, radians: more than rounding is.
const SLACK_M: f32 = 1e-3;
const SLACK_RAD: f32 = 2e-6;

/// The ball of one level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ball {
    /// Its radius, metres.
    radius: f32,
    /// How far the centres of its cubes are from its own, at most.
    spread: f32,
}

/// The test of one frame.
pub(super) struct Pass<'a> {
    image: &'a RangeImage,
    tables: Tables,
    balls: [Ball; LEVELS],
    max_range: f32,
    min_range: f32,
    margin: f32,
    margin_per_m: f32,
    angle: f32,
    valid: f32,
    valid_block: f32,
    world_from_sensor: Pose,
    /// Centres of the parts of a block from its own centre, in the sensor's coordinates, eight by eight: the metres, the
    /// halves of every metre, the quarters of every half.
    metres: Places,
    halves: Vec<Places>,
    quarters: Vec<Places>,
}

/// What is to be done with each of eight places, as bits.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Verdicts {
    pub(super) passed: u8,
    pub(super) split: u8,
}

impl<'a> Pass<'a> {
    pub(super) fn new(image: &'a RangeImage, world_from_sensor: &Pose, settings: &Settings) -> Self {
        let rotation = world_from_sensor.rotation();
        let to_sensor = |v: [f64; 3]| -> [f32; 3] {
            std::array::from_fn(|a| (0..3).map(|i| rotation[i][a] * v[i]).sum::<f64>() as f32)
        };
        let group = |cubes: [[f64; 3]; LANES]| -> Places {
            let turned = cubes.map(to_sensor);
            std::array::from_fn(|axis| std::array::from_fn(|lane| turned[lane][axis]))
        };
        // Centre of the part (i, j, k) of a block divided into `parts` along each side.
        let centre =
            |[i, j, k]: [usize; 3], parts: f64| [i, j, k].map(|v| (v as f64 + 0.5) * (BLOCK_M / parts) - 0.5 * BLOCK_M);
        let quarter = |(metre, bit): (usize, usize)| {
            let at = |shift: usize| (metre >> shift & 1) * 4 + (bit >> (2 * shift) & 3);
            centre([at(2), at(1), at(0)], 8.0)
        };
        let cube = settings.radius * CUBE_M + POSITION_PER_DEG * settings.pose_error_deg;
        let ball = |level: usize| {
            let spread = 0.5 * 3.0_f64.sqrt() * CUBE_M * ((1 << level) - 1) as f64;
            let slack = if level == 0 { 0.0 } else { SLACK_M };
            Ball { radius: (cube + spread) as f32 + slack, spread: spread as f32 + slack }
        };
        Self {
            image,
            tables: Tables::new(image),
            balls: std::array::from_fn(ball),
            max_range: settings.max_range_m as f32,
            min_range: settings.min_range_m as f32,
            margin: settings.margin_m as f32,
            margin_per_m: settings.margin_per_m as f32,
            angle: settings.pose_error_deg.to_radians() as f32,
            valid: settings.valid as f32,
            valid_block: settings.valid_block as f32,
            world_from_sensor: *world_from_sensor,
            metres: group(std::array::from_fn(|m| centre([m >> 2, m >> 1 & 1, m & 1], 2.0))),
            halves: (0..8)
                .map(|metre| {
                    let of = |half: usize| centre([half >> 4, half >> 2 & 3, half & 3], 4.0);
                    group(std::array::from_fn(|child| of(half_of(metre, child))))
                })
                .collect(),
            quarters: (0..64)
                .map(|half| group(std::array::from_fn(|child| quarter(quarter_of(half, child)))))
                .collect(),
        }
    }

    /// All blocks of which something was passed, in ascending order.
    pub(super) fn all(&self) -> Vec<(BlockKey, Passed)> {
        let centre = self.world_from_sensor.translation();
        let reach = f64::from(self.max_range);
        let low = centre.map(|v| floor_i32((v - reach) / BLOCK_M));
        let high = centre.map(|v| floor_i32((v + reach) / BLOCK_M));
        let columns: Vec<[i32; 2]> = (low[0]..=high[0]).flat_map(|x| (low[1]..=high[1]).map(move |y| [x, y])).collect();
        let lists: Vec<Vec<(BlockKey, Passed)>> =
            columns.par_iter().map(|[x, y]| self.column(*x, *y, low[2], high[2])).collect();
        lists.into_iter().flatten().collect()
    }

    /// Blocks above one another, eight at a time.
    fn column(&self, x: i32, y: i32, low: i32, high: i32) -> Vec<(BlockKey, Passed)> {
        pulp::Arch::new().dispatch(Column { pass: self, x, y, low, high })
    }

    #[inline(always)]
    fn column_here(&self, x: i32, y: i32, low: i32, high: i32) -> Vec<(BlockKey, Passed)> {
        let mut found = Vec::new();
        let mut first = low;
        while first <= high {
            let keys: [BlockKey; LANES] = std::array::from_fn(|lane| [x, y, first.saturating_add(lane as i32)]);
            let count = LANES.min((high - first) as usize + 1);
            let centres = keys.map(|key| self.in_sensor(key));
            let places = std::array::from_fn(|axis| std::array::from_fn(|lane| centres[lane][axis]));
            let verdicts = self.test(TOP, &places);
            for lane in 0..count {
                let passed = if verdicts.passed >> lane & 1 == 1 {
                    Passed { whole: true, ..Passed::default() }
                } else if verdicts.split >> lane & 1 == 1 {
                    self.parts(centres[lane])
                } else {
                    continue;
                };
                if !passed.is_empty() {
                    found.push((keys[lane], passed));
                }
            }
            first = first.saturating_add(LANES as i32);
        }
        found
    }

    /// Centre of a block in the sensor's coordinates.
    fn in_sensor(&self, key: BlockKey) -> [f32; 3] {
        let (rotation, translation) = (self.world_from_sensor.rotation(), self.world_from_sensor.translation());
        let centre = centre_of(key);
        let from: [f64; 3] = std::array::from_fn(|i| centre[i] - translation[i]);
        std::array::from_fn(|a| (rotation[0][a] * from[0] + rotation[1][a] * from[1] + rotation[2][a] * from[2]) as f32)
    }

    /// A block that was not passed as a whole, by its parts.
    #[inline(always)]
    fn parts(&self, centre: [f32; 3]) -> Passed {
        let mut passed = Passed::default();
        let metres = self.test(2, &at(centre, &self.metres));
        passed.metres = metres.passed;
        for metre in bits(metres.split) {
            let halves = self.test(1, &at(centre, &self.halves[metre]));
            for child in bits(halves.passed) {
                passed.halves |= 1 << half_of(metre, child);
            }
            for child in bits(halves.split) {
                let half = half_of(metre, child);
                for child in bits(self.test(0, &at(centre, &self.quarters[half])).passed) {
                    let (metre, bit) = quarter_of(half, child);
                    passed.quarters[metre] |= 1 << bit;
                }
            }
        }
        passed
    }

    /// Tests eight places of a level by their centres in the sensor's coordinates.
    #[inline(always)]
    pub(super) fn test(&self, level: usize, places: &Places) -> Verdicts {
        let Ball { radius, spread } = self.balls[level];
        let polar = polar(places);
        let mut high = [0.0; LANES];
        let mut low = [0.0; LANES];
        let mut wide = [0.0; LANES];
        let mut column = [0.0; LANES];
        let per_radian = column_of(1.0, self.image.columns) - column_of(0.0, self.image.columns);
        for i in 0..LANES {
            let (up, around) =
                (self.angle_of(level, radius, polar.range[i]), self.angle_of(level, radius, polar.across[i]));
            high[i] = polar.elevation[i] + up;
            low[i] = polar.elevation[i] - up;
            wide[i] = around * per_radian + BEYOND_PX;
            column[i] = column_of(polar.azimuth[i], self.image.columns);
        }
        // Loops instead of `map`: closures over arrays are not always made part of what calls them.
        let (high, low) = (self.image.rows.coordinates(&high), self.image.rows.coordinates(&low));
        let [mut tops, mut bottoms, mut firsts, mut lasts] = [[0; LANES]; 4];
        for i in 0..LANES {
            tops[i] = floor(high[i] - BEYOND_PX);
            bottoms[i] = floor(low[i] + BEYOND_PX);
            firsts[i] = floor(column[i] - wide[i]);
            lasts[i] = floor(column[i] + wide[i]);
        }
        let height = self.image.height() as i32;
        let mut verdicts = Verdicts::default();
        for i in 0..LANES {
            let range = polar.range[i];
            if range - spread > self.max_range {
                continue;
            }
            if range < radius + self.min_range {
                verdicts.split |= u8::from(level > 0) << i;
                continue;
            }
            let (top, bottom) = (tops[i], bottoms[i]);
            if bottom < 0 || top >= height {
                continue;
            }
            // The ball of a place at the sensor's axis covers all azimuths.
            let around = polar.across[i] <= radius;
            let (first, width) = self.columns(firsts[i], lasts[i], around);
            let window = Window { top: top.max(0) as usize, bottom: bottom.min(height - 1) as usize, first, width };
            let farthest = range + spread;
            let need = range + radius + self.margin + self.margin_per_m * farthest;
            // First what most places fail.
            if !self.tables.all_beyond(&window, need) {
                if level > 0 {
                    // What every cube of the block needs at least.
                    let nearest = range - spread;
                    let needed = nearest + (radius - spread) + self.margin + self.margin_per_m * nearest;
                    verdicts.split |= u8::from(self.tables.any_beyond(&window, needed - SLACK_M)) << i;
                }
                continue;
            }
            let seen = self.tables.seen(&window);
            let all = (bottom - top + 1) as f32 * width as f32;
            if seen == 0 {
                continue;
            }
            if level == 0 {
                let row = self.image.rows.coordinate(polar.elevation[i]);
                let inside = row >= 0.0 && row < height as f32;
                verdicts.passed |= u8::from(inside && seen as f32 >= self.valid * all) << i;
            } else {
                let inside = top >= 0 && bottom < height && farthest <= self.max_range;
                let whole = inside && seen as f32 >= self.valid_block * all;
                verdicts.passed |= u8::from(whole) << i;
                verdicts.split |= u8::from(!whole) << i;
            }
        }
        verdicts
    }

    /// Half the angle under which a ball is seen from a distance, with the pose's error.
    #[inline(always)]
    fn angle_of(&self, level: usize, radius: f32, distance: f32) -> f32 {
        let ratio = radius / distance.max(radius);
        if level == 0 { ratio + self.angle } else { asin_above(ratio) + self.angle + SLACK_RAD }
    }

    /// First column and number of columns of a window.
    #[inline(always)]
    fn columns(&self, first: i32, last: i32, around: bool) -> (usize, usize) {
        let columns = self.image.columns as i32;
        let width = last - first + 1;
        if around || width >= columns {
            return (0, columns as usize);
        }
        // Once around at most: the centre is in the image and half the window is less than it.
        let first = if first < 0 {
            first + columns
        } else if first >= columns {
            first - columns
        } else {
            first
        };
        (first as usize, width as usize)
    }
}

/// A column of blocks, tested with the widest instructions there are. Rust never fuses or reorders floating-point
/// operations, so the bits are the same with any.
struct Column<'a, 'b> {
    pass: &'a Pass<'b>,
    x: i32,
    y: i32,
    low: i32,
    high: i32,
}

impl pulp::WithSimd for Column<'_, '_> {
    type Output = Vec<(BlockKey, Passed)>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        self.pass.column_here(self.x, self.y, self.low, self.high)
    }
}

/// Places around a centre.
#[inline(always)]
fn at(centre: [f32; 3], offsets: &Places) -> Places {
    let mut places = *offsets;
    for axis in 0..3 {
        for lane in 0..LANES {
            places[axis][lane] += centre[axis];
        }
    }
    places
}

/// Numbers of the bits that are set.
#[inline(always)]
fn bits(mut set: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(next)
    })
}
