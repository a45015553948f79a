//! Farthest point sampling: centres spread as evenly as the points allow.
//!
//! No point ends farther from its centre than the centres are from each other.

use super::cover::Cover;
use super::lanes::tame;
use super::renumber::renumber;
use super::tree::Tree;
use crate::random::Rng;

/// Clusters points around centres chosen by farthest point sampling.
///
/// The first centre is drawn by `seed`; each next one is the point farthest from all centres so
/// far, the lowest index on ties. Every point goes to its nearest centre, the earliest on ties.
///
/// Numbers run from 0 by first appearance in point order; at most `k` clusters (one if `k` is 0),
/// fewer when points coincide.
pub fn farthest_point(points: &[[f32; 3]], k: usize, seed: u64) -> Vec<u32> {
    if points.is_empty() {
        return Vec::new();
    }
    let tree = Tree::new(points);
    let mut cover = Cover::new(&tree);
    cover.add(tame(points[Rng::new(seed).below(points.len())]));
    let mut centres = 1;
    while centres < k {
        let Some(i) = cover.farthest() else { break };
        cover.add(tree.point(i));
        centres += 1;
    }
    let mut assignment = tree.unsort(&cover.labels);
    renumber(&mut assignment);
    assignment
}
