//! Spatial order of points: along a Z-curve through a grid over their bounding box.
//!
//! Neighbours on the curve are mostly neighbours in space, so runs of eight make small boxes, and
//! runs of 64, 512, … make nested ones. Sorting cell numbers is several times cheaper than
//! building a k-d tree, whose slightly better boxes do not earn that back in ten iterations.

use super::bounds::Bounds;
use crate::keys::three_apart;

/// Bits of a cell's place along one axis.
const BITS: u32 = 10;

/// Room below a cell number for the number of a point: any `u32`.
const INDEX_BITS: u32 = 32;

/// Points in one cell beyond which the cell gets a grid of its own: without it a single far point
/// would put all others into one cell.
const CROWD: usize = 64;

/// Below this length of the longest side (in metres) the order does not matter.
const POINT_LIKE: f64 = 1e-30;

/// A point on its way to its place.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) at: [f32; 3],
    pub(super) index: u32,
}

/// Sorts finite points along a Z-curve; those in one cell keep their order.
///
/// Every grid divides the longest side by 2¹⁰, so grids nest only as deep as f32 has room for.
pub(super) fn sort_spatially(items: &mut [Item]) {
    let bounds = Bounds::around(items.iter().map(|item| Bounds::at(item.at)));
    let (_, side) = bounds.longest();
    if side < POINT_LIKE {
        return;
    }
    let scale = (f64::from(1u32 << BITS) / side) as f32;
    let keys: Vec<u64> =
        (items.iter().zip(0u64..)).map(|(item, i)| cell(item.at, bounds.low, scale) << INDEX_BITS | i).collect();
    let keys = sort_keys(keys);

    let unsorted = items.to_vec();
    for (item, &key) in items.iter_mut().zip(&keys) {
        *item = unsorted[key as u32 as usize];
    }
    let same_cell = |a: &u64, b: &u64| a >> INDEX_BITS == b >> INDEX_BITS;
    let mut start = 0;
    for run in keys.chunk_by(same_cell) {
        let end = start + run.len();
        if run.len() > CROWD && run.len() < items.len() {
            sort_spatially(&mut items[start..end]);
        }
        start = end;
    }
}

/// Number of the grid cell of a point along the Z-curve.
#[inline]
fn cell(at: [f32; 3], low: [f32; 3], scale: f32) -> u64 {
    let place = |a: usize| {
        let place = ((at[a] - low[a]) * scale) as u32;
        three_apart(u64::from(place.min((1 << BITS) - 1)))
    };
    place(0) << 2 | place(1) << 1 | place(2)
}

/// Sorts keys by cell, then by index: a radix sort where the counting pays.
fn sort_keys(mut keys: Vec<u64>) -> Vec<u64> {
    const BUCKETS: usize = 1 << BITS;
    if keys.len() < BUCKETS / 2 {
        keys.sort_unstable();
        return keys;
    }
    let mut sorted = vec![0; keys.len()];
    for digit in 0..3 {
        let bucket = |key: u64| (key >> (INDEX_BITS + digit * BITS)) as usize % BUCKETS;
        let mut places = [0usize; BUCKETS];
        for &key in &keys {
            places[bucket(key)] += 1;
        }
        let mut sum = 0;
        for place in &mut places {
            sum += std::mem::replace(place, sum);
        }
        for &key in &keys {
            let place = &mut places[bucket(key)];
            sorted[*place] = key;
            *place += 1;
        }
        std::mem::swap(&mut keys, &mut sorted);
    }
    keys
}
