//! Gaussian splats in the layout of 3-D Gaussian splatting: zeroth harmonic of the class colour, opacity 1 − u as a
//! logit, logarithms of the standard deviations, rotation as a quaternion (w, x, y, z).

use std::path::Path;

use e2bki::primitive::{EIGENVALUE_FLOOR_M2, symmetric_eigen};

use super::{Rows, written};
use crate::error::Result;

/// The constant spherical harmonic, 1/(2√π).
const SH_0: f64 = 0.282_094_791_773_878_14;

pub(super) fn write(rows: &Rows<'_>, path: &Path) -> Result<()> {
    let map = rows.map;
    const NAMES: &str = "x y z nx ny nz f_dc_0 f_dc_1 f_dc_2 opacity scale_0 scale_1 scale_2 rot_0 rot_1 rot_2 rot_3";
    written(path, |out| {
        writeln!(out, "ply\nformat binary_little_endian 1.0\nelement vertex {}", rows.len())?;
        for name in NAMES.split(' ') {
            writeln!(out, "property float {name}")?;
        }
        writeln!(out, "end_header")?;
        for p in rows.iter() {
            let (values, axes) = symmetric_eigen(p.covariance());
            let color = map.classes().colors()[p.label()].map(|c| (f64::from(c) / 255.0 - 0.5) / SH_0);
            let opacity = (1.0 - p.uncertainty()).clamp(0.005, 0.995);
            let scales = values.map(|value| value.max(EIGENVALUE_FLOOR_M2).sqrt().ln());
            let all = p.mean().into_iter().chain([0.0; 3]).chain(color).chain([(opacity / (1.0 - opacity)).ln()]);
            for value in all.chain(scales).chain(quaternion(axes)) {
                out.write_all(&(value as f32).to_le_bytes())?;
            }
        }
        Ok(())
    })
}

/// The rotation that takes the coordinate axes to `axes` (unit vectors, right-handed), as w, x, y, z.
fn quaternion(axes: [[f64; 3]; 3]) -> [f64; 4] {
    // Columns of the rotation matrix are the axes: m[row][column] = axes[column][row].
    let m = |row: usize, column: usize| axes[column][row];
    // The largest component first: its root is far from zero.
    let squares = [
        1.0 + m(0, 0) + m(1, 1) + m(2, 2),
        1.0 + m(0, 0) - m(1, 1) - m(2, 2),
        1.0 - m(0, 0) + m(1, 1) - m(2, 2),
        1.0 - m(0, 0) - m(1, 1) + m(2, 2),
    ];
    let largest = (0..4).fold(0, |best, i| if squares[i] > squares[best] { i } else { best });
    let double = squares[largest].max(0.0).sqrt();
    let (wx, wy, wz) = (m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1));
    let (xy, xz, yz) = (m(1, 0) + m(0, 1), m(0, 2) + m(2, 0), m(2, 1) + m(1, 2));
    let products = match largest {
        0 => [squares[0], wx, wy, wz],
        1 => [wx, squares[1], xy, xz],
        2 => [wy, xy, squares[2], yz],
        _ => [wz, xz, yz, squares[3]],
    };
    products.map(|v| 0.5 * v / double)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_quaternion_rotates_as_the_axes_do(
            c in prop::array::uniform3(0.01..1.0_f64), o in prop::array::uniform3(-0.3..0.3_f64),
        ) {
            let (_, axes) = symmetric_eigen([c[0], c[1], c[2], o[0], o[1], o[2]]);
            let [w, x, y, z] = quaternion(axes);
            prop_assert!((w * w + x * x + y * y + z * z - 1.0).abs() < 1e-9);
            let matrix = [
                [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
                [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
                [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
            ];
            for row in 0..3 {
                for column in 0..3 {
                    prop_assert!((matrix[row][column] - axes[column][row]).abs() < 1e-9);
                }
            }
        }
    }
}
