//! What is moved does not lie in one cube any more: it is cut at the faces of the cubes, as its points would have been.

use crate::maths::floor_i32;
use crate::primitive::{QUANTUM_M, QUANTUM_M2, Sums, block_of};

/// Spreads below this are those of a point, square metres.
const POINT_M2: f64 = 1e-8;

/// Most spread of a primitive in sides of its cube, as the root of the sum of its variances. No point of a cube is farther than
/// √¾ of a side from its middle; what was moved and summed in a cube again is a little wider, four times over at the worst.
const MOST_SPREAD: f64 = 2.0;

/// So many pieces are enough, and there are never more: a turned cube meets at most three along each axis. What is left then stays
/// whole.
const MANY_PIECES: usize = 27;

/// The nearest whole number; the system's `round` is a function call on plain x86-64.
fn nearest(value: f64) -> i64 {
    (value + 0.5_f64.copysign(value)) as i64
}

/// Points of which number, mean and covariance are known. Along every axis they are taken to be spread evenly, which the
/// points of a surface in a cube are: what was not moved across a face is then not cut by it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) weight: f64,
    pub(super) mean: [f64; 3],
    /// xx, yy, zz, xy, xz, yz.
    pub(super) covariance: [f64; 6],
}

impl Spread {
    /// The column of the covariance that belongs to an axis.
    fn column(&self, axis: usize) -> [f64; 3] {
        let [xx, yy, zz, xy, xz, yz] = self.covariance;
        [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]][axis]
    }

    /// How far the coordinates go along with that of an axis.
    fn follow(&self, axis: usize) -> [f64; 3] {
        let column = self.column(axis);
        // As far as any points do (Cauchy and Schwarz): rounding, or a made-up file, would take a part anywhere.
        std::array::from_fn(|i| {
            let most = self.covariance[i] * column[axis];
            if column[i] * column[i] <= most { column[i] } else { most.sqrt().copysign(column[i]) }
        })
        .map(|v| v / column[axis])
    }

    /// Those of the points whose coordinate along an axis has a mean farther by `shift` and a variance greater by `change`; the
    /// other coordinates follow.
    fn part(&self, follow: &[f64; 3], weight: f64, shift: f64, change: f64) -> Self {
        let pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
        Self {
            weight,
            mean: std::array::from_fn(|i| self.mean[i] + follow[i] * shift),
            covariance: std::array::from_fn(|k| {
                let (i, j) = pairs[k];
                let value = self.covariance[k] + follow[i] * follow[j] * change;
                if i == j { value.max(0.0) } else { value }
            }),
        }
    }

    /// Two parts on either side of a face between cubes, if there are points on both.
    fn cut(&self, side: f64) -> Option<[Self; 2]> {
        // Most pieces are of one point.
        if self.weight < 2.0 {
            return None;
        }
        for axis in 0..3 {
            let variance = self.covariance[axis];
            if variance < POINT_M2 {
                continue;
            }
            // Evenly spread numbers of this variance fill an interval of √12 of its root.
            let length = (12.0 * variance).sqrt();
            let low = self.mean[axis] - 0.5 * length;
            let first = f64::from(floor_i32(low / side)) + 1.0;
            for k in 0.. {
                let share = ((first + f64::from(k)) * side - low) / length;
                if share >= 1.0 {
                    break;
                }
                let below = nearest(self.weight * share) as f64;
                if below >= 1.0 && below <= self.weight - 1.0 {
                    // The cut that leaves whole points on either side.
                    let (share, rest) = (below / self.weight, 1.0 - below / self.weight);
                    let follow = self.follow(axis);
                    let part = |weight, share: f64, mean: f64| {
                        self.part(&follow, weight, mean - self.mean[axis], variance * share * share - variance)
                    };
                    return Some([
                        part(below, share, low + 0.5 * share * length),
                        part(self.weight - below, rest, low + (share + 0.5 * rest) * length),
                    ]);
                }
            }
        }
        None
    }

    /// Cuts until nothing is left to cut, or there are many together with those that wait to be cut.
    fn pieces(self, side: f64, waiting: usize, pieces: &mut Vec<Self>) {
        let parts = if pieces.len() + waiting + 2 <= MANY_PIECES { self.cut(side) } else { None };
        match parts {
            Some([below, above]) => {
                below.pieces(side, waiting + 1, pieces);
                above.pieces(side, waiting, pieces);
            }
            None => pieces.push(self),
        }
    }

    /// Sums of that many points there, with a share of the range.
    pub(super) fn sums(&self, range: f64) -> Sums {
        let mut sums = Sums { weight: self.weight, range, ..Sums::about(block_of(self.mean)) };
        let rounded = |value: f64| nearest(value / QUANTUM_M) as f64 * QUANTUM_M;
        sums.first = std::array::from_fn(|i| rounded(self.weight * (self.mean[i] - f64::from(sums.origin[i]))));
        // About the rounded mean, so that rounding it does not widen the primitive.
        let m = sums.first.map(|v| v / self.weight);
        let product = [m[0] * m[0], m[1] * m[1], m[2] * m[2], m[0] * m[1], m[0] * m[2], m[1] * m[2]];
        sums.second = std::array::from_fn(|i| nearest(self.weight * (self.covariance[i] + product[i]) / QUANTUM_M2));
        sums.settle();
        sums
    }
}

/// The spread of points that no cube of this side can have held, metres: they would be cut into any number of pieces.
pub(super) fn too_wide(sums: &Sums, side: f64) -> Option<f64> {
    wider(sums.covariance(), side)
}

fn wider([xx, yy, zz, ..]: [f64; 6], side: f64) -> Option<f64> {
    let spread = (xx + yy + zz).sqrt();
    (spread > MOST_SPREAD * side).then_some(spread)
}

/// Memory of [`cut`], to be used again for the next.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pieces: Vec<Spread>,
    evidence: Vec<i64>,
    rest: Vec<i64>,
}

/// The share that some of the points have of a value, rounded towards zero. All are whole numbers.
fn share_of(value: i64, points: f64, of: f64) -> i64 {
    let product = value as f64 * points;
    // Below 2⁵³ a product is exact, and a quotient that is no whole number is farther from the next one than it is rounded.
    if product.abs() < EXACT {
        return (product / of) as i64;
    }
    (i128::from(value) * points as i128 / of as i128) as i64
}

/// Whole numbers below this are exact in floating point.
const EXACT: f64 = (1_u64 << 53) as f64;

/// Cuts sums of one class at the faces of cubes. The pieces together are the whole, to the bit: points, moments, ranges
/// and evidence, of which every piece has its points' share. What no cube can have held stays in one piece.
pub(super) fn cut(
    whole: &Sums,
    log_evidence: &[i64],
    side: f64,
    scratch: &mut Scratch,
    mut take: impl FnMut(&Sums, &[i64]),
) {
    if whole.weight < 2.0 {
        return take(whole, log_evidence);
    }
    let spread = Spread { weight: whole.weight, mean: whole.mean(), covariance: whole.covariance() };
    let parts = if wider(spread.covariance, side).is_none() { spread.cut(side) } else { None };
    let Some([below, above]) = parts else { return take(whole, log_evidence) };
    let Scratch { pieces, evidence, rest } = scratch;
    pieces.clear();
    below.pieces(side, 1, pieces);
    above.pieces(side, 0, pieces);
    // The last one is what the others leave.
    pieces.pop();
    rest.clear();
    rest.extend_from_slice(log_evidence);
    let mut rest_of_sums = *whole;
    for piece in pieces {
        let range = nearest(whole.range * piece.weight / whole.weight / QUANTUM_M) as f64 * QUANTUM_M;
        let sums = piece.sums(range);
        evidence.clear();
        evidence.extend(log_evidence.iter().map(|value| share_of(*value, piece.weight, whole.weight)));
        rest.iter_mut().zip(&*evidence).for_each(|(rest, own)| *rest -= own);
        // Both are within limits, as the whole was.
        rest_of_sums.add_times(&sums, -1);
        take(&sums, evidence);
    }
    rest_of_sums.settle();
    take(&rest_of_sums, rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::cell_of;
    use crate::pose::Pose;
    use crate::submaps::moved_sums;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const SIDE: f64 = 0.25;

    fn sums_of(points: &[[f64; 3]]) -> Sums {
        let mut sums = Sums::about(block_of(points[0]));
        points.iter().for_each(|p| sums.add_point(*p, 7.0));
        sums.settle();
        sums
    }

    fn pieces_of(whole: &Sums, log_evidence: &[i64]) -> Vec<(Sums, Vec<i64>)> {
        let mut pieces = Vec::new();
        cut(whole, log_evidence, SIDE, &mut Scratch::default(), |sums, evidence| {
            pieces.push((*sums, evidence.to_vec()))
        });
        pieces
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_whole_to_the_bit(
            points in prop::collection::vec(prop::array::uniform3(-0.4..0.4_f64), 1..60),
            corner in prop::array::uniform3(-1e6..1e6_f64),
            evidence in prop::collection::vec(0..1_i64 << 50, 3),
        ) {
            let points: Vec<[f64; 3]> = points.iter().map(|p| std::array::from_fn(|i| p[i] + corner[i])).collect();
            let whole = sums_of(&points);
            let pieces = pieces_of(&whole, &evidence);
            let mut sum = Sums::about(whole.origin);
            let mut sum_of_evidence = vec![0; 3];
            for (piece, evidence) in &pieces {
                prop_assert!(piece.weight >= 1.0 && piece.range >= 0.0 && evidence.iter().all(|v| *v >= 0));
                sum.add_about(piece);
                sum_of_evidence.iter_mut().zip(evidence).for_each(|(sum, v)| *sum += v);
                // Nothing is wider than the whole was, and no spread is negative.
                for i in 0..3 {
                    prop_assert!(piece.covariance()[i] <= whole.covariance()[i] + 1e-4);
                }
            }
            sum.settle();
            prop_assert_eq!(sum, whole);
            prop_assert_eq!(sum_of_evidence, evidence);
        }
    }

    proptest! {
        #[test]
        fn shares_are_those_of_whole_numbers(
            value in prop_oneof![0..100_i64, 0..1_i64 << 40, 0..=1_i64 << 62, -(1_i64 << 60)..0],
            of in prop_oneof![1..50_i64, 1..=1_i64 << 31],
            part in 0.0..=1.0_f64,
        ) {
            let points = (of as f64 * part).round();
            let exactly = i128::from(value) * points as i128 / i128::from(of);
            prop_assert_eq!(i128::from(share_of(value, points, of as f64)), exactly);
            // Just below and at whole shares.
            for near in [value / of * of, value / of * of - value.signum()] {
                prop_assert_eq!(i128::from(share_of(near, 1.0, of as f64)), i128::from(near) / i128::from(of));
            }
        }
    }

    #[test]
    fn what_is_where_it_was_stays_whole() {
        // A floor and a wall that fill their cubes evenly.
        let grid = |i: usize| 0.25 + 0.25 * (i as f64 + 0.5) / 10.0;
        let floor: Vec<[f64; 3]> = (0..100).map(|i| [grid(i / 10), grid(i % 10), 0.3]).collect();
        let wall: Vec<[f64; 3]> = floor.iter().map(|[x, y, z]| [*x, *z, *y]).collect();
        for points in [floor, wall, vec![[0.1, 0.2, 0.3]]] {
            let whole = sums_of(&points);
            assert_eq!(pieces_of(&whole, &[5, 0]), [(whole, vec![5, 0])]);
        }
    }

    /// A made-up file says what no points do: a weight, and variances and covariances that do not go together.
    fn made_up(weight: f64, covariance: [f64; 6]) -> Sums {
        Spread { weight, mean: [0.5; 3], covariance }.sums(0.0)
    }

    #[test]
    fn what_no_points_can_be_is_not_taken_apart() {
        // Two thousand million points of a ball of 50 m would be three hundred million pieces.
        let wide = made_up(2e9, [2500.0, 2500.0, 2500.0, 0.0, 0.0, 0.0]);
        assert!(too_wide(&wide, SIDE).is_some());
        assert_eq!(pieces_of(&wide, &[7]), [(wide, vec![7])]);
        // Covariances far beyond the variances would throw pieces kilometres away.
        let slanted = made_up(1e6, [0.02, 0.02, 0.02, 1e4, -1e4, 1e4]);
        let pieces = pieces_of(&slanted, &[7]);
        assert!((2..=MANY_PIECES).contains(&pieces.len()), "{}", pieces.len());
        for (piece, _) in pieces {
            let away = piece.mean().map(|v| (v - 0.5).abs());
            assert!(away.iter().all(|v| *v < 1.0), "{away:?}");
        }
    }

    proptest! {
        /// However points lie in a cube and however they are turned, they are not too wide, and make few pieces.
        #[test]
        fn what_was_in_a_cube_is_in_few_pieces(
            corners in prop::collection::vec((0..8_u8, 1..40_usize), 1..8),
            turn in prop::array::uniform4(-1.0..1.0_f64),
        ) {
            let corner = |bits: u8| std::array::from_fn(|i| if bits & 1 << i == 0 { 0.0 } else { SIDE.next_down() });
            let points: Vec<[f64; 3]> = corners.iter().flat_map(|(bits, times)| vec![corner(*bits); *times]).collect();
            let norm = turn.iter().map(|v| v * v).sum::<f64>().sqrt();
            prop_assume!(norm > 0.1);
            let [w, x, y, z] = turn.map(|v| v / norm);
            let rotation = [
                [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
                [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
                [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
            ];
            let moved = moved_sums(&sums_of(&points), &Pose::new(rotation, [0.1, 0.2, 0.3]).unwrap());
            prop_assert!(too_wide(&moved, 0.45 * SIDE).is_none());
            prop_assert!(pieces_of(&moved, &[1]).len() <= MANY_PIECES);
        }
    }

    #[test]
    fn a_turned_floor_lands_in_the_cubes_that_its_points_land_in() {
        let motion = Pose::new([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]], [3.31, -7.12, 0.04]).unwrap();
        let mut by_points: BTreeMap<[i32; 3], f64> = BTreeMap::new();
        let mut by_pieces = by_points.clone();
        let mut by_means = by_points.clone();
        // Cubes of a floor of 2 m × 2 m with 400 points each.
        for (i, j) in (0..8).flat_map(|i| (0..8).map(move |j| (i, j))) {
            let at = |cube: i32, k: usize| 0.25 * (f64::from(cube) + (k as f64 + 0.5) / 20.0);
            let points: Vec<[f64; 3]> = (0..400).map(|k| [at(i, k / 20), at(j, k % 20), 0.1]).collect();
            for point in &points {
                *by_points.entry(cell_of(motion.apply(*point), SIDE)).or_default() += 1.0;
            }
            let moved = moved_sums(&sums_of(&points), &motion);
            *by_means.entry(cell_of(moved.mean(), SIDE)).or_default() += moved.weight;
            for (piece, _) in pieces_of(&moved, &[1]) {
                *by_pieces.entry(cell_of(piece.mean(), SIDE)).or_default() += piece.weight;
            }
        }
        let wrong = |counts: &BTreeMap<[i32; 3], f64>| -> f64 {
            let keys: std::collections::BTreeSet<_> = counts.keys().chain(by_points.keys()).collect();
            let of = |map: &BTreeMap<[i32; 3], f64>, key| map.get(key).copied().unwrap_or(0.0);
            keys.into_iter().map(|key| (of(counts, key) - of(&by_points, key)).abs()).sum::<f64>() / 2.0 / 25_600.0
        };
        assert!(
            wrong(&by_pieces) < 0.06 && wrong(&by_pieces) < 0.3 * wrong(&by_means),
            "{} {}",
            wrong(&by_pieces),
            wrong(&by_means)
        );
    }
}
