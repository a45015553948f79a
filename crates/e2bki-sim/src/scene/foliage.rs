//! Ray against foliage: an ellipsoid filled with small leaf clusters on a hashed lattice.
//! The walk visits the lattice cells along the ray; a cell's hash says whether it holds a cluster, and where.

use super::round::ellipsoid_span;
use super::shape::T_MIN;
use super::{Ray, Surface};
use crate::maths::{Vec3, hash3, vec3};

/// Leaf clusters of a foliage ellipsoid.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaves {
    pub center: Vec3,
    pub radii: Vec3,
    /// Share of lattice cells with leaves in the middle; it falls towards the outline.
    pub density: f64,
    /// Side of a lattice cell, metres.
    pub cell_m: f64,
    pub seed: u64,
}

pub(super) fn foliage(ray: &Ray, t_max: f64, leaves: &Leaves) -> Option<Surface> {
    let Leaves { center, radii, density, cell_m, seed } = *leaves;
    let (near, far) = ellipsoid_span(ray, center, radii)?;
    let (near, far) = (near.max(T_MIN), far.min(t_max));
    if near >= far {
        return None;
    }
    let d = ray.direction;
    let local = ray.origin - center;
    let start = (local + d * near) / cell_m;
    let mut cell = [start.x.floor() as i64, start.y.floor() as i64, start.z.floor() as i64];
    let (mut step, mut next, mut delta) = ([0_i64; 3], [f64::INFINITY; 3], [f64::INFINITY; 3]);
    for (k, (p, v)) in [(start.x, d.x), (start.y, d.y), (start.z, d.z)].into_iter().enumerate() {
        if v.abs() > 1e-12 {
            let inv = cell_m / v;
            step[k] = if v > 0.0 { 1 } else { -1 };
            let edge = if v > 0.0 { cell[k] as f64 + 1.0 } else { cell[k] as f64 };
            next[k] = near + (edge - p) * inv;
            delta[k] = inv.abs();
        }
    }
    let shrink = vec3(cell_m / radii.x, cell_m / radii.y, cell_m / radii.z);
    let mut t = near;
    while t < far {
        let h = hash3(seed, cell[0], cell[1], cell[2]);
        let middle = vec3(cell[0] as f64 + 0.5, cell[1] as f64 + 0.5, cell[2] as f64 + 0.5).scale(shrink);
        let out = middle.dot(middle);
        if ((h & 0xFFFF) as f64) < 65536.0 * density * (1.25 - out * out)
            && let Some(surface) = leaf(ray, local, center, cell_m, cell, h)
            && surface.t >= near
            && surface.t < far
        {
            return Some(surface);
        }
        let k = if next[0] <= next[1] && next[0] <= next[2] {
            0
        } else if next[1] <= next[2] {
            1
        } else {
            2
        };
        t = next[k];
        next[k] += delta[k];
        cell[k] += step[k];
    }
    None
}

/// One leaf cluster: a ball at a jittered place in its lattice cell.
#[inline]
fn leaf(ray: &Ray, local: Vec3, center: Vec3, cell_m: f64, cell: [i64; 3], h: u64) -> Option<Surface> {
    let jitter = |shift: u32| ((h >> shift) & 0xFF) as f64 * (0.3 / 255.0) + 0.35;
    let at = vec3(cell[0] as f64 + jitter(16), cell[1] as f64 + jitter(24), cell[2] as f64 + jitter(32)) * cell_m;
    let radius = cell_m * (0.36 + 0.22 * ((h >> 40) & 0xFF) as f64 / 255.0);
    let o = local - at;
    let b = o.dot(ray.direction);
    let disc = b * b - (o.dot(o) - radius * radius);
    if disc <= 0.0 {
        return None;
    }
    let t = -b - disc.sqrt();
    (t > T_MIN).then(|| Surface { t, normal: (ray.at(t) - center - at) / radius })
}
