//! Moving cars and walking persons, placed by a formula of time so that any frame can be made alone.
//! Nobody reacts to anybody; leader and follower keep a slowly varying gap to the vehicle.

use super::urban::ROAD_HALF_M;
use super::{Route, UrbanProfile, vehicles};
use crate::maths::{Stream, Vec3, hash2, noise1, vec3};
use crate::scene::Mover;

/// Lateral position of the opposite lane's centre, metres.
const OPPOSITE_M: f64 = 1.6;

/// The traffic of an urban world.
pub(super) struct Traffic {
    seed: u64,
    profile: UrbanProfile,
}

/// The vehicle, as traffic sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ego {
    /// Distance along the route, metres.
    pub driven_m: f64,
    /// 1 when driving along the route, −1 when coming back.
    pub direction: f64,
    /// Side of the centre line that it drives on: −1 right of the route's direction, 1 left.
    pub side: f64,
}

/// One endless stream of movers: spacing, speed along the route (negative = towards us) and lateral place.
struct Lane {
    seed: u64,
    spacing: f64,
    speed: f64,
    lateral: f64,
}

impl Lane {
    /// Numbers and positions of the movers within `reach` of `driven`.
    fn near(&self, time: f64, driven: f64, reach: f64) -> Vec<(i64, f64)> {
        let shift = self.speed * time;
        let first = ((driven - reach - shift) / self.spacing).floor() as i64;
        let last = ((driven + reach - shift) / self.spacing).ceil() as i64;
        (first..=last)
            .map(|k| {
                let jitter = Stream::new(hash2(self.seed, k, 7)).range(-0.35, 0.35);
                (k, (k as f64 + jitter) * self.spacing + shift)
            })
            .filter(|(_, along)| (along - driven).abs() < reach && *along > 0.0)
            .collect()
    }
}

impl Traffic {
    pub(super) fn new(seed: u64, profile: UrbanProfile) -> Traffic {
        Traffic { seed: seed ^ 0x91, profile }
    }

    /// All movers within `reach` of the vehicle. Others keep to the lane that the vehicle does not use.
    pub(super) fn movers(
        &self,
        route: &Route,
        time: f64,
        Ego { driven_m: driven, direction, side }: Ego,
        reach: f64,
        ground: impl Fn(f64, f64) -> f64,
    ) -> Vec<Mover> {
        let mut movers = Vec::new();
        let stand = |along: f64, lateral: f64| -> (Vec3, f64) {
            let p = route.at(along);
            let (s, c) = p.heading.sin_cos();
            let (x, y) = (p.x - s * lateral, p.y + c * lateral);
            (vec3(x, y, ground(x, y)), p.heading)
        };
        if self.profile.traffic > 0.0 {
            let spacing = 100.0 / self.profile.traffic;
            let lane = Lane { seed: self.seed ^ 1, spacing, speed: -7.5 * direction, lateral: -side * OPPOSITE_M };
            for (k, along) in lane.near(time, driven, reach) {
                let (base, heading) = stand(along, lane.lateral);
                let mut random = Stream::new(hash2(lane.seed, k, 0));
                let back = if direction > 0.0 { heading + std::f64::consts::PI } else { heading };
                let large = random.chance(0.22);
                movers.push(Mover::new(if large {
                    vehicles::truck(&mut random, base, back)
                } else {
                    vehicles::car(&mut random, base, back)
                }));
            }
            for (k, gap, lane) in [(0, 27.0, 2), (1, -24.0, 3)] {
                let along = driven + direction * (gap + 7.0 * noise1(self.seed ^ lane, time / 9.0));
                let (base, heading) = stand(along, side * OPPOSITE_M);
                let heading = if direction > 0.0 { heading } else { heading + std::f64::consts::PI };
                let mut random = Stream::new(hash2(self.seed ^ 4, k, 0));
                movers.push(Mover::new(vehicles::car(&mut random, base, heading)));
            }
        }
        if self.profile.walkers > 0.0 {
            let spacing = 200.0 / self.profile.walkers;
            for (n, speed, side) in [(5, 1.3, 1.0), (6, -1.2, 1.0), (7, 1.25, -1.0), (8, -1.35, -1.0)] {
                let lateral = side * (ROAD_HALF_M + if speed > 0.0 { 0.9 } else { 1.45 });
                let lane = Lane { seed: self.seed ^ n, spacing, speed, lateral };
                for (k, along) in lane.near(time, driven, reach.min(70.0)) {
                    let (base, heading) = stand(along, lane.lateral);
                    let turn = if speed > 0.0 { heading } else { heading + std::f64::consts::PI };
                    let stride = (along * 4.0).sin();
                    let mut random = Stream::new(hash2(lane.seed, k, 0));
                    movers.push(Mover::new(vehicles::person(&mut random, base, turn, stride)));
                }
            }
        }
        movers
    }
}
