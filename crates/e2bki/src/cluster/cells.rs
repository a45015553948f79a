//! One cluster per world-anchored cube. O(N), bounded in extent, and a place seen again gives the same cubes.

use std::hash::{Hash, Hasher};

use rayon::prelude::*;

use crate::groups::Numbers;
use crate::maths::floor_i32;
use crate::pose::Pose;
use crate::primitive::snapped;

/// The cube of side `side` that holds a world position.
pub(crate) fn cell_of(world: [f64; 3], side: f64) -> [i32; 3] {
    world.map(|v| floor_i32(v / side))
}

/// A class and a cube.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Cell(u16, [i32; 3]);

impl Hash for Cell {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [x, y, z] = self.1.map(|v| u64::from(v as u32));
        state.write_u64(x | y << 32);
        state.write_u64(z | u64::from(self.0) << 32);
    }
}

/// Cluster numbers of points (sensor coordinates) of possibly several classes: one per class and cube.
///
/// Where rows matter by their cube alone (`is_sum`), the numbers follow a shorter hash; elsewhere they tell ages, and stay.
pub(super) fn cells(
    points: &[[f32; 3]],
    labels: &[u16],
    world_from_sensor: &Pose,
    side: f64,
    is_sum: bool,
) -> Vec<u32> {
    let keys: Vec<Cell> = points
        .par_iter()
        .zip(labels)
        .with_min_len(4096)
        .map(|(point, label)| Cell(*label, cell_of(snapped(world_from_sensor.apply(point.map(f64::from))), side)))
        .collect();
    if is_sum {
        return Numbers::new(&keys).of;
    }
    let keys: Vec<(u16, [i32; 3])> = keys.into_iter().map(|Cell(label, cube)| (label, cube)).collect();
    Numbers::new(&keys).of
}
