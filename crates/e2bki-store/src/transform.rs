//! Moving a primitive rigidly: its mean and covariance are rotated, then become sums again.

use e2bki::primitive::{QUANTUM_M, Sums, block_of};
use e2bki::{Pose, PrimitiveState};

/// The primitive after a rigid motion of the world. Its points are not known any more, so the new sums are those of
/// the moved mean and covariance, rounded to what sums are made of (2⁻¹⁶ m and 2⁻³² m²).
pub fn transformed(state: &PrimitiveState, motion: &Pose) -> PrimitiveState {
    if *motion == Pose::IDENTITY {
        return state.clone();
    }
    let weight = state.sums.weight;
    let mean = motion.apply(state.sums.mean());
    let covariance = rotated(state.sums.covariance(), &motion.rotation());
    let mut sums = Sums { weight, range: state.sums.range, ..Sums::about(block_of(mean)) };
    sums.first = std::array::from_fn(|i| rounded(weight * (mean[i] - f64::from(sums.origin[i])), QUANTUM_M));
    let m = sums.first.map(|v| v / weight);
    let product = [m[0] * m[0], m[1] * m[1], m[2] * m[2], m[0] * m[1], m[0] * m[2], m[1] * m[2]];
    sums.second = std::array::from_fn(|i| rounded(weight * (covariance[i] + product[i]), QUANTUM_M * QUANTUM_M));
    sums.settle();
    PrimitiveState { sums, ..state.clone() }
}

fn rounded(value: f64, quantum: f64) -> f64 {
    (value / quantum).round() * quantum
}

/// R Σ Rᵀ for xx, yy, zz, xy, xz, yz.
fn rotated(c: [f64; 6], r: &[[f64; 3]; 3]) -> [f64; 6] {
    let full = [[c[0], c[3], c[4]], [c[3], c[1], c[5]], [c[4], c[5], c[2]]];
    let entry = |i: usize, j: usize| -> f64 {
        (0..3).flat_map(|a| (0..3).map(move |b| (a, b))).map(|(a, b)| r[i][a] * full[a][b] * r[j][b]).sum()
    };
    [entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn state_of(points: &[[f64; 3]]) -> PrimitiveState {
        let mut sums = Sums::about(block_of(points[0]));
        points.iter().for_each(|p| sums.add_point(*p, 7.0));
        sums.settle();
        PrimitiveState { id: 3, muted: false, sums, log_evidence: vec![0.5, 0.0] }
    }

    proptest! {
        #[test]
        fn moving_the_primitive_is_moving_its_points(
            points in prop::collection::vec(prop::array::uniform3(-0.3..0.3_f64), 1..40),
            angle in -3.1..3.1_f64,
            shift in prop::array::uniform3(-1e4..1e4_f64),
        ) {
            let (s, c) = angle.sin_cos();
            let motion = Pose::new([[c, -s * 0.8, s * 0.6], [s, c * 0.8, -c * 0.6], [0.0, 0.6, 0.8]], shift).unwrap();
            let moved = transformed(&state_of(&points), &motion);
            let directly = state_of(&points.iter().map(|p| motion.apply(*p)).collect::<Vec<_>>());
            for i in 0..3 {
                prop_assert!((moved.sums.mean()[i] - directly.sums.mean()[i]).abs() < 3.0 * QUANTUM_M);
            }
            for i in 0..6 {
                prop_assert!((moved.sums.covariance()[i] - directly.sums.covariance()[i]).abs() < 5e-5);
            }
            prop_assert_eq!(block_of(moved.sums.mean()), moved.sums.origin);
            // Still exact sums: they can be saved and added like any other.
            prop_assert!(moved.sums.second.iter().all(|v| (v * 4_294_967_296.0).fract() == 0.0));
            let back = transformed(&moved, &motion.inverse());
            for i in 0..3 {
                prop_assert!((back.sums.mean()[i] - state_of(&points).sums.mean()[i]).abs() < 3.0 * QUANTUM_M);
            }
        }
    }

    #[test]
    fn no_motion_changes_nothing() {
        let state = state_of(&[[0.1, 0.2, 0.3], [0.4, 0.4, 0.4]]);
        assert_eq!(transformed(&state, &Pose::IDENTITY), state);
    }
}
