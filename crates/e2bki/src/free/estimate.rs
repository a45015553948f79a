//! The sensor of a scan that comes without a description, from the scan alone: beams where elevations crowd, or, where
//! they do not (a laser's elevation varies with the range by the width of the sensor), equal rows at the beams' spacing.

use rayon::prelude::*;

use super::polar::{LANES, polar};
use super::sensor::{BEAMS, COLUMNS, Sensor};
use crate::error::{Error, Result};

/// Fewest returns that show a sensor.
const FEWEST: usize = 500;
/// Elevations are counted in so many intervals per degree.
const PER_DEGREE: usize = 50;
/// A gap between beams holds at most this share of the smaller of its neighbours.
const VALLEY: f64 = 0.3;
/// Share of returns that must be near a beam, within a quarter of the distance to the next.
const NEAR_BEAMS: f64 = 0.85;
/// Equal rows are as many as leave this share of pixels filled, in the middle of the field of view.
const FILLED: f64 = 0.7;
/// Numbers of equal rows that are tried, most first.
const ROWS: [usize; 14] = [256, 192, 160, 128, 112, 96, 80, 64, 48, 40, 32, 24, 16, 8];

/// Points that are looked at together.
const CHUNK: usize = 8192;

/// A point by angles, degrees; not numbers where nothing came back.
#[derive(Clone, Copy)]
struct Look {
    elevation: f32,
    azimuth: f32,
}

impl Look {
    fn is_return(&self) -> bool {
        self.elevation.is_finite()
    }
}

/// The sensor that a scan seems to be from. Points that are not finite or within half a metre are left out. Fails, and
/// says why, if the scan shows no beams.
pub fn estimate(points: &[[f32; 3]]) -> Result<Sensor> {
    let looks = looks(points);
    if looks.len() < FEWEST {
        return refuse(&format!("it has {} returns, and {FEWEST} are needed", looks.len()));
    }
    let beams = beams(&looks);
    let ahead = Sector::of(&looks);
    if BEAMS.contains(&beams.len()) && near(&ahead.looks, &beams) >= NEAR_BEAMS {
        let columns = columns(gap_within_beams(&ahead.looks, &beams))?;
        return Sensor::new(&beams, columns);
    }
    even(&looks, &ahead)
}

/// The part of a scan that shows how its beams lie: a quarter turn ahead, if it holds its share of the returns, or all of it.
struct Sector {
    looks: Vec<Look>,
    /// Half its angle, degrees.
    half: f32,
}

impl Sector {
    fn of(looks: &[Look]) -> Self {
        let ahead: Vec<Look> = looks.iter().copied().filter(|look| look.azimuth.abs() < 45.0).collect();
        if ahead.len() >= FEWEST && ahead.len() * 8 >= looks.len() {
            return Self { looks: ahead, half: 45.0 };
        }
        Self { looks: looks.to_vec(), half: 180.0 }
    }

    /// The columns that lie in it as a whole, of so many in a turn.
    fn columns(&self, columns: usize) -> std::ops::Range<usize> {
        let at = |azimuth: f32| (azimuth + 180.0) / 360.0 * columns as f32;
        at(-self.half).ceil() as usize..at(self.half).floor() as usize
    }
}

/// The sensor of a scan whose data says which beam each return is from, and the row (0: the highest beam) of every
/// return.
pub fn of_rings(points: &[[f32; 3]], rings: &[u16]) -> Result<(Sensor, Vec<u16>)> {
    if points.len() != rings.len() {
        let why = "one beam per point".into();
        return Err(Error::Length { field: "rings", found: rings.len(), expected: points.len(), why });
    }
    let most = rings.iter().copied().max().map_or(0, usize::from) + 1;
    if most > *BEAMS.end() {
        return refuse(&format!("its beams are numbered up to {}, and 511 is the largest number", most - 1));
    }
    let (mut sums, mut azimuths) = (vec![(0.0, 0_u32); most], vec![Vec::new(); most]);
    for (looks, rings) in points.chunks(CHUNK).zip(rings.chunks(CHUNK)) {
        for (look, ring) in all_looks(looks).into_iter().zip(rings).filter(|(look, _)| look.is_return()) {
            let (sum, count) = &mut sums[usize::from(*ring)];
            *sum += f64::from(look.elevation);
            *count += 1;
            azimuths[usize::from(*ring)].push(look.azimuth);
        }
    }
    let mut order: Vec<(usize, f64)> = sums
        .iter()
        .enumerate()
        .filter(|(_, (_, count))| *count > 0)
        .map(|(ring, (sum, count))| (ring, sum / f64::from(*count)))
        .collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let beams: Vec<f64> = order.iter().map(|(_, elevation)| *elevation).collect();
    if !BEAMS.contains(&beams.len()) {
        return refuse(&format!("it is from {} beams, and 4 to 512 are needed", beams.len()));
    }
    let columns = columns(gap_within(azimuths))?;
    let sensor = Sensor::new(&beams, columns)?;
    let mut rows = vec![0; most];
    for (row, (ring, _)) in order.iter().enumerate() {
        rows[*ring] = row as u16;
    }
    Ok((sensor, rings.iter().map(|ring| rows[usize::from(*ring)]).collect()))
}

fn refuse<T>(why: &str) -> Result<T> {
    Err(Error::Unsupported(format!(
        "free space: the scan shows no sensor ({why}); name the sensor, or leave free space out"
    )))
}

/// A look at every point.
fn all_looks(points: &[[f32; 3]]) -> Vec<Look> {
    pulp::Arch::new().dispatch(LooksOf(points))
}

/// The returns among points.
fn looks(points: &[[f32; 3]]) -> Vec<Look> {
    let chunk = |points: &[[f32; 3]]| all_looks(points).into_iter().filter(Look::is_return).collect::<Vec<_>>();
    points.par_chunks(CHUNK).map(chunk).collect::<Vec<_>>().concat()
}

/// Points to be looked at with the widest instructions there are: the bits are the same with any.
struct LooksOf<'a>(&'a [[f32; 3]]);

impl pulp::WithSimd for LooksOf<'_> {
    type Output = Vec<Look>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Vec<Look> {
        let mut looks = Vec::with_capacity(self.0.len());
        for points in self.0.chunks(LANES) {
            let mut places = [[0.0; LANES]; 3];
            for (lane, point) in points.iter().enumerate() {
                for axis in 0..3 {
                    places[axis][lane] = point[axis];
                }
            }
            let polar = polar(&places);
            for lane in 0..points.len() {
                let (elevation, azimuth) = (polar.elevation[lane].to_degrees(), polar.azimuth[lane].to_degrees());
                let is_return = polar.range[lane].is_finite() && polar.range[lane] >= 0.5;
                looks.push(Look { elevation: if is_return { elevation } else { f32::NAN }, azimuth });
            }
        }
        looks
    }
}

/// Elevations, degrees and falling, at which returns crowd: peaks of their histogram with valleys on both sides.
fn beams(looks: &[Look]) -> Vec<f64> {
    let mut counts = vec![0_u32; 180 * PER_DEGREE + 1];
    let last = counts.len() - 1;
    for look in looks {
        counts[(((90.0 - look.elevation) * PER_DEGREE as f32) as usize).min(last)] += 1;
    }
    let mut beams: Vec<f64> = Vec::new();
    // The peak that is being climbed or left: its height, and the sum and number of its returns.
    let (mut height, mut sum, mut number, mut lowest) = (0.0, 0.0, 0.0, 0.0);
    for (i, count) in counts.iter().enumerate() {
        let (count, elevation) = (f64::from(*count), 90.0 - (i as f64 + 0.5) / PER_DEGREE as f64);
        if height > 0.0 && count <= VALLEY * height {
            // In the valley after a peak: it ends where the next one begins.
            if count == 0.0 || count > lowest / VALLEY + 1.0 {
                beams.push(sum / number);
                (height, sum, number) = (0.0, 0.0, 0.0);
            }
            lowest = if height == 0.0 || count < lowest { count } else { lowest };
        } else {
            lowest = count;
        }
        height = f64::max(height, count);
        sum += count * elevation;
        number += count;
        if number == 0.0 {
            height = 0.0;
        }
    }
    if number > 0.0 {
        beams.push(sum / number);
    }
    beams
}

/// Index of the beam nearest to an elevation.
fn nearest(beams: &[f64], elevation: f64) -> usize {
    let after = beams.partition_point(|beam| *beam > elevation).min(beams.len() - 1);
    let before = after.saturating_sub(1);
    if (beams[before] - elevation).abs() < (beams[after] - elevation).abs() { before } else { after }
}

/// Share of returns that are within a quarter of a beam's distance to the next.
fn near(looks: &[Look], beams: &[f64]) -> f64 {
    let spacing = |i: usize| {
        let above = if i > 0 { beams[i - 1] - beams[i] } else { f64::INFINITY };
        let below = if i + 1 < beams.len() { beams[i] - beams[i + 1] } else { f64::INFINITY };
        above.min(below)
    };
    let spacing: Vec<f64> = (0..beams.len()).map(spacing).collect();
    let is_near = |look: &&Look| {
        let elevation = f64::from(look.elevation);
        let beam = nearest(beams, elevation);
        (elevation - beams[beam]).abs() <= 0.25 * spacing[beam]
    };
    looks.par_iter().with_min_len(8192).filter(is_near).count() as f64 / looks.len() as f64
}

/// Median distance in azimuth between neighbours of one beam, degrees.
fn gap_within_beams(looks: &[Look], beams: &[f64]) -> f32 {
    let mut azimuths = vec![Vec::new(); beams.len()];
    for look in looks {
        azimuths[nearest(beams, f64::from(look.elevation))].push(look.azimuth);
    }
    gap_within(azimuths)
}

/// The same of azimuths by beam.
fn gap_within(azimuths: Vec<Vec<f32>>) -> f32 {
    let mut gaps: Vec<f32> = azimuths
        .into_par_iter()
        .flat_map_iter(|mut azimuths| {
            azimuths.sort_unstable_by(f32::total_cmp);
            azimuths.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 1e-3).collect::<Vec<_>>()
        })
        .collect();
    median(&mut gaps)
}

fn median(values: &mut [f32]) -> f32 {
    if values.is_empty() {
        return f32::INFINITY;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f32::total_cmp).1
}

fn columns(gap_deg: f32) -> Result<usize> {
    let columns = (360.0 / gap_deg).round() as usize;
    if COLUMNS.contains(&columns) {
        return Ok(columns);
    }
    refuse(&format!("returns that follow each other are {gap_deg}° apart"))
}

/// Equal rows, for scans that are written beam by beam.
fn even(looks: &[Look], ahead: &Sector) -> Result<Sensor> {
    let follow = |pair: &[Look]| (pair[1].azimuth - pair[0].azimuth).abs();
    let mut gaps: Vec<f32> = ahead.looks.windows(2).map(follow).filter(|gap| *gap > 1e-3).collect();
    let columns = columns(median(&mut gaps))?;
    let mut elevations: Vec<f32> = looks.iter().map(|look| look.elevation).collect();
    let mut at = |share: f64| {
        let rank = ((elevations.len() - 1) as f64 * share) as usize;
        f64::from(*elevations.select_nth_unstable_by(rank, f32::total_cmp).1)
    };
    let (top, bottom) = (at(0.999), at(0.001));
    // Sky above and the vehicle below leave beams without returns: the middle shows how many there are.
    let (high, low) = (at(0.8), at(0.1));
    let column = |look: &Look| (((look.azimuth + 180.0) / 360.0 * columns as f32) as usize).min(columns - 1);
    // Half a row of the widest spacing more than the middle: what is in its rows.
    let half = 0.5 * (top - bottom) / (ROWS[ROWS.len() - 1] - 1) as f64;
    let shown = ahead.columns(columns);
    let middle: Vec<(f64, usize)> = ahead
        .looks
        .iter()
        .map(|look| (f64::from(look.elevation), look))
        .filter(|(elevation, _)| *elevation >= low - half && *elevation <= high + half)
        .map(|(elevation, look)| (elevation, column(look)))
        .filter(|(_, column)| shown.contains(column))
        .map(|(elevation, column)| (elevation, column - shown.start))
        .collect();
    for rows in ROWS {
        let step = (top - bottom) / (rows - 1) as f64;
        let row = |elevation: f64| ((top - elevation) / step + 0.5) as usize;
        let (first, last) = (row(high), row(low));
        if step < 0.02 || last < first + 3 {
            continue;
        }
        let mut filled = vec![false; (last + 1) * shown.len()];
        for (elevation, column) in &middle {
            let row = row(*elevation);
            if row >= first && row < last {
                filled[row * shown.len() + column] = true;
            }
        }
        let share = filled.iter().filter(|pixel| **pixel).count() as f64 / ((last - first) * shown.len()).max(1) as f64;
        if share >= FILLED {
            return Sensor::uniform(rows, top, bottom, columns);
        }
    }
    refuse("its returns lie in no rows")
}
