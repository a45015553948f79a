//! Continuous queries: the posterior at any points, in batches grouped by block.

use rayon::prelude::*;

use super::belief::{Beliefs, Terms};
use super::evaluate::{Hits, Places, ROW, Scratch};
use crate::config::Distance;
use crate::map::{BlockKey, Core, PrimitiveSet};
use crate::primitive::block_of;

/// Points of a block evaluated together.
const GROUP: usize = 512;

/// Beliefs at world positions. Positions that are not finite are unobserved.
pub(crate) fn query(set: &PrimitiveSet, terms: Terms, distance: Distance, points: &[[f64; 3]]) -> Beliefs {
    let mut order: Vec<(BlockKey, u32)> = points
        .par_iter()
        .enumerate()
        .filter(|(_, point)| point.iter().all(|v| v.is_finite()))
        .map(|(i, point)| (BlockKey(block_of(*point)), i as u32))
        .collect();
    order.par_sort_unstable();
    let groups: Vec<&[(BlockKey, u32)]> =
        order.chunk_by(|a, b| a.0 == b.0).flat_map(|group| group.chunks(GROUP)).collect();
    let stride = terms.stride();
    let mut sums = vec![0.0_f32; points.len() * stride];
    // Evaluated in parallel by group, then put where each point belongs.
    let evaluated: Vec<Vec<f32>> = groups
        .par_iter()
        .map_init(Scratch::default, |scratch, group| {
            evaluate_group(set, terms, distance, points, group, scratch);
            let mut rows = Vec::with_capacity(group.len() * stride);
            for (sums, mass, weighted) in scratch.rows().iter().flat_map(|rows| (0..group.len()).map(|i| rows.get(i))) {
                rows.extend_from_slice(sums);
                rows.extend([mass, weighted]);
            }
            rows
        })
        .collect();
    for (group, rows) in groups.iter().zip(evaluated) {
        for ((_, i), row) in group.iter().zip(rows.chunks_exact(stride)) {
            sums[*i as usize * stride..][..stride].copy_from_slice(row);
        }
    }
    Beliefs::of_sums(terms, sums)
}

fn evaluate_group(
    set: &PrimitiveSet,
    terms: Terms,
    distance: Distance,
    points: &[[f64; 3]],
    group: &[(BlockKey, u32)],
    scratch: &mut Scratch,
) {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    let mut chunks = vec![[[0.0; ROW]; 3]; group.len().div_ceil(ROW)];
    for (place, (_, i)) in group.iter().enumerate() {
        for (axis, v) in points[*i as usize].into_iter().enumerate() {
            low[axis] = low[axis].min(v);
            high[axis] = high[axis].max(v);
            chunks[place / ROW][axis][place % ROW] = v;
        }
    }
    set.supports_in(low, high, &mut scratch.found);
    scratch.sum_all_classes(terms);
    scratch.evaluate(set, distance, group.len(), &Group { chunks, len: group.len() }, None);
}

/// Points of one block, eight by eight.
struct Group {
    chunks: Vec<[[f64; ROW]; 3]>,
    len: usize,
}

impl Places for Group {
    #[inline(always)]
    fn within(&self, core: &Core, hits: &mut Hits) {
        for (number, chunk) in self.chunks.iter().enumerate() {
            let [x, y, z]: [[f32; ROW]; 3] =
                std::array::from_fn(|axis| std::array::from_fn(|lane| (chunk[axis][lane] - core.mean[axis]) as f32));
            let first = number * ROW;
            let filled = 0xff_u8 >> (ROW - ROW.min(self.len - first));
            hits.offer(&x, &y, &z, filled, first as u16);
        }
    }

    #[inline(always)]
    fn row_of(&self, number: u16) -> usize {
        usize::from(number)
    }
}
