//! The cubes of a grid that a scan's points lie in: what counts as the neighbourhood of a point.

use rayon::prelude::*;

use crate::cluster::number;
use crate::maths::floor_i32;

/// Cubes that hold points, by number.
pub(super) struct Cubes {
    /// The number of every point's cube.
    pub(super) number_of: Vec<u32>,
    /// Where each cube is, in sides.
    pub(super) places: Vec<[i32; 3]>,
}

impl Cubes {
    /// The cubes of points, with sides of so many metres.
    pub(super) fn of(points: &[[f32; 3]], side: f32) -> Self {
        let cube = |point: &[f32; 3]| point.map(|v| floor_i32(f64::from(v / side)));
        let cubes: Vec<[i32; 3]> = points.par_iter().with_min_len(4096).map(cube).collect();
        let (number_of, count) = number(&cubes);
        let mut places = vec![[0; 3]; count];
        for (number, cube) in number_of.iter().zip(&cubes) {
            places[*number as usize] = *cube;
        }
        Self { number_of, places }
    }

    /// Points of each class in each cube, `classes` counts a cube.
    pub(super) fn counts(&self, labels: &[u16], classes: usize) -> Vec<u32> {
        let mut counts = vec![0; self.places.len() * classes];
        for (number, label) in self.number_of.iter().zip(labels) {
            counts[*number as usize * classes + usize::from(*label)] += 1;
        }
        counts
    }
}
