//! K-means++: D² seeding, then Lloyd's iteration.
//!
//! Seeding leaves every point with its nearest seed, which is the first assignment of Lloyd.

mod lloyd;
mod sums;

use super::cover::Cover;
use super::lanes::tame;
use super::renumber::renumber;
use super::tree::Tree;
use crate::random::Rng;

/// Clusters points by K-means++ and returns the cluster number of each.
///
/// Seeds are drawn with probability proportional to the squared distance to the nearest seed so
/// far, then at most `max_iterations` rounds of Lloyd's iteration follow, fewer once nothing
/// changes. Every round is exact: nearest centre in f32, lowest seed on ties.
///
/// Numbers run from 0 by first appearance in point order. There are at most `k` clusters (one if
/// `k` is 0) and no empty ones; fewer when points coincide. The same input gives the same result
/// on every platform.
pub fn kmeans_plus_plus(points: &[[f32; 3]], k: usize, seed: u64, max_iterations: usize) -> Vec<u32> {
    if points.is_empty() {
        return Vec::new();
    }
    let tree = Tree::new(points);
    let mut rng = Rng::new(seed);
    let mut cover = Cover::new(&tree);
    let mut centres = Vec::with_capacity(k.clamp(1, points.len()));
    let mut next = Some(tame(points[rng.below(points.len())]));
    while let Some(centre) = next {
        cover.add(centre);
        centres.push(centre);
        next = None;
        if centres.len() < k {
            next = cover.draw(rng.uniform()).map(|i| tree.point(i));
        }
    }
    let mut labels = cover.labels;
    lloyd::refine(&tree, &centres, &mut labels, max_iterations);
    let mut assignment = tree.unsort(&labels);
    renumber(&mut assignment);
    assignment
}
