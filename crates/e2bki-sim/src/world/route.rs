//! Arc length and driving time along the route.
//! The route is integrated in 64 m pieces; only one pair of sums per piece is kept, the pieces themselves are made
//! again when needed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::WorldKind;
use super::segment::Curve;
use crate::maths::noise1;

/// Extent along x of one piece, metres.
const PIECE_M: f64 = 64.0;
/// Samples per piece.
const SAMPLES: usize = 128;
/// Pieces kept in memory.
const KEPT: usize = 48;

/// A place on the centre line.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RoutePoint {
    /// World position.
    pub x: f64,
    /// World position.
    pub y: f64,
    /// Direction of travel, radians from the x axis.
    pub heading: f64,
    /// Distance driven from the route's origin, metres.
    pub along: f64,
    /// Driving time from the route's origin, seconds.
    pub time: f64,
    /// Speed, m/s.
    pub speed: f64,
}

#[derive(Default)]
struct Memory {
    /// Arc length and time at the start of each piece.
    sums: Vec<[f64; 2]>,
    pieces: BTreeMap<usize, Arc<Vec<RoutePoint>>>,
}

/// A route without end, starting at x = 0.
pub struct Route {
    curve: Curve,
    seed: u64,
    cruise: f64,
    memory: Mutex<Memory>,
}

impl Route {
    /// The route of a world, driven at about `cruise` m/s.
    pub fn new(seed: u64, kind: WorldKind, cruise: f64) -> Route {
        let memory = Memory { sums: vec![[0.0, 0.0]], pieces: BTreeMap::new() };
        Route { curve: Curve { seed, kind }, seed, cruise, memory: Mutex::new(memory) }
    }

    pub(super) fn curve(&self) -> Curve {
        self.curve
    }

    /// Speed at `x`: the cruise speed, varied, and slow enough for the bends ahead and behind.
    fn speed(&self, x: f64) -> f64 {
        let free = self.cruise * (1.0 + 0.15 * noise1(self.seed ^ 0x31, x / 70.0));
        (-5..=5).fold(free, |v, k| {
            let away = f64::from(k) * 5.0;
            let bend = self.curve.curvature(x + away).abs().max(1e-4);
            v.min((2.2 / bend).sqrt() + 0.12 * away.abs())
        })
    }

    fn integrate(&self, piece: usize, start: [f64; 2]) -> Vec<RoutePoint> {
        let x0 = piece as f64 * PIECE_M;
        let step = PIECE_M / SAMPLES as f64;
        let mut points: Vec<RoutePoint> = Vec::with_capacity(SAMPLES + 1);
        for k in 0..=SAMPLES {
            let x = x0 + k as f64 * step;
            let mut p = RoutePoint {
                x,
                y: self.curve.y(x),
                heading: self.curve.slope(x).atan(),
                along: start[0],
                time: start[1],
                speed: self.speed(x),
            };
            if let Some(last) = points.last() {
                let length = (p.x - last.x).hypot(p.y - last.y);
                p.along = last.along + length;
                p.time = last.time + 2.0 * length / (last.speed + p.speed);
            }
            points.push(p);
        }
        points
    }

    /// Makes sure the sums reach past the piece for which `enough` holds, and returns that piece's number.
    fn locate(&self, enough: impl Fn(&[f64; 2]) -> bool) -> usize {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        while !memory.sums.last().is_some_and(&enough) {
            let piece = memory.sums.len() - 1;
            let start = memory.sums[piece];
            let points = self.integrate(piece, start);
            let end = points.last().map_or(start, |p| [p.along, p.time]);
            memory.sums.push(end);
            keep(&mut memory, piece, Arc::new(points));
        }
        memory.sums.partition_point(|s| !enough(s)).saturating_sub(1)
    }

    /// The samples of piece `piece`.
    pub(super) fn piece(&self, piece: usize) -> Arc<Vec<RoutePoint>> {
        let x = piece as f64 + 1.0;
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = memory.pieces.get(&piece) {
            return Arc::clone(found);
        }
        while (memory.sums.len() as f64) <= x {
            let last = memory.sums.len() - 1;
            let start = memory.sums[last];
            let end = self.integrate(last, start).last().map_or(start, |p| [p.along, p.time]);
            memory.sums.push(end);
        }
        let start = memory.sums[piece];
        let points = Arc::new(self.integrate(piece, start));
        keep(&mut memory, piece, Arc::clone(&points));
        points
    }

    /// Samples with `x` in `[low, high]`, clipped to the route's start.
    pub fn samples(&self, low: f64, high: f64) -> Vec<RoutePoint> {
        let first = (low.max(0.0) / PIECE_M) as usize;
        let last = (high.max(0.0) / PIECE_M) as usize;
        let mut points = Vec::new();
        for piece in first..=last {
            let samples = self.piece(piece);
            points.extend(samples[..SAMPLES].iter().filter(|p| p.x >= low && p.x <= high));
        }
        points
    }

    /// The place `along` metres from the origin.
    pub fn at(&self, along: f64) -> RoutePoint {
        let along = along.max(0.0);
        let piece = self.locate(|s| s[0] > along);
        between(&self.piece(piece), along, |p| p.along)
    }

    /// The place reached after `time` seconds.
    pub fn at_time(&self, time: f64) -> RoutePoint {
        let time = time.max(0.0);
        let piece = self.locate(|s| s[1] > time);
        between(&self.piece(piece), time, |p| p.time)
    }

    /// Driving time at which `x` is passed.
    pub fn time_at_x(&self, x: f64) -> f64 {
        between(&self.piece((x.max(0.0) / PIECE_M) as usize), x.max(0.0), |p| p.x).time
    }
}

fn keep(memory: &mut Memory, piece: usize, points: Arc<Vec<RoutePoint>>) {
    memory.pieces.insert(piece, points);
    if memory.pieces.len() > KEPT {
        let (first, last) = (memory.pieces.keys().next().copied(), memory.pieces.keys().next_back().copied());
        if let (Some(first), Some(last)) = (first, last) {
            let far = if piece.abs_diff(first) > piece.abs_diff(last) { first } else { last };
            memory.pieces.remove(&far);
        }
    }
}

fn between(points: &[RoutePoint], value: f64, key: impl Fn(&RoutePoint) -> f64) -> RoutePoint {
    let k = points.partition_point(|p| key(p) <= value).clamp(1, points.len() - 1);
    let (a, b) = (&points[k - 1], &points[k]);
    let f = ((value - key(a)) / (key(b) - key(a))).clamp(0.0, 1.0);
    let mix = |a: f64, b: f64| a + (b - a) * f;
    RoutePoint {
        x: mix(a.x, b.x),
        y: mix(a.y, b.y),
        heading: mix(a.heading, b.heading),
        along: mix(a.along, b.along),
        time: mix(a.time, b.time),
        speed: mix(a.speed, b.speed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arc_length_and_time_are_consistent_in_any_order() {
        let route = Route::new(4, WorldKind::Urban, 8.0);
        let far = route.at(5000.0);
        let fresh = Route::new(4, WorldKind::Urban, 8.0);
        for k in (1..50).rev() {
            let (a, b) = (fresh.at(f64::from(k) * 40.0), route.at(f64::from(k) * 40.0));
            assert_eq!(a, b);
            let c = route.at_time(a.time);
            assert!((c.along - a.along).abs() < 0.05);
            assert!(a.speed > 2.0 && a.speed < 12.0);
        }
        assert_eq!(fresh.at(5000.0), far);
    }
}
