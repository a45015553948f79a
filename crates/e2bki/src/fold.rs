//! Adding primitives to the map: into the one of the same class and cube where there is one, else as a new one.

use rayon::prelude::*;

use crate::cluster::cell_of;
use crate::config::{Clustering, Config};
use crate::map::{Batch, PrimitiveSet};

/// Adds the named rows of a batch to the set; returns the slots of primitives that were added to.
pub(crate) fn fold(set: &mut PrimitiveSet, batch: &Batch, rows: &[usize], config: &Config) -> Vec<u32> {
    let by_cell = config.clustering == Clustering::Cells && config.merge_same_cell;
    let targets: Vec<Option<u32>> = rows
        .par_iter()
        .with_min_len(512)
        .map(|row| if by_cell { same_cell(set, &batch.cores[*row], config.cell_size) } else { None })
        .collect();
    let pairs: Vec<(u32, usize)> =
        rows.iter().zip(&targets).filter_map(|(row, target)| target.map(|slot| (slot, *row))).collect();
    set.begin();
    set.fold(&pairs, batch);
    let changed: Vec<u32> = pairs.iter().map(|(slot, _)| *slot).collect();
    let new = rows.iter().zip(&targets).filter(|(_, target)| target.is_none()).map(|(row, _)| *row);
    set.insert(batch, new);
    changed
}

/// The oldest primitive of the same class whose mean lies in the same cube.
fn same_cell(set: &PrimitiveSet, core: &crate::map::Core, side: f64) -> Option<u32> {
    let cell = cell_of(core.mean, side);
    let center = cell.map(|v| (f64::from(v) + 0.5) * side);
    let mut best: Option<(u64, u32)> = None;
    // Not quite half a side: means on the far faces belong to other cubes.
    set.blocks().around(center, 0.499_999 * side, |offset, near| {
        // A coarse test on the short record spares most looks at the primitive itself.
        let close = offset.iter().all(|v| f64::from(v.abs()) <= 0.51 * side);
        if near.label == core.label && close {
            let other = set.core(near.slot);
            if cell_of(other.mean, side) == cell && best.is_none_or(|(id, _)| other.id < id) {
                best = Some((other.id, near.slot));
            }
        }
    });
    best.map(|(_, slot)| slot)
}
