//! Primitives as instances to draw.

use e2bki::{Belief, Mapper, Primitive};

use crate::tile::Square;

/// Scale of the drawn half axes: about two standard deviations, at which surfaces close.
const GROW: f64 = 2.6;

/// A primitive as drawn: one instance of an ellipsoid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instance {
    /// Id of the primitive: newer ones have higher ids.
    pub id: u64,
    /// Centre, metres.
    pub center: [f64; 3],
    /// Half axes, metres, at about two standard deviations.
    pub half_axes: [f64; 3],
    /// Rotation from the coordinate axes to those of the ellipsoid: quaternion x, y, z, w.
    pub rotation: [f64; 4],
    /// Its class.
    pub label: usize,
    /// The map's belief at its centre.
    pub belief: Belief,
    /// Whether it was seen through since and is no longer there.
    pub gone: bool,
}

/// The primitives whose mean is in a tile. `map` must hold all that reach into it.
pub(crate) fn instances(map: &Mapper, square: Square, heights: [f64; 2]) -> Vec<Instance> {
    let (low, high) = square.bounds(heights);
    let mut chosen = map.primitives_reaching(low, high);
    chosen.retain(|p| square.holds(p.mean()));
    let means: Vec<[f64; 3]> = chosen.iter().map(Primitive::mean).collect();
    let beliefs = map.query(&means);
    let instance = |(p, belief): (&Primitive<'_>, Belief)| {
        let ellipsoid = p.ellipsoid();
        Instance {
            id: p.id(),
            center: p.mean(),
            half_axes: ellipsoid.semi_axes.map(|a| GROW * a),
            rotation: quaternion(ellipsoid.axes),
            label: p.label(),
            belief,
            gone: p.is_gone(),
        }
    };
    chosen.iter().zip(beliefs.iter()).map(instance).collect()
}

/// x, y, z, w of the rotation that takes the coordinate axes to these rows (made right-handed).
fn quaternion(mut axes: [[f64; 3]; 3]) -> [f64; 4] {
    let [a, b, c] = axes;
    let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    if cross[0] * c[0] + cross[1] * c[1] + cross[2] * c[2] < 0.0 {
        axes[2] = c.map(|v| -v);
    }
    // The matrix whose columns are the axes.
    let m = |row: usize, column: usize| axes[column][row];
    let trace = m(0, 0) + m(1, 1) + m(2, 2);
    let q = if trace > 0.0 {
        let s = 2.0 * (trace + 1.0).sqrt();
        [(m(2, 1) - m(1, 2)) / s, (m(0, 2) - m(2, 0)) / s, (m(1, 0) - m(0, 1)) / s, 0.25 * s]
    } else {
        let i = if m(0, 0) >= m(1, 1) && m(0, 0) >= m(2, 2) {
            0
        } else if m(1, 1) >= m(2, 2) {
            1
        } else {
            2
        };
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        let s = 2.0 * (1.0 + m(i, i) - m(j, j) - m(k, k)).max(1e-12).sqrt();
        let mut q = [0.0; 4];
        q[i] = 0.25 * s;
        q[j] = (m(j, i) + m(i, j)) / s;
        q[k] = (m(k, i) + m(i, k)) / s;
        q[3] = (m(k, j) - m(j, k)) / s;
        q
    };
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    if length > 0.0 { q.map(|v| v / length) } else { [0.0, 0.0, 0.0, 1.0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rotate(q: [f64; 4], v: [f64; 3]) -> [f64; 3] {
        let cross = |a: [f64; 3], b: [f64; 3]| {
            [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        };
        let u = [q[0], q[1], q[2]];
        let t = cross(u, v).map(|x| 2.0 * x);
        let w = cross(u, t);
        std::array::from_fn(|i| v[i] + q[3] * t[i] + w[i])
    }

    #[test]
    fn the_quaternion_takes_the_coordinate_axes_to_the_ellipsoids() {
        let (s, c) = (0.6, 0.8);
        for axes in [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
            [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]],
            [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]],
            [[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]],
            [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
        ] {
            let q = quaternion(axes);
            for k in 0..3 {
                let unit = std::array::from_fn(|i| f64::from(u8::from(i == k)));
                let turned = rotate(q, unit);
                // An ellipsoid is the same with an axis reversed.
                let along: f64 = (0..3).map(|i| turned[i] * axes[k][i]).sum();
                assert!((along.abs() - 1.0).abs() < 1e-9, "{axes:?} {k} {turned:?}");
            }
        }
    }
}
