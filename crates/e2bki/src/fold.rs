//! Adding primitives to the map: into the one of the same class and cube where there is one, else as a new one.

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cluster::cell_of;
use crate::config::{Clustering, Config};
use crate::error::{Error, Result};
use crate::map::{Batch, PrimitiveSet, blocks_between};
use crate::primitive::{MOST_QUANTA, Sums, checked_sum};

/// Side of the cubes in which what is of one class is added together, metres; nothing if nothing is.
pub(crate) fn cubes_of(config: &Config) -> Option<f64> {
    let by_cell = config.clustering.method == Clustering::Cells && config.clustering.merge_same_cell;
    by_cell.then_some(config.clustering.cell_size)
}

/// Adds the named rows of a batch to the set; returns how many were added to primitives that were there.
pub(crate) fn fold(set: &mut PrimitiveSet, batch: &Batch, rows: &[usize], config: &Config) -> usize {
    let rows = batch.along_curve(rows.iter().copied());
    let cubes = cubes_of(config);
    let targets: Vec<Option<u32>> = rows
        .par_iter()
        .with_min_len(512)
        .map(|row| cubes.and_then(|side| same_cell(set, &batch.cores[*row], side)))
        .collect();
    let pairs: Vec<(u32, usize)> =
        rows.iter().zip(&targets).filter_map(|(row, target)| target.map(|slot| (slot, *row))).collect();
    set.begin();
    set.fold(&pairs, batch);
    let new = rows.iter().zip(&targets).filter(|(_, target)| target.is_none()).map(|(row, _)| *row);
    let Some(side) = set.cubes() else {
        set.insert(batch, new);
        return pairs.len();
    };
    // In a sum every class and cube has one primitive, also where a batch has several rows of it: opinions of two classes
    // that rounding made equal, or cubes of another size.
    let (first, again) = first_of_each(batch, new, side);
    set.insert(batch, first);
    if again.is_empty() {
        return pairs.len();
    }
    let target = |row: &usize| same_cell(set, &batch.cores[*row], side).map(|slot| (slot, *row));
    let more: Vec<(u32, usize)> = again.iter().filter_map(target).collect();
    set.fold(&more, batch);
    pairs.len() + more.len()
}

/// Puts judged primitives back under the ids that they have; in a map that is a sum, what is of the same class and cube
/// is added together, as maps from before that was so, or moved ones, may have it.
pub(crate) fn put_back(set: &mut PrimitiveSet, batch: &Batch) -> Result<()> {
    let all = 0..batch.cores.len();
    let Some(side) = set.cubes() else {
        set.put_back(batch, all);
        return Ok(());
    };
    if let Some(row) = overfull(set, batch, &all.clone().collect::<Vec<_>>(), Some(side)).first() {
        let what = "with another one of its cube and class it would hold more than is exact".into();
        return Err(Error::State { id: batch.cores[*row].id, what });
    }
    let targets: Vec<Option<u32>> =
        batch.cores.par_iter().with_min_len(512).map(|core| same_cell(set, core, side)).collect();
    let new = all.clone().filter(|row| targets[*row].is_none());
    let (first, mut again) = first_of_each(batch, new, side);
    again.extend(all.filter(|row| targets[*row].is_some()));
    set.put_back(batch, first);
    let target = |row: &usize| same_cell(set, &batch.cores[*row], side).map(|slot| (slot, *row));
    let pairs: Vec<(u32, usize)> = again.iter().filter_map(target).collect();
    if !pairs.is_empty() {
        set.fold(&pairs, batch);
    }
    Ok(())
}

/// Rows of a batch, out of some ascending ones, that cannot be added to a set with cubes of this side: what they would be
/// part of would hold more than is exact. One after the other, so that they depend on the rows and the set alone.
pub(crate) fn overfull(set: &PrimitiveSet, batch: &Batch, rows: &[usize], cubes: Option<f64>) -> Vec<usize> {
    let classes = set.classes();
    let many = |row: &usize| batch.cores[*row].has_many(batch.row(*row, classes));
    if !set.has_many() && !rows.iter().any(many) {
        return Vec::new();
    }
    let fits = |sums: &Sums, evidence: &[i64]| sums.limits().is_ok() && evidence.iter().all(|v| *v <= MOST_QUANTA);
    let Some(side) = cubes else {
        let refused = |row: &usize| !fits(&batch.cores[*row].sums, batch.row(*row, classes));
        return rows.iter().copied().filter(refused).collect();
    };
    let mut coming: FxHashMap<([i32; 3], u16), (Sums, Vec<i64>)> = FxHashMap::default();
    let mut refused = Vec::new();
    for row in rows {
        let (core, evidence) = (&batch.cores[*row], batch.row(*row, classes));
        let key = (cell_of(core.mean, side), core.label);
        let there = || in_cell(set, key.0, key.1, side).map(|slot| (set.core(slot).sums, set.log_evidence(slot)));
        let sum = match coming.get(&key).cloned().or_else(there) {
            None => fits(&core.sums, evidence).then(|| (core.sums, evidence.to_vec())),
            Some((sums, known)) => sums.checked_add(&core.sums).zip(checked_sum(&known, evidence)),
        };
        match sum {
            Some(sum) => drop(coming.insert(key, sum)),
            None => refused.push(*row),
        }
    }
    refused
}

/// Rows of which each is the first of its class and cube, and the others.
fn first_of_each(batch: &Batch, rows: impl Iterator<Item = usize>, side: f64) -> (Vec<usize>, Vec<usize>) {
    let mut met = FxHashSet::default();
    rows.partition(|row| met.insert((cell_of(batch.cores[*row].mean, side), batch.cores[*row].label)))
}

/// The oldest primitive of the same class whose mean lies in the same cube.
fn same_cell(set: &PrimitiveSet, core: &crate::map::Core, side: f64) -> Option<u32> {
    in_cell(set, cell_of(core.mean, side), core.label, side)
}

/// The oldest primitive of a class whose mean lies in a cube.
pub(crate) fn in_cell(set: &PrimitiveSet, cell: [i32; 3], label: u16, side: f64) -> Option<u32> {
    let center = cell.map(|v| (f64::from(v) + 0.5) * side);
    // Offsets of the short records are exact to this; only what is nearer than that to a face needs a closer look.
    let (surely_in, surely_out) = ((0.5 * side - 1e-4) as f32, (0.5 * side + 1e-4) as f32);
    let mut best: Option<u32> = None;
    // Not quite half a side: means on the far faces belong to other cubes.
    let radius = 0.499_999 * side;
    for key in blocks_between(center.map(|v| v - radius), center.map(|v| v + radius)) {
        let Some(block) = set.blocks().get(key).filter(|block| block.labels & 1 << (label % 64) != 0) else { continue };
        let corner: [f32; 3] = std::array::from_fn(|i| (f64::from(key.0[i]) - center[i]) as f32);
        for near in block.near.iter().filter(|near| near.label == label) {
            let away = (0..3).map(|i| (corner[i] + near.local[i]).abs()).fold(0.0, f32::max);
            let inside = away < surely_in || (away <= surely_out && cell_of(set.core(near.slot).mean, side) == cell);
            if inside && best.is_none_or(|best| set.head(near.slot).id() < set.head(best).id()) {
                best = Some(near.slot);
            }
        }
    }
    best
}
