//! Kernels of primitives in f64 and from the public sums alone, by the formulas.

use e2bki::config::{Distance, Growth, Profile, Reach, Shape};
use e2bki::kernel::sparse_kernel;
use e2bki::primitive::{Ellipsoid, symmetric_eigen};
use e2bki::{Mapper, Primitive};

const PAIRS: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];

/// Reach of a primitive's kernel on a surface.
pub(crate) fn reach_of(map: &Mapper, p: &Primitive<'_>, surface: [f64; 6]) -> f64 {
    let (kernel, plain) = (&map.config().kernel, map.config().reach(p.uncertainty()));
    let (of_class, tens) = (f64::from(kernel.class_reach.of(p.label())), (p.range() / 10.0).min(5.0));
    if kernel.reach == Reach::Uniform || kernel.growth == Growth::Everywhere {
        return plain * (1.0 + kernel.reach_growth * tens) * of_class;
    }
    let [third, second, first] = symmetric_eigen(surface).0;
    let grown = plain * (1.0 + kernel.reach_growth * (second - third) / first * tens);
    grown.min(plain.max(0.95)) * of_class
}

/// The kernel of a distance.
fn profile(map: &Mapper, distance: f64, length: f64) -> f64 {
    match map.config().kernel.profile {
        Profile::Quadratic => (1.0 - (distance / length).powi(2)).max(0.0),
        _ => sparse_kernel(distance, length),
    }
}

/// The surface at every primitive: moments of its class in the half-metre cubes around it, 2 : 1 along each axis, with a
/// variance of (5 cm)² for ignorance, over the largest variance.
pub(crate) fn surfaces(map: &Mapper) -> Vec<[f64; 6]> {
    let cube = |p: &Primitive<'_>| p.mean().map(|v| (2.0 * v).floor());
    let all: Vec<_> = map.primitives().map(|p| (p.label(), cube(&p), p.mean(), p.weight(), p.covariance())).collect();
    let one = |(label, cube, mean, ..): &(usize, [f64; 3], [f64; 3], f64, [f64; 6])| {
        let (mut weight, mut first, mut second) = (0.0, [0.0; 3], [0.0; 6]);
        for (_, theirs, place, points, covariance) in all.iter().filter(|q| q.0 == *label) {
            let factor: f64 = (0..3).map(|i| (2.0 - (cube[i] - theirs[i]).abs()).max(0.0)).product::<f64>() * points;
            if factor > 0.0 {
                let d: [f64; 3] = std::array::from_fn(|i| place[i] - mean[i]);
                weight += factor;
                (0..3).for_each(|i| first[i] += factor * d[i]);
                PAIRS.iter().enumerate().for_each(|(k, (i, j))| second[k] += factor * (covariance[k] + d[*i] * d[*j]));
            }
        }
        let covariance: [f64; 6] = std::array::from_fn(|k| {
            let (i, j) = PAIRS[k];
            second[k] / weight - first[i] * first[j] / (weight * weight) + if i == j { 0.0025 } else { 0.0 }
        });
        let largest = symmetric_eigen(covariance).0[2];
        covariance.map(|v| v / largest)
    };
    all.iter().map(one).collect()
}

/// Distance from a place to a primitive's surface: to a sphere or a point in closed form, to an ellipsoid by the solver,
/// which its own tests hold to a bracketed root.
fn distance_to(shape: Shape, [mean, x]: [[f64; 3]; 2], covariance: [f64; 6], tau: f64, dimensions: f64) -> f64 {
    let away = (0..3).map(|i| (x[i] - mean[i]).powi(2)).sum::<f64>().sqrt();
    match shape {
        Shape::Sphere => {
            let variance = (covariance[0] + covariance[1] + covariance[2]) / dimensions;
            (away - (tau * variance.max(1e-4)).sqrt()).max(0.0)
        }
        Shape::Point => (away - 1e-6).max(0.0),
        _ => Ellipsoid::of_gaussian(mean, covariance, tau, shape).distance(x),
    }
}

/// The kernel of a primitive at a place; `planar` for a bird's-eye view, where nothing has height.
pub(crate) fn kernel_of(map: &Mapper, p: &Primitive<'_>, surface: [f64; 6], x: [f64; 3], planar: bool) -> f64 {
    let (kernel, reach) = (&map.config().kernel, reach_of(map, p, surface));
    if p.state().muted {
        return 0.0;
    }
    let dimensions = if planar { 2.0 } else { 3.0 };
    let flat = |m: [f64; 6]| if planar { [m[0], m[1], 0.0, m[3], 0.0, 0.0] } else { m };
    let (mean, covariance) = (p.mean(), flat(p.covariance()));
    let mean = if planar { [mean[0], mean[1], 0.0] } else { mean };
    // Surely beyond the ellipsoid of any mass up to 99 %, and beyond the reach; where the square is taken, beyond its root.
    let away = (0..3).map(|i| (x[i] - mean[i]).powi(2)).sum::<f64>().sqrt();
    if away > reach.max(reach.sqrt()) + (12.0 * (covariance[0] + covariance[1] + covariance[2] + 3e-4)).sqrt() {
        return 0.0;
    }
    let tau = if planar {
        e2bki::maths::mahalanobis_threshold_2d(kernel.ellipsoid_mass)
    } else {
        e2bki::maths::mahalanobis_threshold_3d(kernel.ellipsoid_mass)
    };
    if kernel.reach == Reach::Uniform {
        let d = distance_to(kernel.shape, [mean, x], covariance, tau, dimensions);
        return profile(map, if kernel.distance == Distance::Squared { d * d } else { d }, reach);
    }
    let mut surface = flat(surface);
    if kernel.shape == Shape::Sphere {
        let mean = (surface[0] + surface[1] + surface[2]) / dimensions;
        surface = [mean, mean, mean, 0.0, 0.0, 0.0];
    }
    let across = kernel.reach_across.min(reach).powi(2);
    let support: [f64; 6] = std::array::from_fn(|k| {
        tau * covariance[k] + (reach * reach - across) * surface[k] + if k < 3 { across } else { 0.0 }
    });
    let [xx, yy, zz, xy, xz, yz] = support;
    let inverse = [
        yy * zz - yz * yz,
        xx * zz - xz * xz,
        xx * yy - xy * xy,
        xz * yz - xy * zz,
        xy * yz - xz * yy,
        xy * xz - yz * xx,
    ];
    let determinant = xx * inverse[0] + xy * inverse[3] + xz * inverse[4];
    let d: [f64; 3] = std::array::from_fn(|i| x[i] - mean[i]);
    let both = |k: usize| if k < 3 { 1.0 } else { 2.0 };
    let squared: f64 =
        PAIRS.iter().enumerate().map(|(k, (i, j))| both(k) * inverse[k] * d[*i] * d[*j]).sum::<f64>() / determinant;
    profile(map, squared.max(0.0).sqrt(), 1.0)
}
