//! Closed-form ray intersections, one function per shape.
//! Contract: unit ray direction; the first entry with `T_MIN < t < t_max`, or `None`. A ray that starts inside a
//! closed shape meets its far side.

use super::shape::T_MIN;
use super::{Lattice, Ray, Surface};
use crate::maths::{Vec3, hash3, vec3};

#[inline]
fn first(near: f64, far: f64, t_max: f64) -> Option<f64> {
    let t = if near > T_MIN { near } else { far };
    (t > T_MIN && t < t_max).then_some(t)
}

/// Entry and exit distances of the line through an ellipsoid.
#[inline]
fn ellipsoid_span(ray: &Ray, center: Vec3, radii: Vec3) -> Option<(f64, f64)> {
    // Most candidates miss: a ball around the ellipsoid rejects them without a division.
    let to = center - ray.origin;
    let along = to.dot(ray.direction);
    let reach = radii.x.max(radii.y).max(radii.z);
    if to.dot(to) - along * along > reach * reach || along < -reach {
        return None;
    }
    let k = vec3(1.0 / radii.x, 1.0 / radii.y, 1.0 / radii.z);
    let (o, d) = ((ray.origin - center).scale(k), ray.direction.scale(k));
    let (a, b, c) = (d.dot(d), o.dot(d), o.dot(o) - 1.0);
    let disc = b * b - a * c;
    if disc <= 0.0 {
        return None;
    }
    let root = disc.sqrt();
    Some(((-b - root) / a, (-b + root) / a))
}

pub(super) fn ellipsoid(ray: &Ray, t_max: f64, center: Vec3, radii: Vec3) -> Option<Surface> {
    let (near, far) = ellipsoid_span(ray, center, radii)?;
    let t = first(near, far, t_max)?;
    let k = vec3(1.0 / (radii.x * radii.x), 1.0 / (radii.y * radii.y), 1.0 / (radii.z * radii.z));
    Some(Surface { t, normal: (ray.at(t) - center).scale(k).unit() })
}

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

#[inline]
fn to_local(v: Vec3, turn: [f64; 2]) -> Vec3 {
    vec3(turn[0] * v.x + turn[1] * v.y, -turn[1] * v.x + turn[0] * v.y, v.z)
}

#[inline]
fn from_local(v: Vec3, turn: [f64; 2]) -> Vec3 {
    vec3(turn[0] * v.x - turn[1] * v.y, turn[1] * v.x + turn[0] * v.y, v.z)
}

/// Clips `(near, far)` by the half-space `normal · x <= offset`; keeps the entering normal.
#[inline]
fn clip(o: Vec3, d: Vec3, normal: Vec3, offset: f64, span: &mut (f64, f64), faces: &mut (Vec3, Vec3)) -> bool {
    let (speed, gap) = (normal.dot(d), offset - normal.dot(o));
    if speed.abs() < 1e-15 {
        return gap >= 0.0;
    }
    let t = gap / speed;
    if speed < 0.0 {
        if t > span.0 {
            (span.0, faces.0) = (t, normal);
        }
    } else if t < span.1 {
        (span.1, faces.1) = (t, normal);
    }
    span.0 < span.1
}

fn convex(ray: &Ray, t_max: f64, origin: Vec3, turn: [f64; 2], planes: &[(Vec3, f64)]) -> Option<Surface> {
    let (o, d) = (to_local(ray.origin - origin, turn), to_local(ray.direction, turn));
    let mut span = (f64::NEG_INFINITY, f64::INFINITY);
    let mut faces = (Vec3::UP, Vec3::UP);
    for &(normal, offset) in planes {
        if !clip(o, d, normal, offset, &mut span, &mut faces) {
            return None;
        }
    }
    let t = first(span.0, span.1, t_max)?;
    let face = if t == span.0 { faces.0 } else { faces.1 };
    Some(Surface { t, normal: from_local(face, turn) })
}

pub(super) fn cuboid(ray: &Ray, t_max: f64, center: Vec3, half: Vec3, turn: [f64; 2]) -> Option<Surface> {
    let (o, d) = (to_local(ray.origin - center, turn), to_local(ray.direction, turn));
    let (mut near, mut far, mut near_axis, mut far_axis) = (f64::NEG_INFINITY, f64::INFINITY, 0, 0);
    for (axis, (p, v, h)) in [(o.x, d.x, half.x), (o.y, d.y, half.y), (o.z, d.z, half.z)].into_iter().enumerate() {
        if v.abs() < 1e-15 {
            if p.abs() > h {
                return None;
            }
            continue;
        }
        let inv = 1.0 / v;
        let side = h * inv.signum();
        let (a, b) = ((-side - p) * inv, (side - p) * inv);
        if a > near {
            (near, near_axis) = (a, axis);
        }
        if b < far {
            (far, far_axis) = (b, axis);
        }
        if near >= far {
            return None;
        }
    }
    let t = first(near, far, t_max)?;
    let entering = t == near;
    let axis = if entering { near_axis } else { far_axis };
    let sign = |v: f64| if (v > 0.0) == entering { -1.0 } else { 1.0 };
    let face = match axis {
        0 => vec3(sign(d.x), 0.0, 0.0),
        1 => vec3(0.0, sign(d.y), 0.0),
        _ => vec3(0.0, 0.0, sign(d.z)),
    };
    Some(Surface { t, normal: from_local(face, turn) })
}

pub(super) fn gable(ray: &Ray, t_max: f64, base: Vec3, half: Vec3, turn: [f64; 2]) -> Option<Surface> {
    let slope = vec3(0.0, half.z, half.y).unit();
    let offset = slope.y * half.y;
    convex(
        ray,
        t_max,
        base,
        turn,
        &[
            (vec3(0.0, 0.0, -1.0), 0.0),
            (slope, offset),
            (vec3(0.0, -slope.y, slope.z), offset),
            (vec3(1.0, 0.0, 0.0), half.x),
            (vec3(-1.0, 0.0, 0.0), half.x),
        ],
    )
}

pub(super) fn cylinder(ray: &Ray, t_max: f64, start: Vec3, axis: Vec3, length: f64, radius: f64) -> Option<Surface> {
    let o = ray.origin - start;
    let (oa, da) = (o.dot(axis), ray.direction.dot(axis));
    let (op, dp) = (o - axis * oa, ray.direction - axis * da);
    let (a, b, c) = (dp.dot(dp), op.dot(dp), op.dot(op) - radius * radius);
    let (mut near, mut far) = (f64::NEG_INFINITY, f64::INFINITY);
    if a > 1e-18 {
        let disc = b * b - a * c;
        if disc <= 0.0 {
            return None;
        }
        let root = disc.sqrt();
        (near, far) = ((-b - root) / a, (-b + root) / a);
    } else if c > 0.0 {
        return None;
    }
    let (mut near_cap, mut far_cap) = (false, false);
    if da.abs() > 1e-15 {
        let (mut low, mut high) = (-oa / da, (length - oa) / da);
        if low > high {
            (low, high) = (high, low);
        }
        if low > near {
            (near, near_cap) = (low, true);
        }
        if high < far {
            (far, far_cap) = (high, true);
        }
    } else if oa < 0.0 || oa > length {
        return None;
    }
    if near >= far {
        return None;
    }
    let t = first(near, far, t_max)?;
    let along = oa + t * da;
    let cap = if t == near { near_cap } else { far_cap };
    let normal = if cap { if along > 0.5 * length { axis } else { -axis } } else { (op + dp * t).unit() };
    Some(Surface { t, normal })
}

pub(super) fn cone(ray: &Ray, t_max: f64, base: Vec3, radius: f64, height: f64) -> Option<Surface> {
    let tip = base + Vec3::UP * height;
    let (o, d, k) = (ray.origin - tip, ray.direction, radius / height);
    let k2 = k * k;
    let a = d.x * d.x + d.y * d.y - k2 * d.z * d.z;
    let b = o.x * d.x + o.y * d.y - k2 * o.z * d.z;
    let c = o.x * o.x + o.y * o.y - k2 * o.z * o.z;
    let mut best: Option<Surface> = None;
    let mut offer = |t: f64, normal: Vec3| {
        if t > T_MIN && t < best.map_or(t_max, |s| s.t) {
            best = Some(Surface { t, normal });
        }
    };
    let disc = b * b - a * c;
    if disc > 0.0 && a.abs() > 1e-15 {
        let root = disc.sqrt();
        for t in [(-b - root) / a, (-b + root) / a] {
            let p = o + d * t;
            if (-height..=0.0).contains(&p.z) {
                offer(t, vec3(p.x, p.y, -k2 * p.z).unit());
            }
        }
    }
    if d.z.abs() > 1e-15 {
        let t = (-height - o.z) / d.z;
        let p = o + d * t;
        if p.x * p.x + p.y * p.y <= radius * radius {
            offer(t, vec3(0.0, 0.0, -1.0));
        }
    }
    best
}

pub(super) fn panel(
    ray: &Ray,
    t_max: f64,
    center: Vec3,
    half: [f64; 2],
    turn: [f64; 2],
    lattice: Lattice,
) -> Option<Surface> {
    let (o, d) = (to_local(ray.origin - center, turn), to_local(ray.direction, turn));
    if d.y.abs() < 1e-15 {
        return None;
    }
    let t = -o.y / d.y;
    if t <= T_MIN || t >= t_max {
        return None;
    }
    let (x, z) = (o.x + d.x * t, o.z + d.z * t);
    if x.abs() > half[0] || z.abs() > half[1] {
        return None;
    }
    let solid = match lattice {
        Lattice::Full => true,
        Lattice::Disc => x * x + z * z <= half[0].min(half[1]).powi(2),
        Lattice::Pickets(period, share) => (x + half[0]).rem_euclid(period) < share * period,
        Lattice::Rails(period, share) => (half[1] - z).rem_euclid(period) < share * period,
    };
    let side = if d.y > 0.0 { -1.0 } else { 1.0 };
    solid.then(|| Surface { t, normal: from_local(vec3(0.0, side, 0.0), turn) })
}
