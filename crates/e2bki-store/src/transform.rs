//! Moving a primitive rigidly: its mean and covariance are rotated, then become sums again.

use e2bki::submaps::moved_sums;
use e2bki::{Pose, PrimitiveState};

/// The primitive after a rigid motion of the world. Its points are not known any more, so the new sums are those of
/// the moved mean and covariance, rounded to what sums are made of (2⁻¹⁶ m and 2⁻³² m²).
pub fn transformed(state: &PrimitiveState, motion: &Pose) -> PrimitiveState {
    if *motion == Pose::IDENTITY {
        return state.clone();
    }
    PrimitiveState { sums: moved_sums(&state.sums, motion), ..state.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::primitive::{QUANTUM_M, Sums, block_of};
    use proptest::prelude::*;

    fn state_of(points: &[[f64; 3]]) -> PrimitiveState {
        let mut sums = Sums::about(block_of(points[0]));
        points.iter().for_each(|p| sums.add_point(*p, 7.0));
        sums.settle();
        PrimitiveState { id: 3, muted: false, sums, log_evidence: vec![1 << 31, 0] }
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
