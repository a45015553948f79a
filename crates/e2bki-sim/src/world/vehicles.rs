//! Cars, trucks and persons assembled from boxes, wheels and ellipsoids.
//! All parts of one thing share an object number, so it is one instance in the label files.

use super::props::ahead;
use super::tree::rod;
use crate::maths::{Stream, Vec3, vec3};
use crate::scene::{Material, Shape, Solid};

/// Puts parts in place: `x` ahead, `y` left, `z` up from the ground point.
struct Assembly {
    base: Vec3,
    heading: f64,
    tint: u8,
    object: u32,
    parts: Vec<Solid>,
}

impl Assembly {
    fn new(random: &mut Stream, base: Vec3, heading: f64) -> Assembly {
        let object = 1 + random.below(60_000);
        Assembly { base, heading, tint: random.byte(), object, parts: Vec::new() }
    }

    fn at(&self, x: f64, y: f64, z: f64) -> Vec3 {
        let f = ahead(self.heading);
        self.base + f * x + vec3(-f.y, f.x, 0.0) * y + Vec3::UP * z
    }

    fn push(&mut self, shape: Shape, material: Material) {
        self.parts.push(Solid { shape, material, tint: self.tint, object: self.object });
    }

    fn cuboid(&mut self, at: [f64; 3], half: [f64; 3], material: Material) {
        let turn = [self.heading.cos(), self.heading.sin()];
        let shape = Shape::Cuboid { center: self.at(at[0], at[1], at[2]), half: half.into(), turn };
        self.push(shape, material);
    }

    fn wheels(&mut self, axles: &[f64], half_track: f64, radius: f64, material: Material) {
        for &x in axles {
            for side in [-1.0, 1.0] {
                let (a, b) = (self.at(x, side * half_track, radius), self.at(x, side * (half_track - 0.22), radius));
                self.push(rod(a, b, radius), material);
            }
        }
    }
}

/// A passenger car on the ground at `base`.
pub(super) fn car(random: &mut Stream, base: Vec3, heading: f64) -> Vec<Solid> {
    let mut a = Assembly::new(random, base, heading);
    let estate = random.chance(0.35);
    let (half, wide) = (random.range(1.9, 2.3), random.range(0.82, 0.92));
    a.cuboid([0.0, 0.0, 0.58], [half, wide, 0.30], Material::CarPaint);
    a.cuboid([half - 0.45, 0.0, 0.62], [0.42, wide - 0.04, 0.20], Material::CarPaint);
    let (middle, length) = if estate { (-0.45, 1.45) } else { (-0.2, 1.1) };
    a.cuboid([middle, 0.0, 1.09], [length, wide - 0.08, 0.21], Material::CarGlass);
    a.cuboid([middle, 0.0, 1.37], [length - 0.16, wide - 0.12, 0.07], Material::CarPaint);
    for x in [middle - length + 0.1, middle + 0.1, middle + length - 0.12] {
        for side in [-1.0, 1.0] {
            let y = side * (wide - 0.08);
            let post = rod(a.at(x, y, 0.86), a.at(x * 0.96, y * 0.94, 1.36), 0.05);
            a.push(post, Material::CarPaint);
        }
    }
    a.wheels(&[-0.62 * half, 0.64 * half], wide + 0.01, 0.32, Material::CarTyre);
    a.parts
}

/// A lorry or van on the ground at `base`.
pub(super) fn truck(random: &mut Stream, base: Vec3, heading: f64) -> Vec<Solid> {
    let mut a = Assembly::new(random, base, heading);
    let (half, tall) = (random.range(2.6, 3.9), random.range(0.85, 1.35));
    a.cuboid([-0.9, 0.0, 0.75 + tall], [half - 0.9, 1.12, tall], Material::TruckPaint);
    a.cuboid([half - 0.95, 0.0, 1.25], [0.85, 1.05, 0.75], Material::TruckPaint);
    a.cuboid([half - 0.72, 0.0, 1.68], [0.64, 1.07, 0.26], Material::TruckGlass);
    a.cuboid([0.0, 0.0, 0.55], [half - 0.2, 0.6, 0.16], Material::TruckTyre);
    a.wheels(&[-0.6 * half, half - 1.0], 1.08, 0.45, Material::TruckTyre);
    a.parts
}

/// A standing or walking person; `stride` swings the legs, -1 to 1.
pub(super) fn person(random: &mut Stream, base: Vec3, heading: f64, stride: f64) -> Vec<Solid> {
    let mut a = Assembly::new(random, base, heading);
    let size = random.range(0.92, 1.08);
    for side in [-1.0, 1.0] {
        let swing = 0.28 * stride * side;
        let leg = rod(a.at(0.0, side * 0.1, 0.86 * size), a.at(swing, side * 0.1, 0.0), 0.085);
        a.push(leg, Material::Cloth);
        let arm = rod(a.at(0.0, side * 0.24, 1.38 * size), a.at(-swing, side * 0.27, 0.82 * size), 0.055);
        a.push(arm, Material::Cloth);
    }
    let torso = Shape::Ellipsoid { center: a.at(0.0, 0.0, 1.13 * size), radii: vec3(0.22, 0.22, 0.36 * size) };
    a.push(torso, Material::Cloth);
    let head = Shape::Ellipsoid { center: a.at(0.03, 0.0, 1.62 * size), radii: vec3(0.105, 0.105, 0.14) };
    a.push(head, Material::Skin);
    a.parts
}
