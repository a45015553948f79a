//! Ray against the height raster: walks the 0.5 m cells under the ray between two distances and finds where it dips
//! below the bilinear surface.

use super::Ray;
use super::ground::{CELLS, Ground, NODE_M};

/// First distance in `[t_in, t_out]` at which the ray is at or below the ground of this tile.
pub(super) fn cross_ground(ground: &Ground, ray: &Ray, t_in: f64, t_out: f64) -> Option<f64> {
    let (o, d) = (ray.origin, ray.direction);
    let (ox, oy) = ((o.x - ground.corner[0]) / NODE_M, (o.y - ground.corner[1]) / NODE_M);
    let (dx, dy) = (d.x / NODE_M, d.y / NODE_M);
    let clamp = |p: f64| (p.max(0.0) as usize).min(CELLS - 1);
    let (mut i, mut j) = (clamp(ox + dx * t_in), clamp(oy + dy * t_in));
    let gap = |i: usize, j: usize, t: f64| {
        o.z + d.z * t - ground.height_in(i, j, ox + dx * t - i as f64, oy + dy * t - j as f64)
    };
    let edge = |cell: usize, p: f64, v: f64| {
        if v > 1e-15 {
            (cell as f64 + 1.0 - p) / v
        } else if v < -1e-15 {
            (cell as f64 - p) / v
        } else {
            f64::INFINITY
        }
    };
    let mut t = t_in;
    let mut before = gap(i, j, t);
    if before < 0.0 {
        return (before > -0.25).then_some(t.max(1e-9));
    }
    loop {
        let (tx, ty) = (edge(i, ox, dx), edge(j, oy, dy));
        let next = tx.min(ty).min(t_out);
        let after = gap(i, j, next);
        if after < 0.0 {
            return Some(root(t, before, next, after, |t| gap(i, j, t)));
        }
        if next >= t_out {
            return None;
        }
        if tx <= ty {
            i = if dx > 0.0 { i + 1 } else { i.wrapping_sub(1) };
        } else {
            j = if dy > 0.0 { j + 1 } else { j.wrapping_sub(1) };
        }
        if i >= CELLS || j >= CELLS {
            return None;
        }
        (t, before) = (next, after);
    }
}

/// Zero of a nearly linear function that changes sign in `[a, b]` (false position, Illinois variant).
fn root(mut a: f64, mut fa: f64, mut b: f64, mut fb: f64, f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..12 {
        let t = (a * fb - b * fa) / (fb - fa);
        let value = f(t);
        if value.abs() < 1e-9 {
            return t;
        }
        if value < 0.0 {
            (b, fb) = (t, value);
            fa *= 0.5;
        } else {
            (a, fa) = (t, value);
            fb *= 0.5;
        }
    }
    a
}
