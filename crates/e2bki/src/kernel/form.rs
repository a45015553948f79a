//! A primitive's ellipsoid and reach as the batched kernel reads them.

use crate::config::Distance;
use crate::primitive::Ellipsoid;

/// Distance from the surface at which the kernel ends, metres.
pub(crate) fn support_of(reach: f32, distance: Distance) -> f32 {
    if distance == Distance::Squared { reach.sqrt() } else { reach }
}

/// An ellipsoid and the kernel's reach in the form that the hot loop reads: f32, about the centre.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Form {
    pub(crate) axes: [[f32; 3]; 3],
    pub(crate) semi_axes: [f32; 3],
    /// Kernel reach, metres; 0 for a muted primitive.
    pub(crate) reach: f32,
    /// Half side of the box outside of which the kernel is zero, metres.
    pub(crate) half_box: [f32; 3],
    /// Unit of length in which the distance is computed: between the longest semi-axis and the reach, so that the
    /// products of six lengths and more stay within the range of f32 for any axis and any reach.
    pub(crate) unit: f32,
    /// Newton steps that the distance needs: they grow with the ratio of the axes, not with the point.
    pub(crate) steps: u8,
}

impl Form {
    pub(crate) fn new(ellipsoid: &Ellipsoid, reach: f64, distance: Distance) -> Self {
        // Widened by more than the rounding to f32, so that the box never cuts off what the kernel would give.
        let margin = f64::from(support_of(reach as f32, distance)) * (1.0 + 1e-6) + 1e-6;
        // Measured: 2 + log₂(longest/shortest) steps leave at most 4e−5 m, usually far less (see the batch tests).
        let mut steps = 2;
        let mut ratio = ellipsoid.semi_axes[2] / ellipsoid.semi_axes[0];
        while ratio > 1.0 && steps < 16 {
            ratio *= 0.5;
            steps += 1;
        }
        let longest = ellipsoid.semi_axes[2];
        Self {
            unit: (longest * ((longest + reach) / longest).sqrt().sqrt()) as f32,
            steps,
            axes: ellipsoid.axes.map(|axis| axis.map(|v| v as f32)),
            semi_axes: ellipsoid.semi_axes.map(|v| v as f32),
            reach: reach as f32,
            half_box: ellipsoid.half_box().map(|v| (v * (1.0 + 1e-6) + margin) as f32),
        }
    }
}
