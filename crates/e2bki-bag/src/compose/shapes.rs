//! Shapes for viewers.

use super::pose;
use crate::write::Fields;

/// An ellipsoid to draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ellipsoid {
    /// Its centre, metres.
    pub center: [f64; 3],
    /// Orientation of its axes, x, y, z, w.
    pub turn: [f64; 4],
    /// Diameters along its axes, metres.
    pub diameters: [f64; 3],
    /// Red, green, blue and opacity, 0 to 1.
    pub color: [f32; 4],
}

/// Marker of a sphere, which unequal scales make an ellipsoid.
const SPHERE: i32 = 2;
/// Take all markers away.
const DELETE_ALL: i32 = 3;

/// Ellipsoids in the place of all earlier ones.
pub fn ellipsoids(stamp: u64, frame: &str, name: &str, all: &[Ellipsoid]) -> Vec<u8> {
    let mut fields = Fields::default();
    fields.u32(all.len() as u32 + 1);
    let nothing = Ellipsoid { center: [0.0; 3], turn: super::UNTURNED, diameters: [0.0; 3], color: [0.0; 4] };
    marker(&mut fields, stamp, frame, name, (0, DELETE_ALL), &nothing);
    for (id, shape) in (0..).zip(all) {
        marker(&mut fields, stamp, frame, name, (id, 0), shape);
    }
    fields.finish()
}

fn marker(fields: &mut Fields, stamp: u64, frame: &str, name: &str, (id, action): (i32, i32), shape: &Ellipsoid) {
    fields.header(stamp, frame).text(name).i32(id).i32(SPHERE).i32(action);
    pose(fields, shape.center, shape.turn);
    for diameter in shape.diameters {
        fields.f64(diameter);
    }
    for part in shape.color {
        fields.f32(part);
    }
    fields.i32(0).u32(0).u8(0); // for ever, in the frame where it was at the stamp
    fields.u32(0).u32(0).text(""); // no points, colours or texture
    fields.header(0, "").text("").bytes(&[]);
    fields.u32(0).text("").text("").text("").bytes(&[]).u8(0);
}
