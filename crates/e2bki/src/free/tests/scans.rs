//! Small scans to test with.

use crate::free::Sensor;
use crate::pose::Pose;

/// Numbers from 0 to 1, always the same.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A sensor of twelve beams at uneven distances.
pub(super) fn small_sensor() -> Sensor {
    let elevations = [20.0, 14.0, 9.0, 5.0, 2.0, 0.0, -2.0, -5.0, -9.0, -14.0, -22.0, -32.0];
    Sensor::new(&elevations, 72).unwrap()
}

/// What a sensor sees of patches at random distances, some of which send nothing back.
pub(super) fn patches(sensor: &Sensor, seed: u64, missing: f64) -> Vec<[f32; 3]> {
    let mut random = Random(seed);
    let ranges: Vec<f64> = (0..60).map(|_| 1.0 + 12.0 * random.next()).collect();
    let mut points = Vec::new();
    for (row, elevation) in sensor.elevations().iter().enumerate() {
        for column in 0..sensor.columns() {
            if random.next() < missing {
                continue;
            }
            let range = ranges[(row / 3 * 12 + column * 12 / sensor.columns()) % 60] + 0.05 * random.next();
            points.push(at(f64::from(*elevation), (column as f64 + 0.5) / sensor.columns() as f64, range));
        }
    }
    points
}

/// The point at an elevation, a share of a turn and a range.
pub(super) fn at(elevation: f64, turn: f64, range: f64) -> [f32; 3] {
    let azimuth = std::f64::consts::TAU * turn - std::f64::consts::PI;
    let flat = range * elevation.cos();
    [flat * azimuth.cos(), flat * azimuth.sin(), range * elevation.sin()].map(|v| v as f32)
}

/// A pose somewhere, turned somehow.
pub(super) fn some_pose(seed: u64) -> Pose {
    let mut random = Random(seed ^ 0x5eed);
    let (a, b) = (6.3 * random.next(), 0.3 * (random.next() - 0.5));
    let ((sa, ca), (sb, cb)) = (a.sin_cos(), b.sin_cos());
    let rotation = [[ca * cb, -sa, ca * sb], [sa * cb, ca, sa * sb], [-sb, 0.0, cb]];
    Pose::new(rotation, std::array::from_fn(|_| 1000.0 * (random.next() - 0.5))).unwrap()
}
