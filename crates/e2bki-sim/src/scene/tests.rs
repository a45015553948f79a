//! The ray caster against scenes whose answers are known in closed form.
//! Each analytic solution is written out again here, independent of the library's.

use super::{Lattice, Material, Ray, Shape, Solid, View};
use crate::maths::{Stream, Vec3, vec3};

fn solid(shape: Shape) -> Solid {
    Solid { shape, material: Material::Facade, tint: 0, object: 1 }
}

fn random_ray(random: &mut Stream) -> Ray {
    let o = vec3(random.range(-20.0, 20.0), random.range(-20.0, 20.0), random.range(0.5, 12.0));
    let d = vec3(random.normal(), random.normal(), 0.5 * random.normal());
    Ray::new(o, d)
}

/// Distance to the plane z = 0.
fn plane(ray: &Ray) -> Option<f64> {
    let t = -ray.origin.z / ray.direction.z;
    (t > 0.0 && t < 60.0).then_some(t)
}

fn check(shapes: &[Shape], analytic: impl Fn(&Ray) -> Option<f64>) {
    let solids: Vec<Solid> = shapes.iter().copied().map(solid).collect();
    let view = View::flat(0.0, 4, &solids, Material::Dirt);
    let mut random = Stream::new(11);
    let mut hits = 0;
    for _ in 0..20_000 {
        let ray = random_ray(&mut random);
        let expected = match (analytic(&ray), plane(&ray)) {
            (Some(a), Some(b)) => Some((a.min(b), a < b)),
            (Some(a), None) => Some((a, true)),
            (None, Some(b)) => Some((b, false)),
            (None, None) => None,
        };
        let found = view.cast(&ray, 60.0);
        match (expected, found) {
            (Some((t, on_solid)), Some(hit)) => {
                assert!((hit.t - t).abs() < 1e-5, "{ray:?}: {} for {t}", hit.t);
                assert_eq!(hit.material == Material::Facade, on_solid);
                assert!((hit.normal.length() - 1.0).abs() < 1e-9);
                hits += usize::from(on_solid);
            }
            (expected, found) => assert!(expected.is_none() && found.is_none(), "{ray:?}: {expected:?} {found:?}"),
        }
        assert_eq!(view.is_blocked(&ray, 60.0), found.is_some());
    }
    assert!(hits > 100, "only {hits} rays met the shape");
}

fn first_positive(near: f64, far: f64) -> Option<f64> {
    [near, far].into_iter().find(|t| *t > 1e-6 && *t < 60.0)
}

#[test]
fn rays_meet_the_plane_where_it_is() {
    let tiny = Shape::Ellipsoid { center: vec3(0.0, 0.0, 3.0), radii: vec3(2.0, 2.0, 2.0) };
    check(&[tiny], |ray| {
        let o = ray.origin - vec3(0.0, 0.0, 3.0);
        let b = o.dot(ray.direction);
        let disc = b * b - o.dot(o) + 4.0;
        if disc <= 0.0 { None } else { first_positive(-b - disc.sqrt(), -b + disc.sqrt()) }
    });
}

#[test]
fn rays_meet_a_turned_box_where_it_is() {
    let (c, h, angle) = (vec3(3.0, -2.0, 1.7), vec3(2.5, 1.0, 1.5), 0.6_f64);
    let turn = [angle.cos(), angle.sin()];
    check(&[Shape::Cuboid { center: c, half: h, turn }], |ray| {
        let local = |v: Vec3| [turn[0] * v.x + turn[1] * v.y, turn[0] * v.y - turn[1] * v.x, v.z];
        let (o, d) = (local(ray.origin - c), local(ray.direction));
        let (mut near, mut far) = (f64::NEG_INFINITY, f64::INFINITY);
        for k in 0..3 {
            let (a, b) = ((-h.to_array()[k] - o[k]) / d[k], (h.to_array()[k] - o[k]) / d[k]);
            near = near.max(a.min(b));
            far = far.min(a.max(b));
        }
        if near > far { None } else { first_positive(near, far) }
    });
}

#[test]
fn rays_meet_an_upright_cylinder_where_it_is() {
    let shape = Shape::Cylinder { start: vec3(-4.0, 5.0, 0.2), axis: Vec3::UP, length: 6.0, radius: 1.5 };
    check(&[shape], |ray| {
        let (ox, oy) = (ray.origin.x + 4.0, ray.origin.y - 5.0);
        let d = ray.direction;
        let (a, b, c) = (d.x * d.x + d.y * d.y, ox * d.x + oy * d.y, ox * ox + oy * oy - 2.25);
        let disc = b * b - a * c;
        if disc <= 0.0 {
            return None;
        }
        let (z0, z1) = ((0.2 - ray.origin.z) / d.z, (6.2 - ray.origin.z) / d.z);
        let near = ((-b - disc.sqrt()) / a).max(z0.min(z1));
        let far = ((-b + disc.sqrt()) / a).min(z0.max(z1));
        if near >= far { None } else { first_positive(near, far) }
    });
}

#[test]
fn a_cone_a_roof_and_a_panel_give_points_on_their_own_surface() {
    let shapes = [
        Shape::Cone { base: vec3(6.0, 6.0, 1.0), radius: 2.0, height: 3.0 },
        Shape::Gable { base: vec3(-6.0, -6.0, 2.0), half: vec3(4.0, 2.0, 2.0), turn: [1.0, 0.0] },
        Shape::Panel {
            center: vec3(0.0, 8.0, 1.0),
            half_length: 5.0,
            half_height: 1.0,
            turn: [1.0, 0.0],
            lattice: Lattice::Pickets(0.5, 0.6),
        },
    ];
    let mut random = Stream::new(5);
    let mut met = [0; 3];
    for _ in 0..60_000 {
        let ray = random_ray(&mut random);
        for (k, shape) in shapes.iter().enumerate() {
            let Some(surface) = shape.intersect(&ray, 100.0) else { continue };
            let p = ray.at(surface.t);
            met[k] += 1;
            let gap = match k {
                0 if (p.z - 1.0).abs() < 1e-9 => 0.0,
                0 => ((p.x - 6.0).hypot(p.y - 6.0) - 2.0 * (4.0 - p.z) / 3.0).abs(),
                1 => {
                    let (x, y, z) = (p.x + 6.0, p.y + 6.0, p.z - 2.0);
                    let sides = [z, 4.0 - x.abs(), 2.0 - y.abs() - z];
                    assert!(sides.iter().all(|s| *s > -1e-9));
                    sides.iter().fold(f64::INFINITY, |a, b| a.min(b.abs()))
                }
                _ => {
                    assert!((p.x + 5.0).rem_euclid(0.5) <= 0.3 + 1e-9);
                    (p.y - 8.0).abs()
                }
            };
            assert!(gap < 1e-9, "shape {k}: {gap}");
        }
    }
    assert!(met.iter().all(|n| *n > 100), "{met:?}");
}

#[test]
fn foliage_is_porous_and_stays_inside_its_ellipsoid() {
    let (center, radii) = (vec3(0.0, 0.0, 4.0), vec3(2.0, 1.5, 1.0));
    let shape = Shape::Foliage { center, radii, density: 0.05, cell_m: 0.15, seed: 3 };
    let outline = Shape::Ellipsoid { center, radii };
    let mut random = Stream::new(8);
    let (mut inside, mut passed) = (0, 0);
    for _ in 0..40_000 {
        let ray = random_ray(&mut random);
        match (outline.intersect(&ray, 100.0), shape.intersect(&ray, 100.0)) {
            (Some(_), Some(hit)) => {
                let p = ray.at(hit.t) - center;
                let r = vec3(p.x / 2.0, p.y / 1.5, p.z);
                assert!(r.length() < 1.001);
                inside += 1;
            }
            (Some(_), None) => passed += 1,
            (None, hit) => assert!(hit.is_none()),
        }
    }
    assert!(inside > 50 && passed > 50, "{inside} hits, {passed} passed");
}
