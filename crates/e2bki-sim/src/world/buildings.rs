//! Houses, apartment blocks and what encloses their gardens.
//! Fences with gaps are single panels with a pattern, not hundreds of slats.

use super::props::field;
use super::tree::hedge;
use crate::maths::{Stream, Vec3, vec3};
use crate::scene::{Lattice, Material, Shape, Solid};

/// Ground plan of a building: centre on the ground, half length along the street, half depth, heading of the street.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    pub center: Vec3,
    pub half: [f64; 2],
    pub heading: f64,
}

impl Plan {
    /// The four corners.
    pub(super) fn corners(&self) -> [[f64; 2]; 4] {
        let (s, c) = self.heading.sin_cos();
        [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]].map(|[a, b]| {
            let (u, v) = (a * self.half[0], b * self.half[1]);
            [self.center.x + c * u - s * v, self.center.y + s * u + c * v]
        })
    }
}

/// A building with walls, an overhanging roof and sometimes a chimney.
pub(super) fn building(random: &mut Stream, plan: &Plan, storeys: u32, out: &mut Vec<Solid>) {
    let tint = random.byte();
    let object = 1 + random.below(60_000);
    let turn = [plan.heading.cos(), plan.heading.sin()];
    let walls = 2.9 * f64::from(storeys) + 0.4;
    let [a, b] = plan.half;
    let mut push = |shape, material| out.push(Solid { shape, material, tint, object });
    let half = vec3(a, b, 0.5 * (walls + 1.0));
    push(Shape::Cuboid { center: plan.center + Vec3::UP * (half.z - 1.0), half, turn }, Material::Facade);
    let eaves = plan.center + Vec3::UP * walls;
    if storeys > 3 {
        let slab = vec3(a + 0.25, b + 0.25, 0.15);
        push(Shape::Cuboid { center: eaves + Vec3::UP * 0.15, half: slab, turn }, Material::Roof);
        return;
    }
    let roof = vec3(a + 0.45, b + 0.55, random.range(0.45, 0.8) * b);
    push(Shape::Gable { base: eaves, half: roof, turn }, Material::Roof);
    if random.chance(0.6) {
        let shift = vec3(turn[0] * 0.5 * a, turn[1] * 0.5 * a, roof.z);
        push(Shape::Cuboid { center: eaves + shift, half: vec3(0.3, 0.3, 0.8), turn }, Material::Facade);
    }
}

/// Encloses a garden front between two ground points with a fence, a wall or a hedge.
pub(super) fn enclose(random: &mut Stream, from: Vec3, to: Vec3, out: &mut Vec<Solid>) {
    let tint = random.byte();
    let mut push = |shape, material| out.push(Solid { shape, material, tint, object: 0 });
    match random.below(7) {
        0 | 5 | 6 => hedge(random, from, to, random_height(tint), out),
        1 => {
            let along = to - from;
            let length = along.x.hypot(along.y).max(1e-6);
            let turn = [along.x / length, along.y / length];
            let center = (from + to) * 0.5 + Vec3::UP * 0.35;
            push(Shape::Cuboid { center, half: vec3(0.5 * length, 0.12, 0.65), turn }, Material::Wall);
        }
        2 => push(field(from, to, 1.5, 0.0, Lattice::Pickets(0.11, 0.75)), Material::WoodFence),
        kind => {
            let (lattice, material) = if kind == 3 {
                (Lattice::Pickets(0.14, 0.55), Material::WoodFence)
            } else {
                (Lattice::Pickets(0.12, 0.25), Material::MetalFence)
            };
            push(field(from, to, 1.05, 0.05, lattice), material);
            for end in [from, to] {
                let post = Shape::Cylinder { start: end - Vec3::UP * 0.2, axis: Vec3::UP, length: 1.4, radius: 0.06 };
                push(post, material);
            }
        }
    }
}

fn random_height(tint: u8) -> f64 {
    1.1 + f64::from(tint) / 255.0
}
