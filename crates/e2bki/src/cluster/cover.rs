//! Nearest centre of every point, kept up to date while centres are added one by one.
//!
//! Each node knows the largest and the sum of the squared distances below it. A new centre visits
//! only the boxes nearer than their largest distance, so n points and k centres cost about
//! n·ln k instead of n·k; drawing a point with D² probability walks down once.

use wide::f32x8;

use super::lanes::{LANES, Lanes, max8};
use super::tree::Tree;

/// Nearest centre and squared distance of every point of a tree.
pub(super) struct Cover<'a> {
    tree: &'a Tree,
    /// Number of centres so far; the next one gets this label.
    centres: u32,
    /// Label of the nearest centre, lowest on ties, per leaf.
    pub(super) labels: Vec<[u32; LANES]>,
    /// Squared distance to it, per leaf; 0 in unfilled lanes.
    near2: Vec<[f32; LANES]>,
    /// Per level and node: largest squared distance and sum of them below each child.
    nodes: Vec<Vec<Node>>,
}

/// What a node knows about its children.
#[derive(Clone, Copy)]
struct Node {
    largest: [f32; LANES],
    sum: [f64; LANES],
}

impl<'a> Cover<'a> {
    /// Cover without centres: every point infinitely far from one.
    pub(super) fn new(tree: &'a Tree) -> Self {
        let mut near2 = vec![[f32::INFINITY; LANES]; tree.leaves.len()];
        if let Some(last) = near2.last_mut() {
            last[tree.filled(tree.leaves.len() - 1)..].fill(0.0);
        }
        // Infinite for real children, so that the first centre reaches them; below any distance
        // for missing ones, so that nothing does.
        let mut nodes: Vec<Vec<Node>> = Vec::new();
        for (level, boxes) in tree.levels.iter().enumerate() {
            let children = tree.children(level);
            let node = |i: usize| {
                let mut node = Node { largest: [-1.0; LANES], sum: [0.0; LANES] };
                let filled = (children - i * LANES).min(LANES);
                node.largest[..filled].fill(f32::INFINITY);
                node
            };
            nodes.push((0..boxes.len()).map(node).collect());
        }
        Self { tree, centres: 0, labels: vec![[0; LANES]; tree.leaves.len()], near2, nodes }
    }

    /// Adds a centre; points strictly nearer to it than to all before take its label.
    pub(super) fn add(&mut self, centre: [f32; 3]) {
        let root = self.nodes.len() - 1;
        self.visit(root, 0, &Lanes::splat(centre));
        self.centres += 1;
    }

    /// Updates the children of a node that the centre can improve; returns largest and sum.
    fn visit(&mut self, level: usize, node: usize, centre: &Lanes) -> (f32, f64) {
        let largest = f32x8::new(self.nodes[level][node].largest);
        let boxes = &self.tree.levels[level][node];
        let mut open = boxes.nearest2(centre).simd_lt(largest).to_bitmask();
        while open != 0 {
            let lane = open.trailing_zeros() as usize;
            open &= open - 1;
            let child = node * LANES + lane;
            let (largest, sum) = match level {
                0 => self.visit_leaf(child, centre),
                _ => self.visit(level - 1, child, centre),
            };
            let node = &mut self.nodes[level][node];
            node.largest[lane] = largest;
            node.sum[lane] = sum;
        }
        let node = &self.nodes[level][node];
        (max8(node.largest), sum8(node.sum))
    }

    /// Updates the points of a leaf.
    fn visit_leaf(&mut self, leaf: usize, centre: &Lanes) -> (f32, f64) {
        let near2 = &mut self.near2[leaf];
        let new2 = self.tree.leaves[leaf].distance2(centre);
        let old2 = f32x8::new(*near2);
        let mut nearer = new2.simd_lt(old2).to_bitmask();
        if nearer != 0 {
            *near2 = new2.fast_min(old2).to_array();
        }
        while nearer != 0 {
            self.labels[leaf][nearer.trailing_zeros() as usize] = self.centres;
            nearer &= nearer - 1;
        }
        (max8(*near2), sum8(near2.map(f64::from)))
    }

    /// Draws a sorted point with probability proportional to its squared distance (D² sampling);
    /// `uniform` is in `[0, 1)`. `None` when every point coincides with a centre.
    pub(super) fn draw(&self, uniform: f64) -> Option<usize> {
        let root = self.nodes.len() - 1;
        let total = sum8(self.nodes[root][0].sum);
        if total <= 0.0 {
            return None;
        }
        let mut rest = uniform * total;
        let mut at = 0;
        for nodes in self.nodes.iter().rev() {
            at = at * LANES + descend(&nodes[at].sum, &mut rest);
        }
        Some(at * LANES + descend(&self.near2[at].map(f64::from), &mut rest))
    }

    /// The sorted point farthest from its centre, the lowest original index on ties.
    /// `None` when every point coincides with a centre.
    pub(super) fn farthest(&self) -> Option<usize> {
        let root = self.nodes.len() - 1;
        let largest = max8(self.nodes[root][0].largest);
        let mut best = None;
        if largest > 0.0 {
            self.find(root, 0, largest, &mut best);
        }
        best
    }

    /// Looks below a node for the lowest original index at squared distance `wanted`.
    fn find(&self, level: usize, node: usize, wanted: f32, best: &mut Option<usize>) {
        for (lane, &largest) in self.nodes[level][node].largest.iter().enumerate() {
            let child = node * LANES + lane;
            if largest != wanted {
                continue;
            }
            if level > 0 {
                self.find(level - 1, child, wanted, best);
                continue;
            }
            for (lane, &near2) in self.near2[child].iter().enumerate() {
                let i = child * LANES + lane;
                let lower = |b: usize| self.tree.order[i] < self.tree.order[b];
                if near2 == wanted && best.is_none_or(lower) {
                    *best = Some(i);
                }
            }
        }
    }
}

/// The lane in which `rest` falls when the weights are laid end to end; `rest` becomes the offset
/// inside it. Rounding may push `rest` past the end: then the last lane with weight.
fn descend(weights: &[f64; LANES], rest: &mut f64) -> usize {
    let mut chosen = 0;
    for (lane, &weight) in weights.iter().enumerate() {
        if weight <= 0.0 {
            continue;
        }
        chosen = lane;
        if *rest < weight {
            break;
        }
        *rest -= weight;
    }
    chosen
}

/// Sum of eight numbers in a fixed order.
fn sum8(v: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = v;
    ((a + e) + (b + f)) + ((c + g) + (d + h))
}
