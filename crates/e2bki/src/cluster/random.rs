//! Random centres: the simplest clustering, and the yardstick for the others.
//!
//! Centres follow the density of the points; sparse regions get few.

use super::cover::Cover;
use super::lanes::tame;
use super::renumber::renumber;
use super::tree::Tree;
use crate::random::Rng;

/// Clusters points around `k` different points drawn at random.
///
/// Every point goes to its nearest centre, the earliest drawn on ties; centres at the same place
/// merge. Numbers run from 0 by first appearance in point order; at most `k` clusters (one if `k`
/// is 0).
pub fn random_sample(points: &[[f32; 3]], k: usize, seed: u64) -> Vec<u32> {
    if points.is_empty() {
        return Vec::new();
    }
    let tree = Tree::new(points);
    let mut cover = Cover::new(&tree);
    let chosen = draw_distinct(points.len(), k.clamp(1, points.len()), seed);
    for &i in &chosen {
        cover.add(tame(points[i as usize]));
    }
    let mut assignment = tree.unsort(&cover.labels);
    renumber(&mut assignment);
    assignment
}

/// `k` different numbers below `n`, by the first `k` steps of a shuffle.
fn draw_distinct(n: usize, k: usize, seed: u64) -> Vec<u32> {
    let mut rng = Rng::new(seed);
    let mut indices: Vec<u32> = (0..).take(n).collect();
    for i in 0..k {
        let other = i + rng.below(n - i);
        indices.swap(i, other);
    }
    indices.truncate(k);
    indices
}
