//! Continuous queries: the posterior at any points, in batches grouped by block.

use rayon::prelude::*;

use super::belief::{Beliefs, Terms};
use super::evaluate::Scratch;
use super::scattered::Scattered;
use crate::config::Distance;
use crate::free::Existence;
use crate::keys::BlockKey;
use crate::map::PrimitiveSet;
use crate::primitive::block_of;

/// Most points evaluated together.
const GROUP: usize = 512;
/// From so many points in eight blocks on, these are evaluated together: what reaches them is then looked for once.
const MANY: usize = 48;
/// Most groups that a thread takes at a time: they differ much in what reaches them.
const AT_ONCE: usize = 16;

/// A point: the cube of eight blocks that it is in, its block, and its number.
type Placed = ([i32; 3], BlockKey, u32);

/// Points that are evaluated together, of points in order.
fn grouped(order: &[Placed]) -> Vec<&[Placed]> {
    let mut groups = Vec::new();
    for cube in order.chunk_by(|a, b| a.0 == b.0) {
        if cube.len() >= MANY {
            groups.extend(cube.chunks(GROUP));
        } else {
            groups.extend(cube.chunk_by(|a, b| a.1 == b.1));
        }
    }
    groups
}

/// Beliefs at world positions. Positions that are not finite are unobserved.
pub(crate) fn query(
    set: &PrimitiveSet,
    terms: Terms,
    distance: Distance,
    existence: Option<&Existence<'_>>,
    points: &[[f64; 3]],
) -> Beliefs {
    let mut order: Vec<Placed> = points
        .par_iter()
        .enumerate()
        .with_min_len(1024)
        .filter(|(_, point)| point.iter().all(|v| v.is_finite()))
        .map(|(i, point)| {
            let block = block_of(*point);
            (block.map(|v| v >> 1), BlockKey(block), i as u32)
        })
        .collect();
    order.par_sort_unstable();
    let groups = grouped(&order);
    let stride = terms.stride();
    let mut sums = vec![0.0_f32; points.len() * stride];
    // Evaluated in parallel by group, then put where each point belongs.
    let evaluated: Vec<Vec<f32>> = groups
        .par_iter()
        .with_max_len(AT_ONCE)
        .map_init(Scratch::default, |scratch, group| {
            let mut places = Scattered::new(group.iter().map(|(_, _, i)| points[*i as usize]));
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
        for ((_, _, i), row) in group.iter().zip(rows.chunks_exact(stride)) {
            sums[*i as usize * stride..][..stride].copy_from_slice(row);
        }
    }
    let beliefs = Beliefs::of_sums(terms, sums);
    match existence {
        Some(existence) => beliefs.respecting(existence, points),
        None => beliefs,
    }
}
