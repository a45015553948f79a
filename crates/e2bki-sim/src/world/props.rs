//! Small man-made things: poles, barrels, signs, crates, fences, lamps and traffic lights.
//! Thin on purpose: poles, plates and rails are what mapping methods differ on.

use super::tree::rod;
use crate::maths::{Stream, Vec3, vec3};
use crate::scene::{Lattice, Material, Shape, Solid};

fn part(shape: Shape, material: Material, tint: u8) -> Solid {
    Solid { shape, material, tint, object: 0 }
}

/// Unit vector along a heading.
pub(super) fn ahead(heading: f64) -> Vec3 {
    vec3(heading.cos(), heading.sin(), 0.0)
}

/// A utility pole or a thin post.
pub(super) fn pole(random: &mut Stream, base: Vec3, out: &mut Vec<Solid>) {
    let (height, radius) =
        if random.chance(0.4) { (random.range(5.0, 7.0), 0.11) } else { (random.range(1.2, 2.6), 0.045) };
    let foot = base - Vec3::UP * 0.3;
    out.push(part(rod(foot, base + Vec3::UP * height, radius), Material::WoodPole, random.byte()));
    if height > 4.0 {
        let across = ahead(random.range(0.0, 3.1)) * 0.9;
        let arm = base + Vec3::UP * (height - 0.4);
        out.push(part(rod(arm - across, arm + across, 0.05), Material::WoodPole, 90));
    }
}

/// One to three barrels.
pub(super) fn barrels(random: &mut Stream, base: Vec3, out: &mut Vec<Solid>) {
    for k in 0..1 + random.below(3) {
        let shift = vec3(0.75 * f64::from(k), random.range(-0.3, 0.3), 0.0);
        let foot = base + shift - Vec3::UP * 0.15;
        out.push(part(rod(foot, foot + Vec3::UP * 1.05, 0.30), Material::Barrel, random.byte()));
    }
}

/// A few crates.
pub(super) fn crates(random: &mut Stream, base: Vec3, out: &mut Vec<Solid>) {
    for _ in 0..1 + random.below(2) {
        let half = vec3(random.range(0.3, 0.6), random.range(0.3, 0.6), random.range(0.25, 0.5));
        let turn = random.range(0.0, 3.1_f64);
        let center = base + vec3(random.range(-0.7, 0.7), random.range(-0.7, 0.7), half.z - 0.1);
        let shape = Shape::Cuboid { center, half, turn: [turn.cos(), turn.sin()] };
        out.push(part(shape, Material::Barrel, random.byte()));
    }
}

/// A post with a plate that faces oncoming drivers.
pub(super) fn sign(random: &mut Stream, base: Vec3, heading: f64, out: &mut Vec<Solid>) {
    let height = random.range(1.9, 2.5);
    out.push(part(rod(base - Vec3::UP * 0.3, base + Vec3::UP * height, 0.035), Material::MetalPole, 120));
    let size = random.range(0.26, 0.40);
    let lattice = if random.chance(0.5) { Lattice::Disc } else { Lattice::Full };
    let turn = heading + std::f64::consts::FRAC_PI_2 + random.range(-0.15, 0.15);
    let center = base + Vec3::UP * height - ahead(heading) * 0.05;
    let shape = Shape::Panel { center, half_length: size, half_height: size, turn: [turn.cos(), turn.sin()], lattice };
    out.push(part(shape, Material::SignFace, random.byte()));
}

/// One field of an open fence, with its first post.
pub(super) fn fence(from: Vec3, to: Vec3, metal: bool, out: &mut Vec<Solid>) {
    let material = if metal { Material::MetalFence } else { Material::WoodFence };
    let (height, radius, lattice) =
        if metal { (0.85, 0.06, Lattice::Rails(0.9, 0.36)) } else { (1.25, 0.055, Lattice::Rails(0.42, 0.30)) };
    out.push(part(rod(from - Vec3::UP * 0.3, from + Vec3::UP * height, radius), material, 60));
    out.push(part(field(from, to, height, 0.0, lattice), material, 60));
}

/// An upright panel whose lower edge is `lift` above the line from `from` to `to`.
pub(super) fn field(from: Vec3, to: Vec3, height: f64, lift: f64, lattice: Lattice) -> Shape {
    let along = to - from;
    let length = along.x.hypot(along.y).max(1e-6);
    // The panel is level; it spans from the lower end so that no gap opens under it.
    let low = from.z.min(to.z) + lift;
    let high = 0.5 * (from.z + to.z) + lift + height;
    Shape::Panel {
        center: vec3(0.5 * (from.x + to.x), 0.5 * (from.y + to.y), 0.5 * (low + high)),
        half_length: 0.5 * length,
        half_height: 0.5 * (high - low),
        turn: [along.x / length, along.y / length],
        lattice,
    }
}

/// A street lamp whose arm reaches towards `over`.
pub(super) fn lamp(base: Vec3, over: Vec3, out: &mut Vec<Solid>) {
    let top = base + Vec3::UP * 6.2;
    let tip = top + over * 1.6 + Vec3::UP * 0.35;
    out.push(part(rod(base - Vec3::UP * 0.2, top, 0.075), Material::MetalPole, 100));
    out.push(part(rod(top, tip, 0.045), Material::MetalPole, 100));
    let radii = vec3(0.28, 0.28, 0.10);
    out.push(part(Shape::Ellipsoid { center: tip, radii }, Material::MetalPole, 200));
}

/// A traffic light facing drivers that travel along `heading`.
pub(super) fn traffic_light(base: Vec3, heading: f64, out: &mut Vec<Solid>) {
    let top = base + Vec3::UP * 3.2;
    out.push(part(rod(base - Vec3::UP * 0.2, top, 0.06), Material::MetalPole, 110));
    let center = top - Vec3::UP * 0.45 - ahead(heading) * 0.2;
    let turn = [heading.cos(), heading.sin()];
    let half = vec3(0.13, 0.17, 0.46);
    out.push(part(Shape::Cuboid { center, half, turn }, Material::LightHead, 10));
}

/// A plate on its own post, as for street names and parking.
pub(super) fn traffic_sign(random: &mut Stream, base: Vec3, heading: f64, out: &mut Vec<Solid>) {
    sign(random, base, heading, out);
    if random.chance(0.3) {
        let turn = heading + std::f64::consts::FRAC_PI_2;
        let shape = Shape::Panel {
            center: base + Vec3::UP * 1.45 - ahead(heading) * 0.05,
            half_length: 0.25,
            half_height: 0.14,
            turn: [turn.cos(), turn.sin()],
            lattice: Lattice::Full,
        };
        out.push(part(shape, Material::SignFace, 250));
    }
}
