//! The vehicle's way through the world: along the route without end, or a closed loop that comes back to where it was.
//!
//! A loop runs along the route on one side, turns around, comes back on the other side and turns again, for ever. The
//! figure of eight changes sides half way, so that its two ways cross.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::maths::smoothstep;
use crate::world::{RoutePoint, World, WorldKind};

/// Radius of the turns at both ends of a loop, metres.
const TURN_RADIUS_M: f64 = 2.6;
/// Speed in these turns, m/s.
const TURN_MPS: f64 = 2.0;
/// Length over which the vehicle swings out before a turn, metres.
const SWING_M: f64 = 14.0;
/// Half of the length over which the figure of eight changes sides, metres.
const CROSSING_M: f64 = 16.0;

/// Form of the way.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RouteKind {
    /// Onwards without end: no place is seen twice.
    #[default]
    Endless,
    /// There on one side and back on the other, again and again.
    Loop {
        /// Length of one round, metres.
        length_m: f64,
    },
    /// The same, with the two ways crossing half way.
    Eight {
        /// Length of one round, metres.
        length_m: f64,
    },
}

impl RouteKind {
    /// The kind of that name; loops get the length of one round.
    pub fn from_name(name: &str, length_m: f64) -> Result<RouteKind, Error> {
        match name {
            "endless" => Ok(RouteKind::Endless),
            "loop" => Ok(RouteKind::Loop { length_m }),
            "eight" => Ok(RouteKind::Eight { length_m }),
            _ => Err(Error::UnknownName { what: "route", given: name.into(), known: "endless, loop, eight" }),
        }
    }

    /// Length of one round, if the way is closed.
    pub fn round_m(self) -> Option<f64> {
        match self {
            RouteKind::Endless => None,
            RouteKind::Loop { length_m } | RouteKind::Eight { length_m } => Some(length_m),
        }
    }
}

/// Where the vehicle is and which way it looks, seen from above.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// World position.
    pub x: f64,
    /// World position.
    pub y: f64,
    /// Direction of travel, radians from the x axis.
    pub heading: f64,
    /// Distance along the route's centre line, metres.
    pub along: f64,
    /// 1 when driving along the route, −1 when coming back.
    pub direction: f64,
    /// Side of the centre line: −1 right of the route's direction, 1 left.
    pub side: f64,
    /// Distance driven since the start of the drive, metres, for slow changes on the way.
    pub driven: f64,
}

/// The way of one drive, by time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path {
    kind: RouteKind,
    /// Distance from the centre line, metres.
    lane_m: f64,
    /// Driving time along the route at the near end, seconds, and how long the far end is away.
    start_s: f64,
    leg_s: f64,
    /// Time into the round at which the drive begins, seconds.
    offset_s: f64,
}

impl Path {
    pub(super) fn new(world: &World, world_kind: WorldKind, kind: RouteKind, start_s: f64, start_m: f64) -> Path {
        let lane_m = if world_kind == WorldKind::Urban { 1.6 } else { 0.9 };
        let route = world.route();
        let near = route.at_time(start_s);
        let mut path = Path { kind, lane_m, start_s, leg_s: 0.0, offset_s: 0.0 };
        match kind.round_m() {
            None => path.start_s = route.at(near.along + start_m).time,
            Some(length) => {
                path.leg_s = route.at(near.along + 0.5 * (length - 2.0 * PI * TURN_RADIUS_M)).time - start_s;
                path.offset_s = path.time_after(world, start_m.rem_euclid(length));
            }
        }
        path
    }

    fn turn_s() -> f64 {
        PI * TURN_RADIUS_M / TURN_MPS
    }

    fn round_s(&self) -> f64 {
        2.0 * (self.leg_s + Self::turn_s())
    }

    /// Time into a round after which `driven` metres of it are behind the vehicle.
    fn time_after(&self, world: &World, driven: f64) -> f64 {
        let (near, far) = (world.route().at_time(self.start_s), world.route().at_time(self.start_s + self.leg_s));
        let (leg, turn) = (far.along - near.along, PI * TURN_RADIUS_M);
        let onwards = |metres: f64| world.route().at(near.along + metres).time - self.start_s;
        if driven < leg {
            onwards(driven)
        } else if driven < leg + turn {
            self.leg_s + (driven - leg) / TURN_MPS
        } else if driven < 2.0 * leg + turn {
            self.leg_s + Self::turn_s() + self.leg_s - onwards(2.0 * leg + turn - driven)
        } else {
            2.0 * self.leg_s + Self::turn_s() + (driven - 2.0 * leg - turn) / TURN_MPS
        }
    }

    /// The place at `time` seconds after the start of the drive.
    pub(super) fn at(&self, world: &World, time: f64) -> Place {
        let route = world.route();
        if self.kind == RouteKind::Endless {
            let p = route.at_time(self.start_s + time);
            let RoutePoint { x, y, heading, along, .. } = p;
            return Place { x, y, heading, along, direction: 1.0, side: -1.0, driven: along };
        }
        let time = self.offset_s + time;
        let rounds = (time / self.round_s()).floor();
        let time = time - rounds * self.round_s();
        let (leg, turn) = (self.leg_s, Self::turn_s());
        let mut place = if time < leg {
            self.on_leg(world, self.start_s + time, 1.0)
        } else if time < leg + turn {
            self.in_turn(route.at_time(self.start_s + leg), (time - leg) / turn, true)
        } else if time < 2.0 * leg + turn {
            self.on_leg(world, self.start_s + 2.0 * leg + turn - time, -1.0)
        } else {
            self.in_turn(route.at_time(self.start_s), (time - 2.0 * leg - turn) / turn, false)
        };
        place.driven += rounds * self.kind.round_m().unwrap_or(0.0);
        place
    }

    /// A place on the way out (direction 1) or back (−1).
    fn on_leg(&self, world: &World, route_s: f64, direction: f64) -> Place {
        let route = world.route();
        let (near, far) = (route.at_time(self.start_s).along, route.at_time(self.start_s + self.leg_s).along);
        let p = route.at_time(route_s);
        let lateral = |along: f64| {
            let to_end = (along - near).min(far - along);
            let out = self.lane_m + (TURN_RADIUS_M - self.lane_m) * (1.0 - smoothstep(0.0, SWING_M, to_end));
            let middle = 0.5 * (near + far);
            let sides = match self.kind {
                RouteKind::Eight { .. } => 1.0 - 2.0 * smoothstep(middle - CROSSING_M, middle + CROSSING_M, along),
                _ => 1.0,
            };
            -direction * out * sides
        };
        let (v, slope) = (lateral(p.along), (lateral(p.along + 0.1) - lateral(p.along - 0.1)) / 0.2);
        let (s, c) = p.heading.sin_cos();
        let heading = p.heading + slope.atan() + if direction < 0.0 { PI } else { 0.0 };
        let driven = if direction > 0.0 { p.along } else { 2.0 * far + PI * TURN_RADIUS_M - p.along };
        let side = if v < 0.0 { -1.0 } else { 1.0 };
        Place { x: p.x - s * v, y: p.y + c * v, heading, along: p.along, direction, side, driven }
    }

    /// A place in the half circle at the far or the near end, `share` of it behind the vehicle.
    fn in_turn(&self, center: RoutePoint, share: f64, far: bool) -> Place {
        let angle = PI * share;
        // The figure of eight arrives at the far end on the left side and turns right.
        let left = !(far && matches!(self.kind, RouteKind::Eight { .. }));
        let (ahead, hand) = (if far { 1.0 } else { -1.0 }, if left { 1.0 } else { -1.0 });
        let (u, v) = (ahead * TURN_RADIUS_M * angle.sin(), -ahead * hand * TURN_RADIUS_M * angle.cos());
        let (s, c) = center.heading.sin_cos();
        let heading = center.heading + if far { 0.0 } else { PI } + hand * angle;
        Place {
            x: center.x + c * u - s * v,
            y: center.y + s * u + c * v,
            heading,
            along: center.along,
            direction: if (share < 0.5) == far { 1.0 } else { -1.0 },
            side: if v < 0.0 { -1.0 } else { 1.0 },
            driven: center.along + angle * TURN_RADIUS_M,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::{Season, WorldProfile};

    #[test]
    fn closed_ways_are_smooth_come_back_and_have_the_stated_length() {
        for world_kind in [WorldKind::Offroad, WorldKind::Urban] {
            let world = World::new(3, &WorldProfile::full(world_kind), Season::Summer, 6.0);
            let start_s = world.route().time_at_x(320.0);
            for kind in [RouteKind::Loop { length_m: 400.0 }, RouteKind::Eight { length_m: 400.0 }] {
                let path = Path::new(&world, world_kind, kind, start_s, 0.0);
                let round = path.round_s();
                let steps = 4000;
                let (mut length, mut turned) = (0.0, 0.0);
                let mut last = path.at(&world, 0.0);
                for k in 1..=steps {
                    let now = path.at(&world, round * f64::from(k) / f64::from(steps));
                    let step = (now.x - last.x).hypot(now.y - last.y);
                    let turn = (now.heading - last.heading + PI).rem_euclid(2.0 * PI) - PI;
                    assert!(step < 1.0, "{kind:?}: a jump of {step} m");
                    assert!(turn.abs() < 0.3, "{kind:?}: a jump of {turn} rad");
                    if step > 1e-6 {
                        let way = (now.y - last.y).atan2(now.x - last.x);
                        let off = (way - last.heading - 0.5 * turn + PI).rem_euclid(2.0 * PI) - PI;
                        assert!(off.abs() < 0.2, "{kind:?}: heading is {off} rad off the way");
                    }
                    (length, turned, last) = (length + step, turned + turn, now);
                }
                let first = path.at(&world, 0.0);
                assert!((last.x - first.x).hypot(last.y - first.y) < 0.05);
                // Curves make the side of a lane a little longer or shorter than the centre line.
                assert!((length - 400.0).abs() < 8.0, "{kind:?}: {length} m");
                let rounds = if matches!(kind, RouteKind::Loop { .. }) { 2.0 * PI } else { 0.0 };
                assert!((turned - rounds).abs() < 1e-6, "{kind:?} turned by {turned}");
                // A second robot that starts elsewhere drives the same way.
                let other = Path::new(&world, world_kind, kind, start_s, 150.0);
                let (ahead, time) = (path.time_after(&world, 150.0), 20.0);
                let (a, b) = (other.at(&world, time), path.at(&world, ahead + time));
                assert!((a.x - b.x).hypot(a.y - b.y) < 1e-6);
            }
        }
    }
}
