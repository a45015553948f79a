//! Standing still. A robot that is parked for an hour sees the same beams 36,000 times; counted all, they would outweigh
//! everything that was seen on the way, and a car that leaves after that hour would stay for another half.
//!
//! Which frames are counted is decided before the sum, from the drive alone: a frame counts if the sensor has moved or
//! turned since the last frame that was counted for moving; at one place, the 1st, 2nd, 4th, 8th, … frame counts and
//! from the 64th on every 64th. An hour at 10 Hz is 569 frames instead of 36,000, and changes are still noticed within
//! seconds.
//!
//! The counters stay sums of what each counted frame says by its scan and pose alone, so merging maps and taking frames
//! or maps out remain exact, in any order. The choice itself belongs to a drive and depends on its order: the halves of
//! a drive choose as the whole does where every frame moved, and not where the robot stood.

use crate::pose::Pose;

/// From here on a place is another one, metres and degrees.
const MOVED_M: f64 = 0.1;
const TURNED_DEG: f64 = 2.0;
/// At one place every frame of this many counts, in the long run.
const EVERY: u64 = 64;

/// Decides which frames of one drive are counted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StandStill {
    place: Option<Pose>,
    /// Frames at that place.
    frames: u64,
}

impl StandStill {
    /// Whether the next frame of the drive, seen from here, is counted.
    pub fn counts(&mut self, world_from_sensor: &Pose) -> bool {
        if self.place.as_ref().is_none_or(|place| moved(place, world_from_sensor)) {
            self.place = Some(*world_from_sensor);
            self.frames = 0;
        }
        self.frames = self.frames.saturating_add(1);
        if self.frames < EVERY { self.frames.is_power_of_two() } else { self.frames.is_multiple_of(EVERY) }
    }
}

fn moved(from: &Pose, to: &Pose) -> bool {
    let (a, b) = (from.translation(), to.translation());
    let squared: f64 = (0..3).map(|i| (a[i] - b[i]) * (a[i] - b[i])).sum();
    // trace(AᵀB) = 1 + 2 cos of the angle between the rotations.
    let (a, b) = (from.rotation(), to.rotation());
    let trace: f64 = (0..3).flat_map(|i| (0..3).map(move |j| a[i][j] * b[i][j])).sum();
    let cosine = 1.0 - 0.5 * TURNED_DEG.to_radians() * TURNED_DEG.to_radians();
    squared >= MOVED_M * MOVED_M || 0.5 * (trace - 1.0) <= cosine
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moving_robot_counts_every_frame_and_a_parked_one_few() {
        let mut gate = StandStill::default();
        for i in 0..100 {
            assert!(gate.counts(&Pose::from_translation([f64::from(i) * 0.2, 0.0, 0.0]).unwrap()));
        }
        let mut gate = StandStill::default();
        let counted = (0..36_000).filter(|_| gate.counts(&Pose::IDENTITY)).count();
        assert_eq!(counted, 6 + 36_000 / 64);
        // Turning on the spot is motion.
        let mut gate = StandStill::default();
        let turned = (0..100).filter(|i| {
            let (s, c) = (f64::from(*i) * 0.05).sin_cos();
            gate.counts(&Pose::new([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [0.0; 3]).unwrap())
        });
        assert_eq!(turned.count(), 100);
    }

    #[test]
    fn a_robot_that_creeps_counts_by_distance() {
        let mut gate = StandStill::default();
        let counted =
            (0..1000).filter(|i| gate.counts(&Pose::from_translation([f64::from(*i) * 0.011, 0.0, 0.0]).unwrap()));
        // 10 frames per place: the 1st, 2nd, 4th and 8th.
        assert_eq!(counted.count(), 400);
    }
}
