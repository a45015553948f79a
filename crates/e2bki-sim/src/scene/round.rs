//! Ray against ellipsoid, capped cylinder and cone, in closed form.
//! Contract of all shape functions: unit ray direction; the first entry with `T_MIN < t < t_max`, or `None`. A ray that
//! starts inside a closed shape meets its far side.

use super::shape::T_MIN;
use super::{Ray, Surface};
use crate::maths::{Vec3, vec3};

/// The first usable of two distances.
#[inline]
pub(super) fn first(near: f64, far: f64, t_max: f64) -> Option<f64> {
    let t = if near > T_MIN { near } else { far };
    (t > T_MIN && t < t_max).then_some(t)
}

/// Entry and exit distances of the line through an ellipsoid.
#[inline]
pub(super) fn ellipsoid_span(ray: &Ray, center: Vec3, radii: Vec3) -> Option<(f64, f64)> {
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
