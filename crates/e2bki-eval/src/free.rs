//! Space that is known to be empty: a beam passed through it and nothing was ever seen near it.
//!
//! Acc rewards a map that inflates what it saw, so the share of empty places it claims is measured too. Places lie on
//! beams between sensor and hit. With the world in cubes of 0.25 m, a place is *clear* if neither its cube nor the 124 around
//! it hold a point of any frame (so it is at least 0.5 m from all of them), and *near* if only the 26 around it hold none
//! (at least 0.25 m).

use rustc_hash::FxHashSet;

use crate::frame::LabelledFrame;

/// Side of the cubes in which surfaces are remembered, metres.
const CUBE_M: f64 = 0.25;
/// Places kept per frame.
const PLACES_PER_FRAME: usize = 400;
/// Beams farther than this are followed only so far, metres.
const MAX_M: f64 = 50.0;

/// Gathers surfaces and places on beams.
#[derive(Debug, Clone, Default)]
pub struct EmptySpace {
    surfaces: FxHashSet<[i32; 3]>,
    places: Vec<[f64; 3]>,
    frames: u64,
}

/// Places known to be empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EmptySpaceSamples {
    /// At least 0.5 m from everything that was seen.
    pub clear: Vec<[f64; 3]>,
    /// At least 0.25 m from everything that was seen, but not clear.
    pub near: Vec<[f64; 3]>,
}

fn cube(place: [f64; 3]) -> [i32; 3] {
    place.map(|v| (v / CUBE_M).floor() as i32)
}

impl EmptySpace {
    /// Adds a frame: all of its points, whether their class is known or not, and a few places on its beams.
    pub fn add(&mut self, frame: &LabelledFrame) {
        let sensor = frame.world_from_sensor.translation();
        let hits: Vec<[f64; 3]> = frame
            .points
            .iter()
            .filter(|p| p.iter().all(|v| v.is_finite()) && **p != [0.0; 3])
            .map(|p| frame.world_from_sensor.apply(p.map(f64::from)))
            .collect();
        self.surfaces.extend(hits.iter().map(|hit| cube(*hit)));
        let count = hits.len().min(PLACES_PER_FRAME);
        let mut rng = e2bki::cluster::Rng::new(self.frames + 1);
        for k in 0..count {
            let hit = hits[k * hits.len() / count];
            let along: [f64; 3] = std::array::from_fn(|a| hit[a] - sensor[a]);
            let range = along.iter().map(|v| v * v).sum::<f64>().sqrt();
            let at = rng.uniform() * range.min(MAX_M);
            self.places.push(std::array::from_fn(|a| sensor[a] + along[a] * (at / range)));
        }
        self.frames += 1;
    }

    /// The places near which no frame saw anything.
    pub fn into_samples(self) -> EmptySpaceSamples {
        let mut samples = EmptySpaceSamples::default();
        for place in &self.places {
            match self.rings(*place) {
                0 => {}
                1 => samples.near.push(*place),
                _ => samples.clear.push(*place),
            }
        }
        samples
    }

    /// How many rings of cubes around a place are empty: 0, 1 or 2.
    fn rings(&self, place: [f64; 3]) -> i32 {
        let center = cube(place);
        let mut nearest = 3;
        for x in -2_i32..=2 {
            for y in -2_i32..=2 {
                for z in -2_i32..=2 {
                    let ring = x.abs().max(y.abs()).max(z.abs());
                    let [a, b, c] = center;
                    let there = [a.saturating_add(x), b.saturating_add(y), c.saturating_add(z)];
                    if ring < nearest && self.surfaces.contains(&there) {
                        nearest = ring;
                    }
                }
            }
        }
        (nearest - 1).max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Said;
    use e2bki::Pose;

    #[test]
    fn empty_places_keep_their_distance_from_everything_seen() {
        // A wall at x = 6 m seen from the origin, and a pole in between whose class is not known.
        let mut points: Vec<[f32; 3]> = (0..400).map(|i| [6.0, -1.0 + 0.005 * i as f32, 0.1]).collect();
        points.extend((0..40).map(|i| [3.0, 0.0, 0.05 * i as f32 - 1.0]));
        let truth = vec![99; points.len()];
        let frame = LabelledFrame {
            said: Said::Labels(truth.clone()),
            truth,
            points,
            world_from_sensor: Pose::from_translation([0.0, 0.0, 0.05]).unwrap(),
        };
        let mut space = EmptySpace::default();
        space.add(&frame);
        space.add(&frame);
        let samples = space.into_samples();
        let nearest = |p: &[f64; 3]| -> f64 {
            let hit = |q: &[f32; 3]| frame.world_from_sensor.apply(q.map(f64::from));
            let distance = |h: [f64; 3]| (0..3).map(|a| (h[a] - p[a]).powi(2)).sum::<f64>().sqrt();
            frame.points.iter().map(|q| distance(hit(q))).fold(f64::INFINITY, f64::min)
        };
        assert!(samples.clear.len() > 200 && !samples.near.is_empty());
        assert!(samples.clear.iter().all(|p| nearest(p) >= 0.5 && p[0] > 0.0 && p[0] < 5.5));
        assert!(samples.near.iter().all(|p| nearest(p) >= 0.25));
    }
}
