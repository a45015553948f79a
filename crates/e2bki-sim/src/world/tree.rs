//! Plants built from a trunk, branches and clusters of foliage.
//! Broad-leaved trees lose their leaves with the season; conifers keep theirs.

use super::Season;
use crate::maths::{Stream, Vec3, vec3};
use crate::scene::{Material, Shape, Solid};

/// A cylinder between two points.
pub(super) fn rod(from: Vec3, to: Vec3, radius: f64) -> Shape {
    let along = to - from;
    Shape::Cylinder { start: from, axis: along.unit(), length: along.length(), radius }
}

fn cluster(center: Vec3, radii: Vec3, density: f64, cell_m: f64, random: &mut Stream) -> Shape {
    Shape::Foliage { center, radii, density, cell_m, seed: random.bits() }
}

/// A broad-leaved tree standing at `base`.
pub(super) fn broadleaf(random: &mut Stream, base: Vec3, season: Season, out: &mut Vec<Solid>) {
    let tint = random.byte();
    let mut push = |shape, material| out.push(Solid { shape, material, tint, object: 0 });
    let height = random.range(4.5, 10.5);
    let fork = base + vec3(random.range(-0.4, 0.4), random.range(-0.4, 0.4), height * random.range(0.34, 0.46));
    push(rod(base - Vec3::UP * 0.4, fork, 0.018 * height + 0.05), Material::Bark);
    let crown = base + Vec3::UP * (0.68 * height);
    let reach = height * random.range(0.24, 0.33);
    let leaves = 0.34 * season.leaf_share();
    let bare = season == Season::Winter;
    for k in 0..15 + random.below(7) {
        let angle = f64::from(k) * 2.4 + random.unit();
        let up = random.range(-0.9, 0.95);
        let out_by = reach * random.range(0.25, 0.95) * (1.0 - 0.75 * up * up);
        let center = crown + vec3(out_by * angle.cos(), out_by * angle.sin(), up * 0.30 * height);
        let size = reach * random.range(0.26, 0.50);
        let radii = vec3(size * random.range(0.8, 1.3), size * random.range(0.8, 1.3), 0.7 * size);
        if k < 6 || bare {
            push(rod(fork, center, 0.012 * height * random.range(0.2, 0.8)), Material::Bark);
        }
        if bare {
            let tip = center + vec3(random.normal(), random.normal(), random.normal().abs()) * (0.6 * size);
            push(rod(center, tip, 0.018), Material::Bark);
        } else {
            push(cluster(center, radii, leaves, 0.15, random), Material::Leaf);
        }
    }
}

/// A conifer standing at `base`.
pub(super) fn conifer(random: &mut Stream, base: Vec3, out: &mut Vec<Solid>) {
    let tint = random.byte();
    let mut push = |shape, material| out.push(Solid { shape, material, tint, object: 0 });
    let height = random.range(5.0, 12.0);
    push(rod(base - Vec3::UP * 0.4, base + Vec3::UP * (0.9 * height), 0.014 * height + 0.04), Material::Bark);
    let (layers, start) = (9, random.range(0.08, 0.2));
    let spread = height * random.range(0.17, 0.23);
    for k in 0..layers {
        let f = f64::from(k) / f64::from(layers - 1);
        let size = spread * (1.0 - 0.85 * f) * random.range(0.85, 1.15);
        let center = base + Vec3::UP * (height * (start + (0.96 - start) * f));
        push(cluster(center, vec3(size, size, 0.075 * height), 0.38, 0.14, random), Material::Needle);
    }
}

/// A bush about `size` metres across.
pub(super) fn bush(random: &mut Stream, base: Vec3, size: f64, out: &mut Vec<Solid>) {
    let tint = random.byte();
    for _ in 0..4 + random.below(4) {
        let r = size * random.range(0.24, 0.48);
        let shift = vec3(random.range(-0.4, 0.4) * size, random.range(-0.4, 0.4) * size, r * random.range(0.4, 0.8));
        let shape = cluster(base + shift, vec3(r, r, r * random.range(0.7, 1.2)), 0.40, 0.10, random);
        out.push(Solid { shape, material: Material::BushLeaf, tint, object: 0 });
    }
}

/// A tuft of long grass.
pub(super) fn tuft(random: &mut Stream, base: Vec3, out: &mut Vec<Solid>) {
    let (r, h) = (random.range(0.15, 0.5), random.range(0.10, 0.34));
    let shape = cluster(base + Vec3::UP * (0.2 * h), vec3(r, r, h), 0.45, 0.045, random);
    out.push(Solid { shape, material: Material::GrassTuft, tint: random.byte(), object: 0 });
}

/// A clipped hedge from `from` to `to`.
pub(super) fn hedge(random: &mut Stream, from: Vec3, to: Vec3, height: f64, out: &mut Vec<Solid>) {
    let tint = random.byte();
    let count = ((to - from).length() / 0.55).ceil().max(1.0) as u32;
    for k in 0..=count {
        let p = from + (to - from) * (f64::from(k) / f64::from(count));
        let radii = vec3(0.48, 0.48, 0.62 * height);
        let shape = cluster(p + Vec3::UP * (0.45 * height), radii, 0.5, 0.11, random);
        out.push(Solid { shape, material: Material::BushLeaf, tint, object: 0 });
    }
}
