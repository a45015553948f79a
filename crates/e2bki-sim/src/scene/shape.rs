//! Analytic shapes and the solids built from them.
//! Each shape answers one question: where in `(t_min, t_max)` does a ray first enter its surface?

use super::{Material, Ray, Surface, flat, foliage, round};
use crate::maths::{Vec3, vec3};

/// Smallest distance at which a hit counts, so that a ray leaving a surface does not meet it again.
pub(super) const T_MIN: f64 = 1e-6;

/// Openings of a panel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lattice {
    /// No openings.
    Full,
    /// A disc that fills the panel's smaller side.
    Disc,
    /// Upright slats: period along the panel (m) and filled share.
    Pickets(f64, f64),
    /// Horizontal rails: period in height (m) and filled share.
    Rails(f64, f64),
}

/// Geometry of one solid.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Axis-aligned ellipsoid.
    Ellipsoid {
        /// Centre.
        center: Vec3,
        /// Semi-axes.
        radii: Vec3,
    },
    /// Ellipsoid filled with small leaf clusters on a hashed lattice; rays may pass between them.
    Foliage {
        /// Centre.
        center: Vec3,
        /// Semi-axes.
        radii: Vec3,
        /// Share of lattice cells that hold leaves.
        density: f64,
        /// Side of a lattice cell, metres.
        cell_m: f64,
        /// Which leaves exist.
        seed: u64,
    },
    /// Box turned about the vertical.
    Cuboid {
        /// Centre.
        center: Vec3,
        /// Half sizes along its own axes.
        half: Vec3,
        /// Cosine and sine of its yaw.
        turn: [f64; 2],
    },
    /// Capped cylinder between two points.
    Cylinder {
        /// Centre of the first cap.
        start: Vec3,
        /// Unit axis.
        axis: Vec3,
        /// Length along the axis.
        length: f64,
        /// Radius.
        radius: f64,
    },
    /// Upright cone with its base down.
    Cone {
        /// Centre of the base.
        base: Vec3,
        /// Radius of the base.
        radius: f64,
        /// Height of the tip above the base.
        height: f64,
    },
    /// Gabled roof: ridge along its own x axis.
    Gable {
        /// Centre of the base.
        base: Vec3,
        /// Half length, half width and height.
        half: Vec3,
        /// Cosine and sine of its yaw.
        turn: [f64; 2],
    },
    /// Upright rectangle of no thickness, possibly with openings.
    Panel {
        /// Centre.
        center: Vec3,
        /// Half length along the panel.
        half_length: f64,
        /// Half height.
        half_height: f64,
        /// Cosine and sine of the direction along the panel.
        turn: [f64; 2],
        /// Openings.
        lattice: Lattice,
    },
}

impl Shape {
    /// First entry of the ray in `(T_MIN, t_max)`.
    #[inline]
    pub fn intersect(&self, ray: &Ray, t_max: f64) -> Option<Surface> {
        match *self {
            Shape::Ellipsoid { center, radii } => round::ellipsoid(ray, t_max, center, radii),
            Shape::Foliage { center, radii, density, cell_m, seed } => {
                foliage::foliage(ray, t_max, &foliage::Leaves { center, radii, density, cell_m, seed })
            }
            Shape::Cuboid { center, half, turn } => flat::cuboid(ray, t_max, center, half, turn),
            Shape::Cylinder { start, axis, length, radius } => round::cylinder(ray, t_max, start, axis, length, radius),
            Shape::Cone { base, radius, height } => round::cone(ray, t_max, base, radius, height),
            Shape::Gable { base, half, turn } => flat::gable(ray, t_max, base, half, turn),
            Shape::Panel { center, half_length, half_height, turn, lattice } => {
                flat::panel(ray, t_max, center, [half_length, half_height], turn, lattice)
            }
        }
    }

    /// Radius, seen from above, of a circle around the middle of [`Self::bounds`] that holds the shape.
    pub fn flat_radius(&self) -> f64 {
        match *self {
            Shape::Ellipsoid { radii, .. } | Shape::Foliage { radii, .. } => radii.x.max(radii.y),
            Shape::Cone { radius, .. } => radius,
            _ => {
                let (low, high) = self.bounds();
                0.5 * (high.x - low.x).hypot(high.y - low.y)
            }
        }
    }

    /// Axis-aligned bounds `(low, high)`.
    pub fn bounds(&self) -> (Vec3, Vec3) {
        let around = |c: Vec3, h: Vec3| (c - h, c + h);
        match *self {
            Shape::Ellipsoid { center, radii } | Shape::Foliage { center, radii, .. } => around(center, radii),
            Shape::Cuboid { center, half, turn } => around(center, turned_half(half, turn)),
            Shape::Cylinder { start, axis, length, radius } => {
                let end = start + axis * length;
                let reach = |a: f64| radius * (1.0 - a * a).max(0.0).sqrt();
                let pad = vec3(reach(axis.x), reach(axis.y), reach(axis.z));
                let low = vec3(start.x.min(end.x), start.y.min(end.y), start.z.min(end.z));
                let high = vec3(start.x.max(end.x), start.y.max(end.y), start.z.max(end.z));
                (low - pad, high + pad)
            }
            Shape::Cone { base, radius, height } => {
                let flat = vec3(radius, radius, 0.0);
                (base - flat, base + flat + Vec3::UP * height)
            }
            Shape::Gable { base, half, turn } => {
                let flat = turned_half(vec3(half.x, half.y, 0.0), turn);
                (base - flat, base + flat + Vec3::UP * half.z)
            }
            Shape::Panel { center, half_length, half_height, turn, .. } => {
                let h = vec3(half_length * turn[0].abs(), half_length * turn[1].abs(), half_height);
                around(center, h)
            }
        }
    }
}

fn turned_half(half: Vec3, turn: [f64; 2]) -> Vec3 {
    let (c, s) = (turn[0].abs(), turn[1].abs());
    vec3(c * half.x + s * half.y, s * half.x + c * half.y, half.z)
}

/// A shape with its material and identity.
#[derive(Debug, Clone, Copy)]
pub struct Solid {
    /// Geometry.
    pub shape: Shape,
    /// Material.
    pub material: Material,
    /// Random byte for colours.
    pub tint: u8,
    /// Object number shared by the parts of one thing; 0 = none.
    pub object: u32,
}
