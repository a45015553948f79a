//! A primitive's ellipsoid and reach as the batched kernel reads them.

use crate::config::{Distance, Profile};
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
    /// Whether the support is an ellipsoid about the centre, inside of which the kernel takes the length of U·x for the
    /// distance: then `axes` has the rows of the upper triangular U, `semi_axes` is zero, and no point farther than
    /// `reach` from the centre is inside.
    pub(crate) follows: bool,
    /// Whether the kernel is 1 − ρ² and not the sparse one.
    pub(crate) quadratic: bool,
}

impl Form {
    pub(crate) fn new(ellipsoid: &Ellipsoid, reach: f64, distance: Distance, profile: Profile) -> Self {
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
            follows: false,
            quadratic: profile == Profile::Quadratic,
        }
    }

    /// A kernel whose support is the ellipsoid xᵀB⁻¹x ≤ 1 about the centre, for a positive definite B given as xx, yy,
    /// zz, xy, xz, yz in square metres; none of its points is farther away than `farthest`.
    pub(crate) fn within(support: [f64; 6], farthest: f64, profile: Profile) -> Self {
        let u = root_of_inverse(support);
        Self {
            axes: u.map(|row| row.map(|v| v as f32)),
            semi_axes: [0.0; 3],
            reach: (farthest * (1.0 + 1e-6)) as f32,
            half_box: std::array::from_fn(|i| (support[i].sqrt() * (1.0 + 1e-6) + 1e-6) as f32),
            unit: 1.0,
            steps: 0,
            follows: true,
            quadratic: profile == Profile::Quadratic,
        }
    }
}

/// The upper triangular U with UᵀU = B⁻¹, for a positive definite B: |Ux| is the distance that B measures.
pub(crate) fn root_of_inverse([xx, yy, zz, xy, xz, yz]: [f64; 6]) -> [[f64; 3]; 3] {
    // B = VVᵀ with V upper triangular, from its last row up; then U = V⁻¹.
    let v22 = zz.sqrt();
    let (v12, v02) = (yz / v22, xz / v22);
    let v11 = (yy - v12 * v12).sqrt();
    let v01 = (xy - v02 * v12) / v11;
    let v00 = (xx - v01 * v01 - v02 * v02).sqrt();
    let (u00, u11, u22) = (1.0 / v00, 1.0 / v11, 1.0 / v22);
    let u12 = -u11 * v12 * u22;
    let u01 = -u00 * v01 * u11;
    let u02 = -u00 * (v01 * u12 + v02 * u22);
    [[u00, u01, u02], [0.0, u11, u12], [0.0, 0.0, u22]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_root_measures_what_the_inverse_does(
            c in prop::array::uniform3(prop::array::uniform3(-1.0..1.0_f64)), least in 0.01..0.5_f64,
            x in prop::array::uniform3(-2.0..2.0_f64),
        ) {
            // B = least² + CCᵀ; its inverse by cofactors.
            let b = |i: usize, j: usize| (0..3).map(|k| c[i][k] * c[j][k]).sum::<f64>() + if i == j { least * least } else { 0.0 };
            let minor = |i: usize, j: usize| {
                let (r, s) = ([(i + 1) % 3, (i + 2) % 3], [(j + 1) % 3, (j + 2) % 3]);
                b(r[0], s[0]) * b(r[1], s[1]) - b(r[0], s[1]) * b(r[1], s[0])
            };
            let determinant: f64 = (0..3).map(|j| b(0, j) * minor(0, j)).sum();
            let expected: f64 = (0..9).map(|k| x[k / 3] * minor(k / 3, k % 3) * x[k % 3]).sum::<f64>() / determinant;
            let u = root_of_inverse([b(0, 0), b(1, 1), b(2, 2), b(0, 1), b(0, 2), b(1, 2)]);
            let squared: f64 = u.iter().map(|row| (0..3).map(|i| row[i] * x[i]).sum::<f64>().powi(2)).sum();
            prop_assert!((squared - expected).abs() < 1e-7 * (1.0 + expected), "{squared} {expected}");
        }
    }
}
