//! Sums after a rigid motion: the mean and covariance are moved, then become sums again.

use super::grid::GridMotion;
use super::part::Part;
use super::pieces::{Scratch, Spread, cut};
use super::placement::Motions;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::pose::{Pose, WORLD_LIMIT_M};
use crate::primitive::Sums;
use crate::state::PrimitiveState;

/// The sums of a primitive after a rigid motion of the world. Its points are not known any more, so they are those of
/// the moved mean Rμ + t and covariance RΣRᵀ, rounded to what sums are made of (2⁻¹⁶ m and 2⁻³² m²).
pub fn moved_sums(sums: &Sums, motion: &Pose) -> Sums {
    if *motion == Pose::IDENTITY {
        return *sums;
    }
    Spread {
        weight: sums.weight,
        mean: motion.apply(sums.mean()),
        covariance: rotated(sums.covariance(), &motion.rotation()),
    }
    .sums(sums.range)
}

/// A state of a map after a rigid motion of the world. In a map that is a sum ([`Config::not_a_sum`]) it is cut at the faces
/// of the cubes that it lies in then, if it lies in several; the pieces have its id. Where cubes are moved to cubes, by whole
/// ones and right angles, nothing is cut, and the sums are those of the moved points, to the bit.
pub fn moved_states(state: &PrimitiveState, motion: &Pose, config: &Config) -> Vec<PrimitiveState> {
    let (moved, mut scratch) = (moved_sums(&state.sums, motion), Scratch::default());
    let side = config.cubes_of_sum().filter(|_| *motion != Pose::IDENTITY);
    let Some(side) = side else { return vec![PrimitiveState { sums: moved, ..state.clone() }] };
    let mean = state.sums.mean();
    if let Some(grid) = GridMotion::of(motion, side, (mean, mean)) {
        return vec![PrimitiveState { sums: grid.sums(&state.sums), ..state.clone() }];
    }
    let mut pieces = Vec::new();
    cut(&moved, &state.log_evidence, side, &mut scratch, |sums, log_evidence| {
        pieces.push(PrimitiveState { sums: *sums, log_evidence: log_evidence.to_vec(), ..*state });
    });
    pieces
}

/// Sums between two motions that differ by little: the mean lies between the moved means, the shape is turned as the
/// nearer motion turns it.
pub(super) fn moved_between(sums: &Sums, (before, after, share): (&Pose, &Pose, f64)) -> Sums {
    if share == 0.0 || before == after {
        return moved_sums(sums, before);
    }
    let (mean, nearer) = (sums.mean(), if share < 0.5 { before } else { after });
    let (a, b) = (before.apply(mean), after.apply(mean));
    Spread {
        weight: sums.weight,
        mean: std::array::from_fn(|i| a[i] + share * (b[i] - a[i])),
        covariance: rotated(sums.covariance(), &nearer.rotation()),
    }
    .sums(sums.range)
}

/// R Σ Rᵀ for xx, yy, zz, xy, xz, yz.
fn rotated(c: [f64; 6], r: &[[f64; 3]; 3]) -> [f64; 6] {
    let full = [[c[0], c[3], c[4]], [c[3], c[1], c[5]], [c[4], c[5], c[2]]];
    let dot = |a: &[f64; 3], b: &[f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    // Σ is symmetric: its rows are its columns.
    let turned: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|b| dot(&r[i], &full[b])));
    let entry = |i: usize, j: usize| dot(&turned[i], &r[j]);
    [entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2)]
}

/// How a part is moved.
#[derive(Debug, Clone)]
pub(super) enum Moved {
    /// From cubes to cubes: nothing is cut.
    OnGrid(GridMotion),
    /// By motions, each of what was seen in a frame.
    Freely(Motions),
}

impl Part {
    /// How motions, each of what was seen in a frame, move the part, if they move any of it. Fails if they leave the world.
    pub(super) fn moved_by(&self, motions: Motions, cut: bool) -> Result<Option<Moved>> {
        let Some((low, high)) = self.extent() else { return Ok(None) };
        let corner =
            |bits: usize| -> [f64; 3] { std::array::from_fn(|i| if bits & 1 << i == 0 { low[i] } else { high[i] }) };
        // A motion is affine: no point of the box goes farther out than one of its corners.
        for (motion, bits) in motions.all().flat_map(|motion| (0..8).map(move |bits| (motion, bits))) {
            let moved = motion.apply(corner(bits));
            if moved.iter().any(|v| v.abs() > WORLD_LIMIT_M - 1.0) {
                return Err(Error::Pose(format!("it takes the submap to {moved:?}, outside ±{WORLD_LIMIT_M} m")));
            }
        }
        let mut on_grid = motions.all().map(|motion| GridMotion::of(motion, self.side(), (low, high)));
        match on_grid.next().flatten().filter(|first| on_grid.all(|other| other.as_ref() == Some(first))) {
            Some(none) if none.is_none() => Ok(None),
            Some(grid) if !cut => Ok(Some(Moved::OnGrid(grid))),
            _ => {
                drop(on_grid);
                Ok(Some(Moved::Freely(motions)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::{QUANTUM_M, block_of};
    use proptest::prelude::*;

    fn sums_of(points: &[[f64; 3]]) -> Sums {
        let mut sums = Sums::about(block_of(points[0]));
        points.iter().for_each(|p| sums.add_point(*p, 7.0));
        sums.settle();
        sums
    }

    proptest! {
        /// Against brute force: the points themselves moved, and summed anew.
        #[test]
        fn moving_the_sums_is_moving_the_points(
            points in prop::collection::vec(prop::array::uniform3(-0.3..0.3_f64), 1..40),
            angle in -3.1..3.1_f64,
            shift in prop::array::uniform3(-1e4..1e4_f64),
        ) {
            let (s, c) = angle.sin_cos();
            let motion = Pose::new([[c, -s * 0.8, s * 0.6], [s, c * 0.8, -c * 0.6], [0.0, 0.6, 0.8]], shift).unwrap();
            let moved = moved_sums(&sums_of(&points), &motion);
            let directly = sums_of(&points.iter().map(|p| motion.apply(*p)).collect::<Vec<_>>());
            for i in 0..3 {
                prop_assert!((moved.mean()[i] - directly.mean()[i]).abs() < 3.0 * QUANTUM_M);
            }
            for i in 0..6 {
                prop_assert!((moved.covariance()[i] - directly.covariance()[i]).abs() < 5e-5);
            }
            prop_assert_eq!(block_of(moved.mean()), moved.origin);
            prop_assert_eq!((moved.weight, moved.range), (directly.weight, directly.range));
            // Still exact sums: they can be saved and added like any other.
            prop_assert!(moved.first.iter().all(|v| (v * 65_536.0).fract() == 0.0));
        }
    }

    #[test]
    fn one_point_stays_one_point() {
        let motion = Pose::new([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]], [3.3, -7.1, 0.2]).unwrap();
        let moved = moved_sums(&sums_of(&[[0.11, 0.72, 0.35]]), &motion);
        assert_eq!(moved.covariance(), [0.0; 6]);
        assert_eq!(moved_sums(&moved, &Pose::IDENTITY), moved);
    }
}
