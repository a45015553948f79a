//! Rays and the answer to "what is hit first".
//! Distances are in metres because directions have length one.

use super::Material;
use crate::maths::Vec3;

/// A half-line. `direction` has length one, so `t` is a distance in metres.
#[derive(Debug, Clone, Copy)]
pub struct Ray {
    /// Start, world coordinates.
    pub origin: Vec3,
    /// Unit direction.
    pub direction: Vec3,
}

impl Ray {
    /// A ray from `origin` along `direction`, which need not be normalised.
    pub fn new(origin: Vec3, direction: Vec3) -> Ray {
        Ray { origin, direction: direction.unit() }
    }

    /// The point at distance `t`.
    #[inline]
    pub fn at(&self, t: f64) -> Vec3 {
        self.origin + self.direction * t
    }
}

/// The nearest intersection, before its material and normal are looked up.
#[derive(Debug, Clone, Copy)]
pub struct Hit {
    /// Distance along the ray, metres.
    pub t: f64,
    /// Outward unit normal.
    pub normal: Vec3,
    /// Material of the surface.
    pub material: Material,
    /// Object number (0 = ground or scenery without identity).
    pub object: u32,
    /// Random byte of the object, for colours.
    pub tint: u8,
    /// True when the object moves.
    pub moving: bool,
}

/// A shape's own answer: distance and normal only.
#[derive(Debug, Clone, Copy)]
pub struct Surface {
    /// Distance along the ray, metres.
    pub t: f64,
    /// Outward unit normal.
    pub normal: Vec3,
}
