//! One turn of a LiDAR: a first ray per beam, extra rays across the beam where neighbours disagree, then echoes.
//! Each beam's randomness comes from the frame's seed and its slot, so thread count changes nothing.

use rayon::prelude::*;

use super::Lidar;
use super::echo::{Echo, Part, strongest};
use crate::maths::{Rigid, Vec3, hash2, unit_from, vec3};
use crate::scene::{Hit, Material, Ray, View};

/// Extra rays across a beam at an edge.
const EXTRA: usize = 3;

/// Up to `EXTRA + 1` parts of a beam, without allocation.
#[derive(Default)]
struct Parts {
    list: [Part; EXTRA + 1],
    count: usize,
}

impl Parts {
    fn add(&mut self, part: Option<Part>) {
        if let (Some(part), Some(place)) = (part, self.list.get_mut(self.count)) {
            *place = part;
            self.count += 1;
        }
    }

    fn as_mut_slice(&mut self) -> &mut [Part] {
        &mut self.list[..self.count]
    }
}

/// The returns of one turn, in the order the real sensor's files have them. Beams without return are left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LidarScan {
    /// Positions in the sensor frame, metres.
    pub points: Vec<[f32; 3]>,
    /// Intensity as the format stores it.
    pub intensity: Vec<f32>,
    /// Material of the surface.
    pub materials: Vec<Material>,
    /// Object number, 0 for scenery.
    pub objects: Vec<u32>,
    /// True where the object moves.
    pub moving: Vec<bool>,
    /// Place of the return among all `slots`.
    pub slots: Vec<u32>,
}

struct Turn<'a> {
    lidar: &'a Lidar,
    view: &'a View,
    /// Sensor pose at each column.
    poses: Vec<Rigid>,
    /// Sine and cosine of each column's azimuth.
    columns: Vec<(f64, f64)>,
    /// Direction of each beam in a column at azimuth 0.
    beams: Vec<Vec3>,
}

impl<'a> Turn<'a> {
    fn new(lidar: &'a Lidar, view: &'a View, world_from_sensor: impl Fn(f64) -> Rigid) -> Turn<'a> {
        let azimuths: Vec<f64> = (0..lidar.columns).map(|c| lidar.azimuth(c)).collect();
        let aim = |e: f64, a: f64| vec3(e.cos() * a.cos(), e.cos() * a.sin(), e.sin());
        Turn {
            lidar,
            view,
            poses: azimuths.iter().map(|a| world_from_sensor(a / std::f64::consts::TAU)).collect(),
            columns: azimuths.iter().map(|a| a.sin_cos()).collect(),
            beams: lidar.beams.iter().map(|b| aim(b.elevation, b.azimuth)).collect(),
        }
    }

    fn direction(&self, beam: usize, column: usize) -> Vec3 {
        let (b, (sin, cos)) = (self.beams[beam], self.columns[column]);
        vec3(cos * b.x - sin * b.y, sin * b.x + cos * b.y, b.z)
    }

    fn ray(&self, column: usize, direction: Vec3) -> Ray {
        let pose = &self.poses[column];
        Ray { origin: pose.translation, direction: pose.rotate(direction) }
    }

    /// Column of another beam that looks along nearly the same azimuth.
    fn beside(&self, beam: usize, column: usize, other: usize) -> usize {
        let lidar = self.lidar;
        let step = std::f64::consts::TAU / lidar.columns as f64;
        let shift = (lidar.beams[beam].azimuth - lidar.beams[other].azimuth) / step * lidar.spin;
        (column as i64 + shift.round() as i64).rem_euclid(lidar.columns as i64) as usize
    }

    /// True when the neighbours do not lie on one plane with this beam's hit (inverse range is linear on a plane).
    fn is_edge(&self, first: &[Option<Hit>], beam: usize, column: usize) -> bool {
        let n = self.lidar.beams.len();
        let inverse = |b: usize, c: usize| first[c * n + b].map_or(0.0, |h| 1.0 / h.t);
        let here = inverse(beam, column);
        // Leaves are ragged at every scale: only a crown's outline is worth extra rays.
        let leafy = first[column * n + beam].is_some_and(|h| h.material.is_plant());
        let flat = if leafy { 0.2 } else { 0.03 };
        let bent = |a: f64, b: f64| (a + b - 2.0 * here).abs() > flat * here.max(a).max(b);
        let columns = self.lidar.columns;
        let (left, right) = ((column + columns - 1) % columns, (column + 1) % columns);
        if bent(inverse(beam, left), inverse(beam, right)) {
            return true;
        }
        let (up, down) = (beam.saturating_sub(1), (beam + 1).min(n - 1));
        up + 1 == beam
            && down == beam + 1
            && bent(inverse(up, self.beside(beam, column, up)), inverse(down, self.beside(beam, column, down)))
    }

    fn echo(&self, first: &[Option<Hit>], beam: usize, column: usize, seed: u64) -> Option<Echo> {
        let lidar = self.lidar;
        let hit = first[column * lidar.beams.len() + beam];
        let direction = self.direction(beam, column);
        let mut parts = Parts::default();
        let slot_seed = hash2(seed, beam as i64, column as i64);
        let ray = self.ray(column, direction);
        parts.add(hit.map(|h| Part::new(h, ray.direction, 2.0)));
        let mut sent = 2.0;
        if self.is_edge(first, beam, column) {
            sent += EXTRA as f64;
            let side = vec3(-direction.y, direction.x, 0.0).unit();
            let up = direction.cross(side);
            let phase = std::f64::consts::TAU * unit_from(slot_seed);
            for k in 0..EXTRA {
                let angle = phase + std::f64::consts::TAU * k as f64 / EXTRA as f64;
                let off = side * (lidar.divergence * angle.cos()) + up * (lidar.divergence * angle.sin());
                let ray = self.ray(column, (direction + off).unit());
                parts.add(self.view.cast(&ray, lidar.max_range_m).map(|h| Part::new(h, ray.direction, 1.0)));
            }
        }
        strongest(parts.as_mut_slice(), sent, lidar, slot_seed)
    }
}

/// Scans `view`. `world_from_sensor(turn)` is the sensor's pose when it looks along azimuth `turn · 2π`, `turn` in
/// `(-½, ½]`; a sensor at rest ignores its argument.
pub(crate) fn scan(lidar: &Lidar, view: &View, world_from_sensor: impl Fn(f64) -> Rigid, seed: u64) -> LidarScan {
    let n = lidar.beams.len();
    let turn = Turn::new(lidar, view, world_from_sensor);
    let first: Vec<Option<Hit>> = (0..lidar.columns)
        .into_par_iter()
        .with_min_len(16)
        .flat_map_iter(|c| (0..n).map(move |b| (b, c)))
        .map(|(b, c)| view.cast(&turn.ray(c, turn.direction(b, c)), lidar.max_range_m))
        .collect();
    let echoes: Vec<Option<Echo>> = (0..lidar.slots())
        .into_par_iter()
        .with_min_len(1024)
        .map(|slot| {
            let (b, c) =
                if lidar.by_ring { (slot / lidar.columns, slot % lidar.columns) } else { (slot % n, slot / n) };
            turn.echo(&first, b, c, seed)
        })
        .collect();
    gather(&turn, &echoes)
}

fn gather(turn: &Turn<'_>, echoes: &[Option<Echo>]) -> LidarScan {
    let lidar = turn.lidar;
    let n = lidar.beams.len();
    let mut scan = LidarScan::default();
    for (slot, echo) in echoes.iter().enumerate() {
        let Some(echo) = echo else { continue };
        let (b, c) = if lidar.by_ring { (slot / lidar.columns, slot % lidar.columns) } else { (slot % n, slot / n) };
        scan.points.push((turn.direction(b, c) * echo.range).to_f32());
        scan.intensity.push(echo.intensity as f32);
        scan.materials.push(echo.material);
        scan.objects.push(echo.object);
        scan.moving.push(echo.moving);
        scan.slots.push(slot as u32);
    }
    scan
}
