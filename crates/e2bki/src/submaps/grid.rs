//! Motions that take every cube to a cube: by whole cubes, turned by right angles. What was summed in a cube is the sum of
//! another one then, to the bit, and nothing is cut.

use crate::pose::Pose;
use crate::primitive::{QUANTUM_M, Sums};

/// A motion that differs from another by no more than this at any point is that one: sums are not finer.
pub(super) const NOTHING_M: f64 = 0.5 * QUANTUM_M;

/// Pairs of axes in the order in which sums have their products.
const PAIRS: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];

/// A motion of cubes to cubes and of the grid of sums to itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GridMotion {
    /// The axis that becomes x, y and z, and whether it keeps (1) or changes (−1) its direction.
    from: [(usize, i8); 3],
    /// Metres.
    shift: [f64; 3],
}

impl GridMotion {
    /// The motion that another one is, in a box and for cubes of a side, as far as sums can tell.
    pub(super) fn of(motion: &Pose, side: f64, (low, high): ([f64; 3], [f64; 3])) -> Option<Self> {
        let mut from = [(0, 0); 3];
        for (to, row) in from.iter_mut().zip(motion.rotation()) {
            let axis = (0..3).find(|axis| row[*axis].abs() > 0.5)?;
            *to = (axis, if row[axis] > 0.0 { 1 } else { -1 });
        }
        let shift = motion.translation().map(|v| (v / side).round() * side);
        let on_grid = shift.iter().all(|v| (v / QUANTUM_M).fract() == 0.0);
        let found = Self { from, shift };
        // Both are affine: they differ nowhere in the box by more than at one of its corners.
        let same = |bits: usize| {
            let corner = std::array::from_fn(|i| if bits & 1 << i == 0 { low[i] } else { high[i] });
            let (a, b) = (motion.apply(corner), found.apply(corner));
            (0..3).all(|i| (a[i] - b[i]).abs() <= NOTHING_M)
        };
        (on_grid && (0..8).all(same)).then_some(found)
    }

    /// Whether it moves nothing.
    pub(super) fn is_none(&self) -> bool {
        self.from == [(0, 1), (1, 1), (2, 1)] && self.shift == [0.0; 3]
    }

    /// Where a point is afterwards.
    pub(super) fn apply(&self, point: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|i| f64::from(self.from[i].1) * point[self.from[i].0] + self.shift[i])
    }

    /// The sums of the moved points.
    pub(super) fn sums(&self, sums: &Sums) -> Sums {
        // A corner must be a whole number of metres; the rest of the way is that of the points.
        let (metres, rest) = (self.shift.map(f64::floor), self.shift.map(|v| v - v.floor()));
        let quanta = |value: f64| (value / QUANTUM_M) as i128;
        let turned = self.from.map(|(axis, sign)| f64::from(sign) * sums.first[axis]);
        let (first, way, points) = (turned.map(quanta), rest.map(quanta), sums.weight as i128);
        let second = |(i, j): (usize, usize)| {
            let ((a, sign_a), (b, sign_b)) = (self.from[i], self.from[j]);
            let pair = PAIRS.iter().position(|pair| *pair == (a.min(b), a.max(b))).unwrap_or(0);
            let own = i128::from(sums.second[pair]) * i128::from(sign_a * sign_b);
            let moved = own + way[i] * first[j] + first[i] * way[j] + points * way[i] * way[j];
            // Beyond what any sum may be it is refused.
            i64::try_from(moved).unwrap_or(if moved < 0 { i64::MIN } else { i64::MAX })
        };
        let mut moved = Sums {
            origin: std::array::from_fn(|i| {
                let (axis, sign) = self.from[i];
                (i32::from(sign) * sums.origin[axis]).saturating_add(metres[i] as i32)
            }),
            first: std::array::from_fn(|i| turned[i] + sums.weight * rest[i]),
            second: PAIRS.map(second),
            ..*sums
        };
        moved.settle();
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::block_of;
    use proptest::prelude::*;

    fn sums_of(points: &[[f64; 3]]) -> Sums {
        let mut sums = Sums::about(block_of(points[0]));
        points.iter().for_each(|p| sums.add_point(*p, 7.0));
        sums.settle();
        sums
    }

    /// All 24 rotations by right angles.
    fn right_angles() -> Vec<[[f64; 3]; 3]> {
        let axes = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]];
        let signed = |order: [usize; 3], signs: usize| -> [[f64; 3]; 3] {
            let sign = |i: usize| if signs & 1 << i == 0 { 1.0 } else { -1.0 };
            std::array::from_fn(|i| std::array::from_fn(|j| if order[i] == j { sign(i) } else { 0.0 }))
        };
        let all = axes.into_iter().flat_map(|order| (0..8).map(move |signs| signed(order, signs)));
        all.filter(|rotation| Pose::new(*rotation, [0.0; 3]).is_ok()).collect()
    }

    #[test]
    fn there_are_24_right_angles() {
        assert_eq!(right_angles().len(), 24);
    }

    proptest! {
        /// Against brute force: the points themselves moved, and summed anew; on the grid of sums both are exact.
        #[test]
        fn moving_the_sums_is_moving_the_points_to_the_bit(
            points in prop::collection::vec(prop::array::uniform3(-40_000..40_000_i32), 1..40),
            corner in prop::array::uniform3(-1000..1000_i32),
            turn in 0..24_usize,
            cubes in prop::array::uniform3(-40_000..40_000_i32),
        ) {
            let points: Vec<[f64; 3]> = points
                .iter()
                .map(|p| std::array::from_fn(|i| f64::from(corner[i]) + f64::from(p[i]) * QUANTUM_M))
                .collect();
            let motion = Pose::new(right_angles()[turn], cubes.map(|v| 0.25 * f64::from(v))).unwrap();
            let sums = sums_of(&points);
            let grid = GridMotion::of(&motion, 0.25, (sums.mean(), sums.mean())).unwrap();
            let moved: Vec<[f64; 3]> = points.iter().map(|p| motion.apply(*p)).collect();
            prop_assert_eq!(grid.sums(&sums), sums_of(&moved));
            prop_assert_eq!(grid.apply(points[0]), moved[0]);
            let back = GridMotion::of(&motion.inverse(), 0.25, (moved[0], moved[0])).unwrap();
            prop_assert_eq!(back.sums(&grid.sums(&sums)), sums);
        }
    }

    #[test]
    fn other_motions_are_not_taken_for_one() {
        let near = ([-10.0; 3], [10.0; 3]);
        let shift = |v: f64| Pose::from_translation([v, 0.0, 0.0]).unwrap();
        assert!(GridMotion::of(&Pose::IDENTITY, 0.25, near).unwrap().is_none());
        assert!(GridMotion::of(&shift(1e-6), 0.25, near).unwrap().is_none());
        assert!(!GridMotion::of(&shift(-0.75), 0.25, near).unwrap().is_none());
        assert_eq!(GridMotion::of(&shift(0.125), 0.25, near), None);
        assert_eq!(GridMotion::of(&shift(0.250_01), 0.25, near), None);
        // Cubes whose faces are not on the grid of the sums: only where nothing is moved.
        assert_eq!(GridMotion::of(&shift(0.3), 0.3, near), None);
        assert!(GridMotion::of(&Pose::IDENTITY, 0.3, near).is_some());
        // A rotation too small for a metre, and not for a kilometre.
        let (s, c) = 1e-7_f64.sin_cos();
        let turned = Pose::new([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [0.0; 3]).unwrap();
        assert!(GridMotion::of(&turned, 0.25, near).is_some());
        assert_eq!(GridMotion::of(&turned, 0.25, ([0.0; 3], [1000.0; 3])), None);
    }
}
