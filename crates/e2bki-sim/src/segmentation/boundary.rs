//! Finds observations next to another class, in viewing direction, on a raster of 0.4° by 0.6°.
//! The nearest observation decides a cell's class, as in an image.

use super::Look;
use crate::classes::VOID;

const ACROSS: usize = 900;
const DOWN: usize = 300;

/// For each look, the class next to it that differs from its own, or [`VOID`].
pub(super) fn neighbours(looks: &[Look]) -> Vec<u8> {
    let mut nearest: Vec<(f32, u8)> = vec![(f32::INFINITY, VOID); ACROSS * DOWN];
    for look in looks {
        let cell = &mut nearest[index(look)];
        if look.range_m < cell.0 {
            *cell = (look.range_m, look.truth);
        }
    }
    looks.iter().map(|look| other_class(&nearest, look)).collect()
}

fn index(look: &Look) -> usize {
    let [x, y, z] = look.direction;
    let azimuth = y.atan2(x) / std::f32::consts::TAU + 0.5;
    let elevation = z.clamp(-1.0, 1.0).asin() / std::f32::consts::PI + 0.5;
    let i = ((azimuth * ACROSS as f32) as usize).min(ACROSS - 1);
    let j = ((elevation * DOWN as f32) as usize).min(DOWN - 1);
    j * ACROSS + i
}

fn other_class(nearest: &[(f32, u8)], look: &Look) -> u8 {
    let k = index(look);
    let (i, j) = (k % ACROSS, k / ACROSS);
    for dj in [0, 1, DOWN - 1] {
        for di in [0, 1, ACROSS - 1] {
            let (_, class) = nearest[(j + dj) % DOWN * ACROSS + (i + di) % ACROSS];
            if class != VOID && class != look.truth {
                return class;
            }
        }
    }
    VOID
}
