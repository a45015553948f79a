//! Upper bound on the size of a cluster.
//!
//! A Gaussian over a cluster that reaches across a street or from a kerb to a wall claims space
//! nobody saw. Clusters wider than the bound are cut, at gaps where there are gaps: what bridges
//! a gap is split at the gap. O(n log n): every point is sorted at most once per axis.

use std::collections::BTreeSet;

use super::bounds::Bounds;
use super::lanes::tame;
use super::renumber::renumber;

/// A gap wider than this share of the bound lies between things, not between samples of one.
const GAP_SHARE: f64 = 0.25;

/// Splits every cluster whose bounding box has a side above `max_extent_m`, until all fit.
///
/// A cluster is cut across its longest axis first: at its widest gap, while a piece is too long
/// and that gap exceeds a quarter of the bound; a piece still too long then has no such gap and is
/// cut into the fewest equal slices. The pieces go on with their other axes.
///
/// `assignment` holds one cluster number per point and is renumbered from 0 by first appearance.
/// Returns the number of clusters. A bound that is not a number splits nothing; one of 0 or less
/// leaves only coinciding points together.
pub fn split_wide(points: &[[f32; 3]], assignment: &mut [u32], max_extent_m: f32) -> u32 {
    let clusters = renumber(assignment);
    if max_extent_m.is_nan() {
        return clusters;
    }
    let bound = f64::from(max_extent_m.max(0.0));
    let mut pieces = clusters;
    for mut members in wide_clusters(points, assignment, clusters as usize, bound) {
        split(&mut members, bound, &mut pieces, assignment);
    }
    renumber(assignment)
}

/// One point of a cluster that is too wide.
#[derive(Clone, Copy)]
struct Member {
    at: [f32; 3],
    index: u32,
}

/// The members of every cluster that is wider than the bound.
fn wide_clusters(points: &[[f32; 3]], assignment: &[u32], clusters: usize, bound: f64) -> Vec<Vec<Member>> {
    let mut boxes = vec![Bounds::EMPTY; clusters];
    for (&point, &label) in points.iter().zip(assignment) {
        boxes[label as usize].grow(&Bounds::at(tame(point)));
    }
    let mut places = vec![None; clusters];
    let mut wide = Vec::new();
    for (place, cell) in places.iter_mut().zip(&boxes) {
        if cell.longest().1 > bound {
            *place = Some(wide.len());
            wide.push(Vec::new());
        }
    }
    for ((&point, &label), index) in points.iter().zip(assignment).zip(0..) {
        if let Some(place) = places[label as usize] {
            let at = tame(point);
            wide[place].push(Member { at, index });
        }
    }
    wide
}

/// Cuts one cluster until its pieces fit; all but the first piece get new numbers.
///
/// The pieces of a cut fit along its axis and so do their parts: at most three cuts nest.
fn split(members: &mut [Member], bound: f64, pieces: &mut u32, assignment: &mut [u32]) {
    let (axis, side) = Bounds::around(members.iter().map(|m| Bounds::at(m.at))).longest();
    if side <= bound {
        return;
    }
    members.sort_unstable_by(|a, b| {
        let by_place = a.at[axis].total_cmp(&b.at[axis]);
        by_place.then(a.index.cmp(&b.index))
    });
    let places: Vec<f64> = members.iter().map(|m| f64::from(m.at[axis])).collect();
    let mut rest = members;
    let mut done = 0;
    for end in cuts(&places, bound) {
        let (piece, others) = rest.split_at_mut(end - done);
        rest = others;
        if done > 0 {
            for member in piece.iter() {
                assignment[member.index as usize] = *pieces;
            }
            *pieces += 1;
        }
        done = end;
        split(piece, bound, pieces, assignment);
    }
}

/// Ends of the pieces into which sorted places are cut, the last one being their number.
///
/// Taking the gaps from the widest down, and cutting where the piece around is too long, is the
/// same as halving again and again at the widest gap, without searching it each time.
fn cuts(places: &[f64], bound: f64) -> BTreeSet<usize> {
    let gap = |i: usize| places[i] - places[i - 1];
    let real = |i: &usize| gap(*i) > GAP_SHARE * bound;
    let mut gaps: Vec<usize> = (1..places.len()).filter(real).collect();
    gaps.sort_by(|&a, &b| gap(b).total_cmp(&gap(a)));

    let mut ends = BTreeSet::from([places.len()]);
    for at in gaps {
        let start = ends.range(..=at).next_back().copied().unwrap_or(0);
        let end = ends.range(at + 1..).next().copied();
        let end = end.unwrap_or(places.len());
        if places[end - 1] - places[start] > bound {
            ends.insert(at);
        }
    }
    let mut start = 0;
    for end in ends.clone() {
        slice(places, start..end, bound, &mut ends);
        start = end;
    }
    ends
}

/// Cuts a piece without gaps into the fewest equal slices that fit.
fn slice(places: &[f64], piece: std::ops::Range<usize>, bound: f64, ends: &mut BTreeSet<usize>) {
    let first = places[piece.start];
    let length = places[piece.end - 1] - first;
    if length <= bound {
        return;
    }
    let count = (length / bound).ceil();
    let number = |i: usize| ((places[i] - first) / length * count).floor().min(count - 1.0);
    let mut start = piece.start;
    for i in piece {
        // The second test catches slices that rounding made too long.
        if number(i) != number(start) || places[i] - places[start] > bound {
            ends.insert(i);
            start = i;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(xs: impl IntoIterator<Item = f32>) -> Vec<[f32; 3]> {
        xs.into_iter().map(|x| [x, 0.0, 0.0]).collect()
    }

    #[test]
    fn what_bridges_a_gap_is_split_at_the_gap() {
        let points = row([0.0, 0.1, 0.2, 0.3, 1.05, 1.1]);
        let mut assignment = vec![4; 6];
        assert_eq!(split_wide(&points, &mut assignment, 1.0), 2);
        assert_eq!(assignment, [0, 0, 0, 0, 1, 1]);
        assert_eq!(split_wide(&points, &mut assignment, 1.0), 2);
    }

    #[test]
    fn what_has_no_gap_is_cut_into_equal_slices() {
        let points = row((0..=300).map(|i| i as f32 * 0.01));
        let mut assignment = vec![0; points.len()];
        assert_eq!(split_wide(&points, &mut assignment, 1.1), 3);
        let size = |c| assignment.iter().filter(|&&a| a == c).count();
        assert!([0, 1, 2].into_iter().all(|c| size(c).abs_diff(100) <= 1));
    }

    #[test]
    fn odd_bounds_and_odd_points_do_no_harm() {
        let points = row([0.0, 0.0, 1.0, f32::NAN, f32::INFINITY, -1e30]);
        for (bound, clusters) in [(f32::NAN, 1), (f32::INFINITY, 1), (0.0, 4), (-1.0, 4)] {
            assert_eq!(split_wide(&points, &mut [9; 6], bound), clusters);
        }
        assert_eq!(split_wide(&[], &mut [], 1.0), 0);
    }

    proptest! {
        #[test]
        fn every_piece_fits_and_comes_from_one_cluster(
            points in prop::collection::vec(prop::array::uniform3(-3.0f32..3.0), 0..200),
            clusters in 1u32..5, bound in 0.05f32..4.0, scale in prop::sample::select(vec![1.0f32, 1e6]),
        ) {
            let points: Vec<_> = points.iter().map(|p| p.map(|v| v * scale)).collect();
            let before: Vec<u32> = (0..points.len() as u32).map(|i| i % clusters).collect();
            let mut after = before.clone();
            let count = split_wide(&points, &mut after, bound * scale);
            let mut seen = 0;
            after.iter().for_each(|&a| { assert!(a <= seen); seen = seen.max(a + 1); });
            prop_assert_eq!(seen, count);
            for (i, j) in (0..points.len()).flat_map(|i| (0..i).map(move |j| (i, j))) {
                if after[i] == after[j] {
                    prop_assert_eq!(before[i], before[j]);
                    let apart = |a: usize| (f64::from(points[i][a]) - f64::from(points[j][a])).abs();
                    prop_assert!((0..3).all(|a| apart(a) <= f64::from(bound * scale)));
                }
            }
        }
    }
}
