//! Eigenvalues and axes of a symmetric 3×3 matrix, without iteration over rotations and without trigonometry.
//!
//! The largest root of 4c³ − 3c = h (which is cos(acos(h)/3)) comes from Newton's method on [√3/2, 1], where it
//! converges in a handful of steps; the other two follow from a quadratic. Axes are cross products of rows.

type Vector = [f64; 3];

/// Eigenvalues in ascending order and the matching unit axes (a right-handed set) of xx, yy, zz, xy, xz, yz.
pub fn symmetric_eigen(matrix: [f64; 6]) -> ([f64; 3], [Vector; 3]) {
    let Scaled { m, values, lone_is_largest, scale } = scaled(matrix);
    let Some(lone_is_largest) = lone_is_largest else {
        return (values.map(|v| v * scale), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    };
    let lone_value = if lone_is_largest { values[2] } else { values[0] };
    let lone_axis = axis_of(m, lone_value);
    let second_axis = axis_within(m, lone_axis, values[1]);
    let axes = if lone_is_largest {
        [cross(second_axis, lone_axis), second_axis, lone_axis]
    } else {
        [lone_axis, second_axis, cross(lone_axis, second_axis)]
    };
    (values.map(|v| v * scale), axes)
}

/// The largest of the eigenvalues.
pub(crate) fn largest_eigenvalue(matrix: [f64; 6]) -> f64 {
    let Scaled { values, scale, .. } = scaled(matrix);
    values[2] * scale
}

/// A matrix over its largest entry, and the eigenvalues of that.
struct Scaled {
    m: [f64; 6],
    values: [f64; 3],
    /// Whether the eigenvalue that is far from the others is the largest or the smallest; none if all are equal.
    lone_is_largest: Option<bool>,
    scale: f64,
}

fn scaled(matrix: [f64; 6]) -> Scaled {
    let scale = matrix.iter().fold(0.0_f64, |a, v| a.max(v.abs()));
    if scale <= 0.0 {
        return Scaled { m: matrix, values: [0.0; 3], lone_is_largest: None, scale };
    }
    let m = matrix.map(|v| v / scale);
    let middle = (m[0] + m[1] + m[2]) / 3.0;
    let [b0, b1, b2] = [m[0] - middle, m[1] - middle, m[2] - middle];
    let off = m[3] * m[3] + m[4] * m[4] + m[5] * m[5];
    let spread = ((b0 * b0 + b1 * b1 + b2 * b2 + 2.0 * off) / 6.0).sqrt();
    if spread < 1e-12 {
        return Scaled { m, values: [middle; 3], lone_is_largest: None, scale };
    }
    let determinant =
        b0 * (b1 * b2 - m[5] * m[5]) - m[3] * (m[3] * b2 - m[5] * m[4]) + m[4] * (m[3] * m[5] - b1 * m[4]);
    let half = (0.5 * determinant / (spread * spread * spread)).clamp(-1.0, 1.0);
    let [low, high, lone] = cosine_thirds(half.abs());
    // For a negative determinant the spectrum is mirrored, and the lone eigenvalue is the smallest.
    let (values, lone_is_largest) = if half >= 0.0 { ([low, high, lone], true) } else { ([-lone, -high, -low], false) };
    let values = values.map(|c| middle + 2.0 * spread * c);
    Scaled { m, values, lone_is_largest: Some(lone_is_largest), scale }
}

/// The three roots of 4c³ − 3c = h for h in [0, 1], ascending; the last is the one far from the others.
fn cosine_thirds(h: f64) -> [f64; 3] {
    let mut c = 1.0 - (1.0 - h) * (1.0 - 0.866_025_403_784_438_6);
    for _ in 0..6 {
        c -= (c * (4.0 * c * c - 3.0) - h) / (12.0 * c * c - 3.0);
    }
    let root = (3.0 * (1.0 - c * c)).max(0.0).sqrt();
    [0.5 * (-c - root), 0.5 * (-c + root), c]
}

/// Unit axis of a well separated eigenvalue: the longest cross product of two rows of A − λ.
fn axis_of(m: [f64; 6], value: f64) -> Vector {
    let rows = [[m[0] - value, m[3], m[4]], [m[3], m[1] - value, m[5]], [m[4], m[5], m[2] - value]];
    let products = [cross(rows[0], rows[1]), cross(rows[0], rows[2]), cross(rows[1], rows[2])];
    let lengths = products.map(|p| dot(p, p));
    let best = crate::maths::argmax(&lengths);
    let length = lengths[best].sqrt();
    if length > 0.0 { products[best].map(|v| v / length) } else { [1.0, 0.0, 0.0] }
}

/// Unit axis of an eigenvalue within the plane across a known axis, where the problem is 2×2.
fn axis_within(m: [f64; 6], known: Vector, value: f64) -> Vector {
    let (u, v) = plane_across(known);
    let apply = |x: Vector| {
        [
            m[0] * x[0] + m[3] * x[1] + m[4] * x[2],
            m[3] * x[0] + m[1] * x[1] + m[5] * x[2],
            m[4] * x[0] + m[5] * x[1] + m[2] * x[2],
        ]
    };
    let (mu, mv) = (apply(u), apply(v));
    let (a, b, d) = (dot(u, mu) - value, dot(u, mv), dot(v, mv) - value);
    // The null vector of [a b; b d] is across its longer row; if both vanish, any direction will do.
    let (x, y) = if a.abs().max(b.abs()) >= d.abs().max(b.abs()) { (-b, a) } else { (-d, b) };
    let length = (x * x + y * y).sqrt();
    let (x, y) = if length > 0.0 { (x / length, y / length) } else { (1.0, 0.0) };
    std::array::from_fn(|i| x * u[i] + y * v[i])
}

/// Two unit vectors that complete `w` to a right-handed set.
fn plane_across(w: Vector) -> (Vector, Vector) {
    let u = if w[0].abs() > w[1].abs() {
        let inverse = 1.0 / (w[0] * w[0] + w[2] * w[2]).sqrt();
        [-w[2] * inverse, 0.0, w[0] * inverse]
    } else {
        let inverse = 1.0 / (w[1] * w[1] + w[2] * w[2]).sqrt();
        [0.0, w[2] * inverse, -w[1] * inverse]
    };
    (u, cross(w, u))
}

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(m: [f64; 6]) -> Result<(), TestCaseError> {
        let (values, axes) = symmetric_eigen(m);
        prop_assert_eq!(largest_eigenvalue(m), values[2]);
        let dense = nalgebra::Matrix3::new(m[0], m[3], m[4], m[3], m[1], m[5], m[4], m[5], m[2]);
        let scale = m.iter().fold(1e-300_f64, |a, v| a.max(v.abs()));
        let mut expected: Vec<f64> = dense.symmetric_eigenvalues().iter().copied().collect();
        expected.sort_by(f64::total_cmp);
        for i in 0..3 {
            prop_assert!((values[i] - expected[i]).abs() <= 1e-7 * scale, "{values:?} {expected:?}");
            for j in 0..3 {
                let product = dot(axes[i], axes[j]);
                prop_assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12, "axes {axes:?}");
                // Reconstruction: what matters is that Σ λ a aᵀ is the matrix.
                let rebuilt: f64 = (0..3).map(|k| values[k] * axes[k][i] * axes[k][j]).sum();
                prop_assert!((rebuilt - dense[(i, j)]).abs() <= 2e-7 * scale, "{m:?}: {rebuilt} {}", dense[(i, j)]);
            }
        }
        prop_assert!(dot(cross(axes[0], axes[1]), axes[2]) > 0.99);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn random_matrices_are_rebuilt_from_their_axes(m in prop::array::uniform6(-1.0..1.0_f64), scale in -6..6_i32) {
            check(m.map(|v| v * 10.0_f64.powi(scale)))?;
        }

        #[test]
        fn nearly_degenerate_matrices_are_too(
            a in prop::array::uniform3(-1.0..1.0_f64), tiny in prop::array::uniform6(-1.0..1.0_f64), power in 0..16_i32,
        ) {
            // Rank one (a line of points) plus noise of every size.
            let noise = 10.0_f64.powi(-power);
            let line = [a[0] * a[0], a[1] * a[1], a[2] * a[2], a[0] * a[1], a[0] * a[2], a[1] * a[2]];
            check(std::array::from_fn(|i| line[i] + noise * tiny[i]))?;
        }
    }

    #[test]
    fn special_matrices_are_handled() {
        for m in [
            [0.0; 6],
            [1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
            [1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
            [1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
            [3.0, 2.0, 1.0, 0.0, 0.0, 0.0],
            [1e-300, 0.0, 0.0, 0.0, 0.0, 0.0],
        ] {
            check(m).unwrap();
        }
    }
}
