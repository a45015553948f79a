//! Adding primitives to the map: into the one of the same class and cube where there is one, else as a new one.

use rayon::prelude::*;

use crate::cluster::cell_of;
use crate::config::{Clustering, Config};
use crate::map::{Batch, PrimitiveSet};

/// Adds the named rows of a batch to the set; returns how many were added to primitives that were there.
pub(crate) fn fold(set: &mut PrimitiveSet, batch: &Batch, rows: &[usize], config: &Config) -> usize {
    let rows = batch.along_curve(rows.iter().copied());
    let by_cell = config.clustering.method == Clustering::Cells && config.clustering.merge_same_cell;
    let targets: Vec<Option<u32>> = rows
        .par_iter()
        .with_min_len(512)
        .map(|row| if by_cell { same_cell(set, &batch.cores[*row], config.clustering.cell_size) } else { None })
        .collect();
    let pairs: Vec<(u32, usize)> =
        rows.iter().zip(&targets).filter_map(|(row, target)| target.map(|slot| (slot, *row))).collect();
    set.begin();
    set.fold(&pairs, batch);
    let new = rows.iter().zip(&targets).filter(|(_, target)| target.is_none()).map(|(row, _)| *row);
    set.insert(batch, new);
    pairs.len()
}

/// The oldest primitive of the same class whose mean lies in the same cube.
fn same_cell(set: &PrimitiveSet, core: &crate::map::Core, side: f64) -> Option<u32> {
    let cell = cell_of(core.mean, side);
    let center = cell.map(|v| (f64::from(v) + 0.5) * side);
    // Offsets of the short records are exact to this; only what is nearer than that to a face needs a closer look.
    let (surely_in, surely_out) = ((0.5 * side - 1e-4) as f32, (0.5 * side + 1e-4) as f32);
    let mut best: Option<u32> = None;
    // Not quite half a side: means on the far faces belong to other cubes.
    set.blocks().around(center, 0.499_999 * side, |offset, near| {
        let away = offset[0].abs().max(offset[1].abs()).max(offset[2].abs());
        if near.label != core.label || away > surely_out {
            return;
        }
        let inside = away < surely_in || cell_of(set.core(near.slot).mean, side) == cell;
        if inside && best.is_none_or(|best| set.core(near.slot).id < set.core(best).id) {
            best = Some(near.slot);
        }
    });
    best
}
