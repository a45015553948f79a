//! The cubes (sensor coordinates) in which a scan's points are neighbours.

use rayon::prelude::*;

use crate::groups::Numbers;
use crate::maths::floor_i32;

/// Points by cube.
pub(super) struct Cubes {
    /// Number of every point's cube, and where each cube is: multiples of the side.
    pub(super) numbers: Numbers<[i32; 3]>,
    /// Points of every label in every cube: a row per cube.
    pub(super) counts: Vec<u32>,
}

impl Cubes {
    pub(super) fn new(points: &[[f32; 3]], labels: &[u16], classes: usize, side: f32) -> Self {
        let cube = |point: &[f32; 3]| point.map(|v| floor_i32(f64::from(v / side)));
        let keys: Vec<[i32; 3]> = points.par_iter().with_min_len(4096).map(cube).collect();
        let numbers = Numbers::new(&keys);
        let mut counts = vec![0; numbers.len() * classes];
        for (cube, label) in numbers.of.iter().zip(labels) {
            counts[*cube as usize * classes + usize::from(*label)] += 1;
        }
        Self { numbers, counts }
    }
}
