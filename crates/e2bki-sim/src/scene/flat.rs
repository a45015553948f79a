//! Ray against shapes with flat faces: turned box, gabled roof, and panels with openings.
//! Same contract as the round shapes.

use super::round::first;
use super::shape::T_MIN;
use super::{Lattice, Ray, Surface};
use crate::maths::{Vec3, vec3};

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
