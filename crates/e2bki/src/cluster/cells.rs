//! One cluster per world-anchored cube. O(N), bounded in extent, and a place seen again gives the same cubes.

use rayon::prelude::*;

use crate::groups::Numbers;
use crate::maths::floor_i32;
use crate::pose::Pose;
use crate::primitive::snapped;

/// The cube of side `side` that holds a world position.
pub(crate) fn cell_of(world: [f64; 3], side: f64) -> [i32; 3] {
    world.map(|v| floor_i32(v / side))
}

/// Cluster numbers of points (sensor coordinates) of possibly several classes: one per class and cube.
pub(super) fn cells(points: &[[f32; 3]], labels: &[u16], world_from_sensor: &Pose, side: f64) -> Vec<u32> {
    let keys: Vec<(u16, [i32; 3])> = points
        .par_iter()
        .zip(labels)
        .with_min_len(4096)
        .map(|(point, label)| (*label, cell_of(snapped(world_from_sensor.apply(point.map(f64::from))), side)))
        .collect();
    Numbers::new(&keys).of
}
