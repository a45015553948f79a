//! Odometry that drifts: the reported way is the true one put together from steps that are each a little wrong.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::path::Place;
use crate::maths::{Rigid, noise1, vec3};

/// Size of the drift, in the units of the KITTI odometry benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Drift {
    /// Error of distances as a share of the distance driven: 0.01 is 1 %.
    pub share: f64,
    /// Error of the heading, radians for every 100 m driven.
    pub angle_rad: f64,
}

impl Drift {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Drift::default()
    }
}

/// Planar pose of the drifted odometry, and the height that it lost or gained.
#[derive(Debug, Clone, Copy)]
struct Believed {
    x: f64,
    y: f64,
    heading: f64,
    height: f64,
    /// The true place that it stands for.
    truth: Place,
}

/// The drifted way of one drive; every step is computed once.
#[derive(Debug)]
pub(super) struct Odometry {
    drift: Drift,
    seed: u64,
    steps: Mutex<Vec<Believed>>,
}

impl Odometry {
    pub(super) fn new(drift: Drift, seed: u64) -> Odometry {
        Odometry { drift, seed: seed ^ 0xd21f7, steps: Mutex::new(Vec::new()) }
    }

    /// Left factor that turns the true pose of frame `index` into the reported one. `place` gives the
    /// true places of frames.
    pub(super) fn reported_from_true(&self, index: usize, place: impl Fn(usize) -> Place) -> Rigid {
        if self.drift.is_none() {
            return Rigid::IDENTITY;
        }
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        while steps.len() <= index {
            let truth = place(steps.len());
            let next = match steps.last() {
                None => Believed { x: truth.x, y: truth.y, heading: truth.heading, height: 0.0, truth },
                Some(last) => self.step(last, truth),
            };
            steps.push(next);
        }
        let Believed { x, y, heading, height, truth } = steps[index];
        let believed = Rigid::from_yaw_pitch_roll(heading, 0.0, 0.0, vec3(x, y, height));
        believed * Rigid::from_yaw_pitch_roll(truth.heading, 0.0, 0.0, vec3(truth.x, truth.y, 0.0)).inverse()
    }

    /// One step of dead reckoning: the true motion with its length and its turn a little wrong. Errors change slowly, as
    /// those of a worn wheel or a warm gyroscope do, and are half constant over the drive.
    fn step(&self, last: &Believed, truth: Place) -> Believed {
        let (dx, dy) = (truth.x - last.truth.x, truth.y - last.truth.y);
        let (s, c) = last.truth.heading.sin_cos();
        let (forward, left) = (c * dx + s * dy, c * dy - s * dx);
        let driven = dx.hypot(dy);
        let wander = |k: u64| 0.5 * sign(self.seed, k) + noise1(self.seed ^ k, truth.driven / 60.0);
        let scale = 1.0 + self.drift.share * wander(1);
        let turn = truth.heading - last.truth.heading + self.drift.angle_rad * 0.01 * driven * wander(2);
        let (s, c) = last.heading.sin_cos();
        Believed {
            x: last.x + scale * (c * forward - s * left),
            y: last.y + scale * (s * forward + c * left),
            heading: last.heading + turn,
            height: last.height + 0.3 * self.drift.share * driven * wander(3),
            truth,
        }
    }
}

/// 1 or −1, by seed.
fn sign(seed: u64, k: u64) -> f64 {
    if crate::maths::hash2(seed, k as i64, 1) & 1 == 0 { 1.0 } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn straight(index: usize) -> Place {
        let x = index as f64 * 0.8;
        Place { x, y: 5.0, heading: 0.0, along: x, direction: 1.0, side: -1.0, driven: x }
    }

    #[test]
    fn the_error_grows_with_the_distance_as_stated_and_frames_come_in_any_order() {
        let drift = Drift { share: 0.01, angle_rad: 1.0_f64.to_radians() };
        let (mut ends, mut turns) = (Vec::new(), Vec::new());
        for seed in 0..40 {
            let odometry = Odometry::new(drift, seed);
            let late = odometry.reported_from_true(1250, straight);
            let fresh = Odometry::new(drift, seed);
            let early = fresh.reported_from_true(3, straight);
            assert_eq!(early.to_matrix(), odometry.reported_from_true(3, straight).to_matrix());
            assert_eq!(fresh.reported_from_true(1250, straight).to_matrix(), late.to_matrix());
            let first = odometry.reported_from_true(0, straight).to_matrix();
            let off = |r: usize, c: usize| (first[r][c] - Rigid::IDENTITY.to_matrix()[r][c]).abs();
            assert!((0..4).all(|r| (0..4).all(|c| off(r, c) < 1e-9)));
            let believed = late.apply(vec3(1000.0, 5.0, 0.0));
            ends.push((believed.x - 1000.0).abs());
            turns.push(late.rotation[1][0].atan2(late.rotation[0][0]).abs().to_degrees());
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        // 1 % and 1° per 100 m over a kilometre, half of it of one sign: some 5 m and 5°, and never more than three times.
        assert!(mean(&turns) > 3.0 && mean(&turns) < 10.0, "{}", mean(&turns));
        assert!(mean(&ends) > 2.0 && mean(&ends) < 30.0, "{}", mean(&ends));
        let none = Odometry::new(Drift::default(), 1);
        assert_eq!(none.reported_from_true(900, straight).to_matrix(), Rigid::IDENTITY.to_matrix());
    }
}
