//! Places on beams a little before what they hit: empty, and near enough to a surface to be claimed by a map that inflates it.
//!
//! Beams are drawn at random, and on each a place 0.3 m to 6 m before the return. Those stay that are 0.25 m to 0.75 m
//! from the nearest return of any frame.

use e2bki::cluster::Rng;
use rustc_hash::FxHashMap;

use crate::frame::LabelledFrame;

/// Distances from the nearest return, metres.
const FROM_M: f64 = 0.25;
const TO_M: f64 = 0.75;
/// Distances before the return of the beam, metres.
const BEFORE_M: (f64, f64) = (0.3, 6.0);
/// Beams drawn from a frame.
const BEAMS: usize = 6000;

/// Gathers returns, and places on beams.
#[derive(Debug, Clone)]
pub struct NearReturns {
    returns: FxHashMap<[i32; 3], Vec<[f64; 3]>>,
    places: Vec<[f64; 3]>,
    rng: Rng,
}

impl NearReturns {
    /// Nothing gathered yet; the seed decides which beams are drawn.
    pub fn new(seed: u64) -> Self {
        Self { returns: FxHashMap::default(), places: Vec::new(), rng: Rng::new(seed) }
    }

    /// Adds a frame: all of its returns, and places on some of its beams.
    pub fn add(&mut self, frame: &LabelledFrame) {
        let sensor = frame.world_from_sensor.translation();
        let finite = frame.points.iter().filter(|p| p.iter().all(|v| v.is_finite()) && **p != [0.0; 3]);
        let hits: Vec<[f64; 3]> = finite.map(|p| frame.world_from_sensor.apply(p.map(f64::from))).collect();
        for hit in &hits {
            self.returns.entry(cube(*hit)).or_default().push(*hit);
        }
        for _ in 0..if hits.is_empty() { 0 } else { BEAMS } {
            let hit = hits[((self.rng.uniform() * hits.len() as f64) as usize).min(hits.len() - 1)];
            let before = BEFORE_M.0 + self.rng.uniform() * (BEFORE_M.1 - BEFORE_M.0);
            let share = 1.0 - before / distance(hit, sensor);
            if share > 0.1 {
                self.places.push(std::array::from_fn(|a| sensor[a] + share * (hit[a] - sensor[a])));
            }
        }
    }

    /// The places that are near a return of any frame, but not too near.
    pub fn places(&self) -> Vec<[f64; 3]> {
        let near = |place: &&[f64; 3]| (FROM_M..TO_M).contains(&self.nearest(**place));
        self.places.iter().filter(near).copied().collect()
    }

    /// Distance to the nearest return, or something beyond the largest that counts.
    fn nearest(&self, place: [f64; 3]) -> f64 {
        let [x, y, z] = cube(place);
        let mut nearest = f64::INFINITY;
        for offset in 0..27 {
            let [a, b, c] = [offset % 3 - 1, offset / 3 % 3 - 1, offset / 9 - 1];
            let key = [x.saturating_add(a), y.saturating_add(b), z.saturating_add(c)];
            for hit in self.returns.get(&key).into_iter().flatten() {
                nearest = nearest.min(distance(*hit, place));
            }
        }
        nearest
    }
}

fn cube(place: [f64; 3]) -> [i32; 3] {
    place.map(|v| (v / TO_M).floor() as i32)
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Said;
    use e2bki::Pose;

    #[test]
    fn places_are_on_beams_and_keep_their_distance() {
        let points: Vec<[f32; 3]> =
            (0..900).map(|i| [8.0, -1.5 + 0.1 * (i % 30) as f32, -1.5 + 0.1 * (i / 30) as f32]).collect();
        let frame = LabelledFrame {
            said: Said::Labels(vec![0; points.len()]),
            truth: vec![0; points.len()],
            points,
            world_from_sensor: Pose::from_translation([3.0, 1.0, -2.0]).unwrap(),
        };
        let mut near = NearReturns::new(7);
        near.add(&frame);
        let places = near.places();
        assert!(places.len() > 100, "{}", places.len());
        let hits: Vec<[f64; 3]> =
            frame.points.iter().map(|p| frame.world_from_sensor.apply(p.map(f64::from))).collect();
        for place in places {
            let nearest = hits.iter().map(|hit| distance(*hit, place)).fold(f64::INFINITY, f64::min);
            assert!((0.25..0.75).contains(&nearest), "{nearest}");
            // On the line from the sensor to a return.
            let off = |hit: &[f64; 3]| {
                let (d, v) = ([0, 1, 2].map(|i| hit[i] - frame.world_from_sensor.translation()[i]), place);
                let v = [0, 1, 2].map(|i| v[i] - frame.world_from_sensor.translation()[i]);
                let cross = [d[1] * v[2] - d[2] * v[1], d[2] * v[0] - d[0] * v[2], d[0] * v[1] - d[1] * v[0]];
                cross.iter().map(|c| c * c).sum::<f64>().sqrt()
            };
            assert!(hits.iter().map(off).fold(f64::INFINITY, f64::min) < 1e-4);
        }
    }
}
