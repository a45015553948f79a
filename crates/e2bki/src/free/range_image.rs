//! The range image of a scan: for every beam and column the least range that came back. It is made of all returns,
//! before any gate, range cut or label filter: what a beam hit stops it, whatever it is.

use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;

use super::angles::floor;
use super::polar::{LANES, polar};
use super::rows::Rows;
use super::sensor::Sensor;
use crate::error::{Error, Result};

/// Returns nearer than this are on the sensor itself, metres.
const NEAREST_M: f32 = 0.5;
/// Points per parallel task.
const CHUNK: usize = 8192;
/// Largest share of returns that may lie beyond the beams of the sensor.
const MOST_OUTSIDE: f64 = 0.2;

/// A range image.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeImage {
    pub(super) rows: Rows,
    pub(super) columns: usize,
    /// Least range of every pixel, column by column; infinite where nothing came back.
    pixels: Vec<f32>,
}

/// Where a return falls: its row, column coordinate and range.
#[derive(Clone, Copy)]
struct Placed {
    row: u32,
    column: f32,
    range: f32,
}

/// Not in the image: no return, or beyond the beams.
const NOWHERE: u32 = u32::MAX;

/// Column coordinate of an azimuth: pixel c holds c to c + 1.
#[inline(always)]
pub(super) fn column_of(azimuth: f32, columns: usize) -> f32 {
    (azimuth + std::f32::consts::PI) * (columns as f32 * (0.5 / std::f32::consts::PI))
}

impl RangeImage {
    /// The image of a scan's returns in the sensor's coordinates. Points that are not finite or at the sensor are no
    /// returns. `rows` gives the row of every return (0: the highest beam), where the data says which beam it is from;
    /// otherwise its elevation says it. Fails if the scan is not of this sensor.
    pub fn new(sensor: &Sensor, points: &[[f32; 3]], rows: Option<&[u16]>) -> Result<Self> {
        if let Some(rows) = rows.filter(|rows| rows.len() != points.len()) {
            let why = "one beam per point".into();
            return Err(Error::Length { field: "rings", found: rows.len(), expected: points.len(), why });
        }
        let (height, columns) = (sensor.beams(), sensor.columns());
        let lines = Rows::new(sensor.elevations());
        let placed: Vec<(Vec<Placed>, usize)> = points
            .par_chunks(CHUNK)
            .enumerate()
            .map(|(chunk, points)| {
                let rows = rows.map(|rows| &rows[chunk * CHUNK..][..points.len()]);
                // With the widest instructions there are: the bits are the same with any.
                pulp::Arch::new().dispatch(Place { lines: &lines, columns, points, rows })
            })
            .collect();
        let outside: usize = placed.iter().map(|(_, outside)| outside).sum();
        let inside = placed.iter().flat_map(|(chunk, _)| chunk).filter(|p| p.row != NOWHERE).count();
        if outside as f64 > MOST_OUTSIDE * (inside + outside) as f64 {
            let all = inside + outside;
            return Err(Error::Unsupported(format!(
                "free space: {outside} of {all} returns lie beyond the sensor's {height} beams ({:.1}° to {:.1}°); name the sensor the scan is from",
                sensor.elevations()[0].to_degrees(),
                sensor.elevations()[height - 1].to_degrees(),
            )));
        }
        let shifts = shifts(height, placed.iter().flat_map(|(chunk, _)| chunk));
        let pixels: Vec<AtomicU32> = (0..height * columns).map(|_| AtomicU32::new(f32::INFINITY.to_bits())).collect();
        placed.par_iter().for_each(|(chunk, _)| {
            for point in chunk.iter().filter(|point| point.row != NOWHERE) {
                let row = point.row as usize;
                let column = floor(point.column - shifts[row]).rem_euclid(columns as i32) as usize;
                // Positive numbers are ordered as their bits are, and the least is the same in any order.
                pixels[column * height + row].fetch_min(point.range.to_bits(), Ordering::Relaxed);
            }
        });
        let pixels = pixels.into_iter().map(|bits| f32::from_bits(bits.into_inner())).collect();
        Ok(Self { rows: lines, columns, pixels })
    }

    /// Number of beams.
    pub fn height(&self) -> usize {
        self.rows.len()
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.columns
    }

    /// Least range at a pixel, metres, if anything came back.
    pub fn range(&self, row: usize, column: usize) -> Option<f32> {
        self.pixels.get(column * self.height() + row).copied().filter(|range| range.is_finite())
    }

    /// Ranges column by column; infinite where nothing came back.
    pub(super) fn pixels(&self) -> &[f32] {
        &self.pixels
    }

    /// Takes a missing return for one from `range_m`: for sensors that report everything nearer than that.
    pub fn fill_missing(&mut self, range_m: f32) {
        for pixel in self.pixels.iter_mut().filter(|pixel| pixel.is_infinite()) {
            *pixel = range_m;
        }
    }
}

/// Points to be placed.
struct Place<'a> {
    lines: &'a Rows,
    columns: usize,
    points: &'a [[f32; 3]],
    rows: Option<&'a [u16]>,
}

impl pulp::WithSimd for Place<'_> {
    type Output = (Vec<Placed>, usize);

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        place(self.lines, self.columns, self.points, self.rows)
    }
}

/// Rows and columns of points, and how many returns are beyond the beams.
#[inline(always)]
fn place(lines: &Rows, columns: usize, points: &[[f32; 3]], rows: Option<&[u16]>) -> (Vec<Placed>, usize) {
    let mut placed = Vec::with_capacity(points.len());
    let (mut outside, height) = (0, lines.len() as f32);
    for (group, points) in points.chunks(LANES).enumerate() {
        let mut places = [[0.0; LANES]; 3];
        for (lane, point) in points.iter().enumerate() {
            for axis in 0..3 {
                places[axis][lane] = point[axis];
            }
        }
        let polar = polar(&places);
        for lane in 0..points.len() {
            let range = polar.range[lane];
            let mut point = Placed { row: NOWHERE, column: 0.0, range };
            if range.is_finite() && range >= NEAREST_M {
                let row = match rows {
                    Some(rows) => f32::from(rows[group * LANES + lane]),
                    None => lines.coordinate(polar.elevation[lane]),
                };
                // A laser's elevation is not quite the same at every range: half a row more is still the outermost beam's.
                if row >= -0.5 && row < height + 0.5 {
                    point.row = (row.max(0.0) as u32).min(lines.len() as u32 - 1);
                    point.column = column_of(polar.azimuth[lane], columns);
                } else {
                    outside += 1;
                }
            }
            placed.push(point);
        }
    }
    (placed, outside)
}

/// By how much the pixels of each row are moved, in quarters of a column and no more than half: a beam that fires on
/// the border of two pixels would leave every other one empty.
fn shifts<'a>(height: usize, points: impl Iterator<Item = &'a Placed>) -> Vec<f32> {
    let mut quarters = vec![[0_u32; 4]; height];
    for point in points.filter(|point| point.row != NOWHERE) {
        let quarter = ((point.column - floor(point.column) as f32) * 4.0) as usize;
        quarters[point.row as usize][quarter.min(3)] += 1;
    }
    let best = |counts: &[u32; 4]| {
        let near_border = |shift: usize| counts[shift] + counts[(shift + 3) % 4];
        let least = (0..4).min_by_key(|shift| near_border(*shift)).unwrap_or(0);
        if least == 3 { -0.25 } else { least as f32 * 0.25 }
    };
    quarters.iter().map(best).collect()
}
