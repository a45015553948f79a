//! Directions of eight places at a time.

use super::angles::atan2;

/// Places handled together: the children of a block, and as many points.
pub(super) const LANES: usize = 8;

/// Eight places in the sensor's coordinates, by axis.
pub(super) type Places = [[f32; LANES]; 3];

/// Directions and distances of eight places.
pub(super) struct Polar {
    /// Distance, metres.
    pub(super) range: [f32; LANES],
    /// Distance from the sensor's axis, metres.
    pub(super) across: [f32; LANES],
    /// Azimuth from −π to π.
    pub(super) azimuth: [f32; LANES],
    pub(super) elevation: [f32; LANES],
}

#[inline(always)]
pub(super) fn polar([x, y, z]: &Places) -> Polar {
    let mut polar = Polar { range: [0.0; LANES], across: [0.0; LANES], azimuth: [0.0; LANES], elevation: [0.0; LANES] };
    for i in 0..LANES {
        let flat = x[i] * x[i] + y[i] * y[i];
        polar.across[i] = flat.sqrt();
        polar.range[i] = (flat + z[i] * z[i]).sqrt();
    }
    for i in 0..LANES {
        polar.azimuth[i] = atan2(y[i], x[i]);
    }
    for i in 0..LANES {
        polar.elevation[i] = atan2(z[i], polar.across[i]);
    }
    polar
}
