//! From an elevation to a row of the range image, and back from neither: rows are where the beams are.

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
    /// The gap at the upper end of every interval.
    starts: Vec<u16>,
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
                let upper = top - start as f32 / per_radian;
                while gap + 2 < elevations.len() && elevations[gap + 1] > upper {
                    gap += 1;
                }
                gap.saturating_sub(1) as u16
            })
            .collect();
        let slope = (elevations.len() - 1) as f32 / (top - bottom);
        let line = [0.5 + top * slope, slope];
        let off = |(i, elevation): (usize, &f32)| (line[0] - line[1] * elevation - (i as f32 + 0.5)).abs();
        let even = elevations.iter().enumerate().map(off).all(|off| off < EVEN).then_some(line);
        Self { elevations: elevations.to_vec(), at, starts, per_radian, even }
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
        let start = ((self.elevations[0] - elevation) * self.per_radian) as usize;
        let mut gap = usize::from(self.starts[start.min(STARTS - 1)]);
        while gap + 1 < self.at.len() && elevation < self.elevations[gap + 1] {
            gap += 1;
        }
        let [offset, slope] = self.at[gap];
        offset - slope * elevation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::free::sensor::{SENSORS, Sensor};

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
