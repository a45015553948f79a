//! From an elevation to a row of the range image, and back from neither: rows are where the beams are.

use super::angles::floor;
use super::polar::LANES;

/// Intervals of equal size that a search for the two beams around an elevation starts from.
const STARTS: usize = 1024;

/// The row coordinate of elevations: beam i is at i + ½, between beams it grows evenly, and beyond the outermost as
/// between the two outermost.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rows {
    /// Elevations of the beams, radians, highest first.
    elevations: Vec<f32>,
    /// Row coordinate between beams i and i + 1: `at[i][0] − at[i][1] · elevation`.
    at: Vec<[f32; 2]>,
    /// The elevation below which the next gap begins, for every gap.
    borders: Vec<f32>,
    /// The gap at the upper end of every interval, and how many gaps farther its lower end is, at most.
    starts: Vec<u16>,
    steps: usize,
    per_radian: f32,
    /// The same for all elevations, where beams are at equal distances: no search is needed.
    even: Option<[f32; 2]>,
}

/// How far from its row a beam may be for all to count as equally spaced, rows.
const EVEN: f32 = 1e-3;

impl Rows {
    /// `elevations` fall, and there are two or more.
    pub(super) fn new(elevations: &[f32]) -> Self {
        let at = elevations
            .windows(2)
            .enumerate()
            .map(|(i, pair)| {
                let slope = 1.0 / (pair[0] - pair[1]);
                [i as f32 + 0.5 + pair[0] * slope, slope]
            })
            .collect();
        let (top, bottom) = (elevations[0], elevations[elevations.len() - 1]);
        let per_radian = STARTS as f32 / (top - bottom);
        let mut gap = 0;
        let starts = (0..STARTS)
            .map(|start| {
                // A little above: rounding must not take an elevation past its gap.
                let upper = top - (start as f32 - 0.01) / per_radian;
                while gap + 2 < elevations.len() && elevations[gap + 1] > upper {
                    gap += 1;
                }
                gap as u16
            })
            .collect();
        let starts: Vec<u16> = starts;
        // To the start of the interval after the next: what lies below its upper end by rounding is in a gap before.
        let steps = (0..STARTS)
            .map(|start| {
                starts.get(start + 2).map_or(elevations.len() - 2, |next| usize::from(*next))
                    - usize::from(starts[start])
            })
            .max();
        let mut borders = elevations[1..].to_vec();
        if let Some(last) = borders.last_mut() {
            *last = f32::NEG_INFINITY;
        }
        let slope = (elevations.len() - 1) as f32 / (top - bottom);
        let line = [0.5 + top * slope, slope];
        let off = |(i, elevation): (usize, &f32)| (line[0] - line[1] * elevation - (i as f32 + 0.5)).abs();
        let even = elevations.iter().enumerate().map(off).all(|off| off < EVEN).then_some(line);
        Self { elevations: elevations.to_vec(), at, borders, starts, steps: steps.unwrap_or(0), per_radian, even }
    }

    pub(super) fn len(&self) -> usize {
        self.elevations.len()
    }

    /// The row coordinate of an elevation.
    #[inline(always)]
    pub(super) fn coordinate(&self, elevation: f32) -> f32 {
        if let Some([offset, slope]) = self.even {
            return offset - slope * elevation;
        }
        let start = ((self.elevations[0] - elevation) * self.per_radian).clamp(0.0, (STARTS - 1) as f32);
        let mut gap = usize::from(self.starts[floor(start) as usize & (STARTS - 1)]);
        // As many steps for all: a jump that nobody can foresee costs more.
        for _ in 0..self.steps {
            gap += usize::from(elevation < self.borders[gap]);
        }
        let [offset, slope] = self.at[gap];
        offset - slope * elevation
    }

    /// Those of eight elevations.
    #[inline(always)]
    pub(super) fn coordinates(&self, elevations: &[f32; LANES]) -> [f32; LANES] {
        let mut rows = [0.0; LANES];
        match self.even {
            Some([offset, slope]) => {
                for i in 0..LANES {
                    rows[i] = offset - slope * elevations[i];
                }
            }
            None => {
                for i in 0..LANES {
                    rows[i] = self.coordinate(elevations[i]);
                }
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::free::sensor::{SENSORS, Sensor};

    #[test]
    fn every_elevation_is_in_the_gap_that_a_search_finds() {
        let uneven = Sensor::new(&[80.0, 79.98, 30.0, 1.0, 0.98, 0.96, 0.94, -3.0, -80.0], 64).unwrap();
        let named = SENSORS.map(|name| Sensor::named(name).unwrap());
        for sensor in named.iter().chain([&uneven]) {
            let beams = sensor.elevations();
            let rows = Rows::new(beams);
            if rows.even.is_some() {
                continue;
            }
            let near = beams.iter().flat_map(|beam| [beam.next_down(), *beam, beam.next_up()]);
            for elevation in near.chain((0..40_000).map(|i| 1.57 - i as f32 * 7.85e-5)) {
                let gap = (0..beams.len() - 2).find(|i| elevation >= beams[i + 1]).unwrap_or(beams.len() - 2);
                let [offset, slope] = rows.at[gap];
                assert_eq!(rows.coordinate(elevation), offset - slope * elevation, "{elevation} of {beams:?}");
            }
        }
    }

    #[test]
    fn beams_are_in_the_middle_of_their_rows_and_the_coordinate_grows_downwards() {
        for name in SENSORS {
            let sensor = Sensor::named(name).unwrap();
            let rows = Rows::new(sensor.elevations());
            for (i, elevation) in sensor.elevations().iter().enumerate() {
                assert!((rows.coordinate(*elevation) - (i as f32 + 0.5)).abs() < 1e-3, "{name} {i}");
            }
            let mut last = f32::NEG_INFINITY;
            for i in 0..20_000 {
                let v = rows.coordinate(1.57 - i as f32 * 1.57e-4);
                assert!(v >= last - 1e-4, "{name}");
                last = v;
            }
        }
    }
}
