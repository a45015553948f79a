//! The vehicle's motion: along the route at its speed, on the ground with four wheels, rocking on its springs.
//! Any time can be asked for directly; nothing is integrated from frame to frame.

use super::path::{Path, Place, RouteKind};
use super::{DriveOptions, Noise};
use crate::maths::{Rigid, Vec3, hash2, noise1, normal_from, vec3};
use crate::world::{World, WorldKind};

/// Where on the route's x axis drives begin, so that there is world behind the vehicle.
const START_X_M: f64 = 320.0;
/// Half of wheelbase and track, metres.
const WHEELS_M: [f64; 2] = [1.3, 0.75];

/// The vehicle's poses over time.
#[derive(Debug, Clone, Copy)]
pub struct Trajectory {
    seed: u64,
    kind: WorldKind,
    endless: bool,
    path: Path,
}

impl Trajectory {
    /// The trajectory of a drive through its world.
    pub fn new(world: &World, options: &DriveOptions) -> Trajectory {
        let (kind, start_s) = (options.world.kind(), world.route().time_at_x(START_X_M));
        let path = Path::new(world, kind, options.route, start_s, options.start_m);
        Trajectory { seed: options.seed ^ 0x7a7, kind, endless: options.route == RouteKind::Endless, path }
    }

    /// Place on the way at `time` seconds after the start.
    pub fn place(&self, world: &World, time: f64) -> Place {
        self.path.at(world, time)
    }

    /// Vehicle pose at `time`.
    pub fn world_from_vehicle(&self, world: &World, time: f64) -> Rigid {
        let p = self.place(world, time);
        let (keep, sway, rock) = match self.kind {
            WorldKind::Offroad => (0.0, 0.35, 0.013),
            WorldKind::Urban => (-1.6, 0.15, 0.004),
        };
        // A closed way has its lanes in it.
        let keep = if self.endless { keep } else { 0.0 };
        let lateral = keep + sway * noise1(self.seed ^ 1, p.driven / 25.0);
        let drift = (sway / 25.0) * 0.5 * noise1(self.seed ^ 2, p.driven / 25.0);
        let (s, c) = p.heading.sin_cos();
        let (x, y) = (p.x - s * lateral, p.y + c * lateral);
        let wheel = |u: f64, v: f64| world.ground_height(x + c * u - s * v, y + s * u + c * v);
        let [l, w] = WHEELS_M;
        let [fl, fr, rl, rr] = [wheel(l, w), wheel(l, -w), wheel(-l, w), wheel(-l, -w)];
        let bounce = |k: u64| rock * noise1(self.seed ^ k, time * 2.3);
        let pitch = -(0.5 * (fl + fr) - 0.5 * (rl + rr)).atan2(2.0 * l) + bounce(3);
        let roll = (0.5 * (fl + rl) - 0.5 * (fr + rr)).atan2(2.0 * w) + bounce(4);
        let height = 0.25 * (fl + fr + rl + rr) + 1.5 * bounce(5);
        Rigid::from_yaw_pitch_roll(p.heading + drift, pitch, roll, vec3(x, y, height))
    }

    /// Error of the reported pose of a frame: a slow wander and a little jitter, in the sensor frame.
    pub fn pose_error(&self, noise: Noise, frame: usize, time: f64) -> Rigid {
        let wander = |k: u64| 1.5 * noise1(self.seed ^ k, time / 4.0);
        let jitter = |k: u64| 0.25 * normal_from(hash2(self.seed ^ k, frame as i64, 0));
        let draw = |k: u64| wander(k) + jitter(k);
        let axis = vec3(draw(11), draw(12), draw(13)) * noise.angle_rad;
        let shift: Vec3 = vec3(draw(14), draw(15), draw(16)) * noise.position_m;
        Rigid::from_rotation_vector(axis, shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Season, WorldProfile};

    #[test]
    fn the_vehicle_moves_smoothly_and_stays_on_the_ground() {
        for kind in [WorldKind::Offroad, WorldKind::Urban] {
            let world = World::new(5, &WorldProfile::full(kind), Season::Summer, 6.0);
            let trajectory = Trajectory::new(&world, &DriveOptions::new(kind, 5, crate::Sensor::Os1_64));
            let mut previous = trajectory.world_from_vehicle(&world, 0.0);
            for k in 1..120 {
                let now = trajectory.world_from_vehicle(&world, f64::from(k) * 0.1);
                let step = previous.inverse() * now;
                assert!(step.translation.x > 0.1 && step.translation.length() < 1.2, "{step:?}");
                assert!(step.rotation[2][2] > 0.99 && step.rotation[0][0] > 0.98, "{step:?}");
                let gap = now.translation.z - world.ground_height(now.translation.x, now.translation.y);
                assert!(gap.abs() < 0.25, "{gap}");
                previous = now;
            }
        }
    }
}
