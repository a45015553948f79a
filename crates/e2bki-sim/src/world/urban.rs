//! Urban ground: a street with parking lanes, side streets, raised pavements, gardens.
//! All streets share one field, the distance outside the nearest street's edge, which decides height and material.

use super::segment::Curve;
use super::{Fix, Season, UrbanProfile};
use crate::maths::{Vec3, noise2, vec3};
use crate::scene::{GroundNode, GroundSample, Material};

/// Half width of the main street, metres (two lanes and two parking lanes).
pub(super) const ROAD_HALF_M: f64 = 5.2;
/// Half width of a side street, metres.
pub(super) const SIDE_HALF_M: f64 = 3.4;
/// How far side streets reach from the main street, metres.
pub(super) const SIDE_REACH_M: f64 = 60.0;
/// Width of the pavement, metres.
pub(super) const PAVEMENT_M: f64 = 2.4;
/// Height of the kerb, metres.
pub(super) const KERB_M: f64 = 0.13;

/// An urban landscape.
pub(super) struct Urban {
    pub seed: u64,
    pub profile: UrbanProfile,
    pub season: Season,
    pub curve: Curve,
}

/// A side street: it crosses the main street at `center`, at right angles to `along`.
#[derive(Debug, Clone, Copy)]
pub(super) struct SideStreet {
    pub center: [f64; 2],
    /// Unit direction of the main street.
    pub along: [f64; 2],
}

impl SideStreet {
    /// Distance along the main street and across it.
    pub(super) fn local(&self, x: f64, y: f64) -> [f64; 2] {
        let (dx, dy) = (x - self.center[0], y - self.center[1]);
        [self.along[0] * dx + self.along[1] * dy, self.along[0] * dy - self.along[1] * dx]
    }

    /// World position of local coordinates.
    pub(super) fn place(&self, u: f64, v: f64) -> [f64; 2] {
        let [c, s] = self.along;
        [self.center[0] + c * u - s * v, self.center[1] + s * u + c * v]
    }
}

impl Urban {
    /// The side street of leg `k`.
    pub(super) fn side_street(&self, k: i64) -> SideStreet {
        let (a, b) = (self.curve.corner(k), self.curve.corner(k + 1));
        let length = (b[0] - a[0]).hypot(b[1] - a[1]);
        SideStreet {
            center: [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])],
            along: [(b[0] - a[0]) / length, (b[1] - a[1]) / length],
        }
    }

    /// Side streets that may matter near `x`.
    pub(super) fn side_streets(&self, x: f64) -> [SideStreet; 3] {
        let k = (x / 170.0).floor() as i64;
        [k - 1, k, k + 1].map(|k| self.side_street(k))
    }

    /// Distance outside the nearest side street.
    pub(super) fn side_edge(&self, x: f64, y: f64) -> f64 {
        self.side_streets(x).iter().fold(1e3, |edge: f64, street| {
            let [u, v] = street.local(x, y);
            let past = (v.abs() - SIDE_REACH_M).max(0.0);
            edge.min((u.abs() - SIDE_HALF_M).max(past))
        })
    }

    /// Distance outside the nearest street.
    pub(super) fn edge(&self, x: f64, y: f64, fix: &Fix) -> f64 {
        (fix.lateral.abs() - ROAD_HALF_M).min(self.side_edge(x, y))
    }

    /// Ground height, given the distance outside the nearest street.
    pub(super) fn height(&self, x: f64, y: f64, edge: f64) -> f64 {
        let s = self.seed;
        let low = 2.6 * noise2(s ^ 1, x / 230.0, y / 230.0) + 0.5 * noise2(s ^ 2, x / 80.0, y / 80.0);
        let step = KERB_M * (edge / 0.5).clamp(0.0, 1.0);
        let garden = (edge - PAVEMENT_M).clamp(0.0, 8.0);
        let bumps = 0.10 * noise2(s ^ 3, x / 5.0, y / 5.0) + 0.03 * noise2(s ^ 4, x / 1.5, y / 1.5);
        low + step + 0.03 * garden + bumps * (garden / 2.0).min(1.0) + 0.02 * (-edge).clamp(0.0, ROAD_HALF_M)
    }

    /// A point standing on the ground.
    pub(super) fn stand(&self, [x, y]: [f64; 2], fix: &Fix) -> Vec3 {
        vec3(x, y, self.height(x, y, self.edge(x, y, fix)))
    }

    /// Ground values at a node.
    pub(super) fn node(&self, x: f64, y: f64, fix: &Fix) -> GroundNode {
        let edge = self.edge(x, y, fix);
        GroundNode {
            height: self.height(x, y, edge) as f32,
            lateral: fix.lateral as f32,
            along: fix.along.rem_euclid(1024.0) as f32,
            edge: edge as f32,
            wet: -1.0,
        }
    }

    /// Material of a ground point.
    pub(super) fn material(&self, p: Vec3, sample: &GroundSample) -> Material {
        let n = &sample.node;
        let (edge, lateral) = (f64::from(n.edge), f64::from(n.lateral));
        if edge < 0.02 {
            return if is_paint(lateral, f64::from(n.along), edge) { Material::LanePaint } else { Material::Asphalt };
        }
        if edge < PAVEMENT_M {
            return Material::Concrete;
        }
        let bare = noise2(self.seed ^ 0x64, p.x / 4.0, p.y / 4.0) + 0.3 * noise2(self.seed ^ 0x65, p.x, p.y);
        if bare > 0.62 {
            Material::Dirt
        } else if bare < -0.55 {
            Material::GrassTall
        } else {
            Material::GrassShort
        }
    }
}

fn is_paint(lateral: f64, along: f64, edge: f64) -> bool {
    let crossing = edge < lateral.abs() - ROAD_HALF_M - 0.02;
    if crossing {
        return false;
    }
    (lateral.abs() < 0.07 && along.rem_euclid(7.0) < 3.0)
        || ((lateral.abs() - 3.15).abs() < 0.05 && along.rem_euclid(2.0) < 1.0)
}
