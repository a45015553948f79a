//! Sums of the points of each cluster, in fixed point.
//!
//! Integer sums are exact: they do not depend on the order of the points, and moving a point from
//! one cluster to another leaves no rounding behind. The step is a power of two chosen so that
//! the sum of all points just fits; at the size of a scan it is far finer than f32 coordinates.

use crate::cluster::lanes::LANES;
use crate::cluster::tree::Tree;

/// A centre, whether in the list of all or among those that reach a box.
#[derive(Clone, Copy)]
pub(super) struct Centre {
    pub(super) at: [f32; 3],
    pub(super) number: u32,
    /// Moved in this round.
    pub(super) moved: bool,
}

/// Point count and coordinate sums of every cluster.
pub(super) struct Sums {
    /// Fixed-point steps per metre.
    scale: f64,
    clusters: Vec<Cluster>,
    /// Clusters whose points changed since their centre was last asked for.
    changed: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Cluster {
    sum: [i64; 3],
    count: u32,
    changed: bool,
}

impl Sums {
    /// Sums over all points of a tree.
    pub(super) fn new(tree: &Tree, labels: &[[u32; LANES]], clusters: usize) -> Self {
        let mut sums = Self {
            scale: scale(tree),
            clusters: vec![Cluster::default(); clusters],
            changed: Vec::with_capacity(clusters),
        };
        for i in 0..tree.len() {
            sums.add(labels[i / LANES][i % LANES], tree.point(i), 1);
        }
        sums
    }

    /// Moves a point from one cluster to another.
    pub(super) fn shift(&mut self, from: u32, to: u32, point: [f32; 3]) {
        self.add(from, point, -1);
        self.add(to, point, 1);
    }

    fn add(&mut self, label: u32, point: [f32; 3], sign: i64) {
        let cluster = &mut self.clusters[label as usize];
        for (sum, v) in cluster.sum.iter_mut().zip(point) {
            *sum += sign * (f64::from(v) * self.scale) as i64;
        }
        cluster.count = cluster.count.wrapping_add_signed(sign as i32);
        if !cluster.changed {
            cluster.changed = true;
            self.changed.push(label);
        }
    }

    /// Moves the centres of changed clusters to their mean; says whether any moved.
    ///
    /// A cluster without points keeps its centre and may win points back.
    pub(super) fn update(&mut self, centres: &mut [Centre]) -> bool {
        centres.iter_mut().for_each(|centre| centre.moved = false);
        let mut any = false;
        for label in self.changed.drain(..) {
            let cluster = &mut self.clusters[label as usize];
            cluster.changed = false;
            if cluster.count == 0 {
                continue;
            }
            let steps = f64::from(cluster.count) * self.scale;
            let mean = cluster.sum.map(|sum| (sum as f64 / steps) as f32);
            let centre = &mut centres[label as usize];
            centre.moved = centre.at != mean;
            centre.at = mean;
            any |= centre.moved;
        }
        any
    }
}

/// Largest power of two that keeps the sum of all points below 2⁶².
fn scale(tree: &Tree) -> f64 {
    let largest = (0..tree.len()).flat_map(|i| tree.point(i)).fold(f32::MIN_POSITIVE, |m, v| m.max(v.abs()));
    let total = f64::from(largest) * tree.len() as f64;
    // The exponent field of the total: total < 2^(field - 1022).
    let field = (total.to_bits() >> 52) as i64;
    let exponent = 62 - (field - 1022);
    f64::from_bits(((exponent + 1023) as u64) << 52)
}
