//! Lloyd's iteration over a tree of points.
//!
//! Work is saved by the *reach* of a box, the largest squared distance of a point in it to the
//! point's own centre: a centre farther from the box than that cannot win a point there, and a box
//! reached only by centres that did not move keeps its assignment. The result is that of comparing
//! every point with every centre, the lowest number on ties.

use wide::f32x8;

use super::sums::{Centre, Sums};
use crate::cluster::lanes::{LANES, Lanes, max8};
use crate::cluster::tree::Tree;

/// Rounds after which the iteration ends in any case: rounding could make it go in circles.
const MAX_ROUNDS: usize = 10_000;

/// Refines `labels` from the given centres; stops when nothing changes or after `max_iterations`.
pub(super) fn refine(tree: &Tree, centres: &[[f32; 3]], labels: &mut [[u32; LANES]], max_iterations: usize) {
    if max_iterations == 0 {
        return;
    }
    fill_last_leaf(tree, labels);
    let centre = |(&at, number)| Centre { at, number, moved: false };
    let mut centres: Vec<Centre> = centres.iter().zip(0..).map(centre).collect();
    let mut round = Round {
        tree,
        sums: Sums::new(tree, labels, centres.len()),
        labels,
        reach: tree.levels.iter().map(|l| vec![[-1.0; LANES]; l.len()]).collect(),
    };
    let mut lists = vec![Lists::default(); tree.levels.len()];
    for _ in 0..max_iterations.min(MAX_ROUNDS) {
        if !round.sums.update(&mut centres) {
            return;
        }
        round.measure(&centres);
        round.visit(tree.levels.len() - 1, 0, &centres, &mut lists);
    }
}

/// Labels the unfilled lanes like the point they repeat, so that they do not widen the reach.
fn fill_last_leaf(tree: &Tree, labels: &mut [[u32; LANES]]) {
    if let Some(last) = labels.last_mut() {
        let filled = tree.filled(tree.leaves.len() - 1);
        let label = last[filled - 1];
        last[filled..].fill(label);
    }
}

/// Scratch of one level: the centres that reach each child of a node.
type Lists = [Vec<Centre>; LANES];

/// State of the iteration.
struct Round<'a> {
    tree: &'a Tree,
    labels: &'a mut [[u32; LANES]],
    sums: Sums,
    /// Per level and node: reach of each child, negative for missing ones.
    reach: Vec<Vec<[f32; LANES]>>,
}

impl Round<'_> {
    /// Measures the reach of every box, from the leaves up.
    fn measure(&mut self, centres: &[Centre]) {
        for (leaf, (points, labels)) in self.tree.leaves.iter().zip(&*self.labels).enumerate() {
            let own = Lanes::gather(|lane| centres[labels[lane] as usize].at);
            let reach = max8(points.distance2(&own).to_array());
            self.reach[0][leaf / LANES][leaf % LANES] = reach;
        }
        for level in 1..self.reach.len() {
            let (below, above) = self.reach.split_at_mut(level);
            for (node, &reach) in below[level - 1].iter().enumerate() {
                above[0][node / LANES][node % LANES] = max8(reach);
            }
        }
    }

    /// Hands the centres that reach a node down to its children.
    fn visit(&mut self, level: usize, node: usize, centres: &[Centre], lists: &mut [Lists]) {
        let Some((own, below)) = lists.split_last_mut() else {
            return;
        };
        let reach = f32x8::new(self.reach[level][node]);
        let boxes = &self.tree.levels[level][node];
        own.iter_mut().for_each(Vec::clear);
        let mut moved = 0;
        for centre in centres {
            let near2 = boxes.nearest2(&Lanes::splat(centre.at));
            let mut reached = near2.simd_le(reach).to_bitmask();
            if centre.moved {
                moved |= reached;
            }
            while reached != 0 {
                own[reached.trailing_zeros() as usize].push(*centre);
                reached &= reached - 1;
            }
        }
        while moved != 0 {
            let lane = moved.trailing_zeros() as usize;
            moved &= moved - 1;
            let child = node * LANES + lane;
            match (own[lane].len(), level) {
                // The own centre of every point is among them: here it is everyone's.
                (1, _) => {}
                (_, 0) => self.assign(child, &own[lane]),
                _ => self.visit(level - 1, child, &own[lane], below),
            }
        }
    }

    /// Assigns the points of a leaf, given the centres that reach it.
    fn assign(&mut self, leaf: usize, centres: &[Centre]) {
        let points = &self.tree.leaves[leaf];
        let mut best = f32x8::splat(f32::INFINITY);
        // Numbers travel as bit patterns, so that the mask of the comparison selects them too.
        let mut number = f32x8::ZERO;
        for centre in centres {
            let distance2 = points.distance2(&Lanes::splat(centre.at));
            let nearer = distance2.simd_lt(best);
            best = best.fast_min(distance2);
            number = nearer.bitselect(f32x8::splat(f32::from_bits(centre.number)), number);
        }
        let new = number.to_array().map(f32::to_bits);
        let old = self.labels[leaf];
        for lane in 0..self.tree.filled(leaf) {
            if new[lane] != old[lane] {
                self.sums.shift(old[lane], new[lane], points.get(lane));
            }
        }
        self.labels[leaf] = new;
    }
}
