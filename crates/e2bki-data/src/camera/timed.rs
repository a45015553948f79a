//! The motion of the sensor during a scan whose points have times, undone.

use e2bki::Pose;

/// Poses through a scan at equal steps, all relative to the pose at its stamp. Between two of them a point is moved by
/// the mean of both, weighted by time: with steps of a few milliseconds that is a turn at constant speed to within micrometres.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedMotion {
    first_s: f64,
    step_s: f64,
    knots: Vec<Pose>,
}

/// Steps of a scan.
const STEPS: usize = 64;

impl TimedMotion {
    /// From the times of the first and last point in seconds after the stamp, and the pose of the sensor at any such time.
    /// Nothing where a pose is not known.
    pub fn new(times: [f64; 2], at_stamp: &Pose, pose: impl Fn(f64) -> Option<Pose>) -> Option<Self> {
        let [first_s, last_s] = times;
        let step_s = ((last_s - first_s) / STEPS as f64).max(1e-9);
        let now_from_world = at_stamp.inverse();
        let knot = |k: usize| now_from_world.after(&pose(first_s + k as f64 * step_s)?).ok();
        Some(Self { first_s, step_s, knots: (0..=STEPS).map(knot).collect::<Option<_>>()? })
    }

    /// The same of points with times, seconds after the scan's stamp in nanoseconds. Nothing where all have the same time.
    pub fn of_points(times: &[f32], stamp: u64, at_stamp: &Pose, pose: impl Fn(u64) -> Option<Pose>) -> Option<Self> {
        let (least, most) = times.iter().fold((0.0_f32, 0.0_f32), |(a, b), t| (a.min(*t), b.max(*t)));
        if least == most {
            return None;
        }
        Self::new([f64::from(least), f64::from(most)], at_stamp, |seconds| pose(shifted(stamp, seconds)))
    }

    /// Where a point measured at a time would have been measured at the stamp.
    pub fn apply(&self, point: [f32; 3], time_s: f32) -> [f32; 3] {
        let p = point.map(f64::from);
        let place = ((f64::from(time_s) - self.first_s) / self.step_s).clamp(0.0, (self.knots.len() - 1) as f64);
        let low = (place as usize).min(self.knots.len() - 2);
        let share = place - low as f64;
        let (a, b) = (self.knots[low].apply(p), self.knots[low + 1].apply(p));
        std::array::from_fn(|i| (a[i] + share * (b[i] - a[i])) as f32)
    }
}

/// A time, nanoseconds, moved by some seconds.
pub fn shifted(stamp: u64, seconds: f64) -> u64 {
    stamp.saturating_add_signed((seconds * 1e9).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_seen_from_a_turning_robot_is_a_point_again() {
        // 10 m/s ahead while turning at 2 rad/s; one point of the world is measured all through the scan.
        let pose = |t: f64| {
            let (s, c) = (2.0 * t).sin_cos();
            Pose::new([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [10.0 * t, 0.5 * t, 0.0]).ok()
        };
        let now = pose(0.0).unwrap();
        let motion = TimedMotion::new([-0.02, 0.08], &now, pose).unwrap();
        let world = [30.0, -12.0, 1.0];
        for k in 0..=1000 {
            let t = -0.02 + 1e-4 * f64::from(k);
            let seen = pose(t).unwrap().inverse().apply(world).map(|v| v as f32);
            let back = motion.apply(seen, t as f32);
            for i in 0..3 {
                assert!((f64::from(back[i]) - world[i]).abs() < 5e-5, "{t}: {back:?}");
            }
        }
        assert!(TimedMotion::new([0.0, 0.1], &now, |t| pose(t).filter(|_| t < 0.05)).is_none());
        // A scan in no time at all.
        let still = TimedMotion::new([0.0, 0.0], &now, pose).unwrap();
        assert_eq!(still.apply([1.0, 2.0, 3.0], 0.0), [1.0, 2.0, 3.0]);
    }
}
