//! The stretch of route near one tile, for finding the nearest point of the centre line.
//! Exact within 80 m of the route; beyond that only "far away" is known, and that is all that is needed.

use super::route::{Route, RoutePoint};

/// How far beyond its x range a window looks for the route, metres.
const MARGIN_M: f64 = 80.0;

/// Where a world position lies relative to the route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fix {
    /// Signed distance from the centre line, positive to the left of travel, metres.
    pub lateral: f64,
    /// Arc length of the nearest point, metres.
    pub along: f64,
    /// Direction of travel there, radians.
    pub heading: f64,
}

/// Samples of the route over a range of x.
#[derive(Debug, Clone)]
pub(crate) struct RouteWindow {
    samples: Vec<RoutePoint>,
}

impl RouteWindow {
    /// The route around `x` in `[low, high]`.
    pub(crate) fn new(route: &Route, low: f64, high: f64) -> RouteWindow {
        RouteWindow { samples: route.samples(low - MARGIN_M, high + MARGIN_M) }
    }

    /// Position of `(x, y)` relative to the route. Far from the route the answer is only roughly right.
    pub(crate) fn locate(&self, x: f64, y: f64) -> Fix {
        // Coarse pass over every fourth sample, then the neighbourhood of the best.
        let distance = |p: &RoutePoint| (p.x - x) * (p.x - x) + (p.y - y) * (p.y - y);
        let (mut best, mut best_k) = (f64::INFINITY, 0);
        for (k, p) in self.samples.iter().enumerate().step_by(4) {
            let d = distance(p);
            if d < best {
                (best, best_k) = (d, k);
            }
        }
        let last = (best_k + 4).min(self.samples.len().saturating_sub(1));
        for k in best_k.saturating_sub(4)..=last {
            if let Some(p) = self.samples.get(k) {
                let d = distance(p);
                if d < best {
                    (best, best_k) = (d, k);
                }
            }
        }
        let Some(p) = self.samples.get(best_k) else {
            return Fix { lateral: 1e3, along: 0.0, heading: 0.0 };
        };
        let (s, c) = p.heading.sin_cos();
        let (dx, dy) = (x - p.x, y - p.y);
        let side = if c * dy - s * dx >= 0.0 { 1.0 } else { -1.0 };
        let ahead = (c * dx + s * dy).clamp(-0.6, 0.6);
        // On the outside of the samples the foot point is the perpendicular one; elsewhere the distance rules.
        let lateral = side * (best - ahead * ahead).max(0.0).sqrt();
        Fix { lateral, along: p.along + ahead, heading: p.heading }
    }

    /// Arc lengths covered by samples closer than `reach` to the square with corner `low` and side `side`.
    pub(crate) fn along_range(&self, low: [f64; 2], side: f64, reach: f64) -> Option<(f64, f64)> {
        let inside = |v: f64, l: f64| v > l - reach && v < l + side + reach;
        let mut range: Option<(f64, f64)> = None;
        for p in self.samples.iter().filter(|p| inside(p.x, low[0]) && inside(p.y, low[1])) {
            let (a, b) = range.unwrap_or((p.along, p.along));
            range = Some((a.min(p.along), b.max(p.along)));
        }
        range
    }

    /// The centre line at an arc length inside the window.
    pub(crate) fn at(&self, along: f64) -> RoutePoint {
        let k = self.samples.partition_point(|p| p.along <= along);
        let k = k.min(self.samples.len().saturating_sub(1)).max(1);
        let (Some(a), Some(b)) = (self.samples.get(k - 1), self.samples.get(k)) else {
            return RoutePoint::default();
        };
        let f = ((along - a.along) / (b.along - a.along).max(1e-9)).clamp(-1.0, 2.0);
        RoutePoint {
            x: a.x + f * (b.x - a.x),
            y: a.y + f * (b.y - a.y),
            heading: a.heading + f * (b.heading - a.heading),
            along,
            time: a.time + f * (b.time - a.time),
            speed: a.speed,
        }
    }

    /// World position `lateral` metres to the left of the centre line at `along`.
    pub(crate) fn place(&self, along: f64, lateral: f64) -> [f64; 2] {
        let p = self.at(along);
        let (s, c) = p.heading.sin_cos();
        [p.x - s * lateral, p.y + c * lateral]
    }
}
