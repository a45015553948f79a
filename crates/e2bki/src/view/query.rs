//! Continuous queries: the posterior at any points, in batches grouped by block.

use rayon::prelude::*;

use super::belief::{Beliefs, Terms};
use super::evaluate::Scratch;
use super::places::Scattered;
use crate::config::Distance;
use crate::free::Existence;
use crate::keys::BlockKey;
use crate::map::PrimitiveSet;
use crate::primitive::block_of;

/// Points of a block evaluated together.
const GROUP: usize = 512;

/// Beliefs at world positions. Positions that are not finite are unobserved.
pub(crate) fn query(
    set: &PrimitiveSet,
    terms: Terms,
    distance: Distance,
    existence: Option<&Existence<'_>>,
    points: &[[f64; 3]],
) -> Beliefs {
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
            let mut places = Scattered::new(group.iter().map(|(_, i)| points[*i as usize]));
            scratch.posterior(set, terms, distance, existence, &mut places);
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
    let beliefs = Beliefs::of_sums(terms, sums);
    match existence {
        Some(existence) => beliefs.respecting(existence, points),
        None => beliefs,
    }
}
