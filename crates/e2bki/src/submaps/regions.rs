//! Rows of layers by where in the world they lie, so that what meets in a cube is summed by one thread in little memory.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::layer::Layer;

/// Side of a region, metres: its sums fit in a processor's cache.
const REGION_M: f64 = 16.0;

/// Rows that one task sorts.
const AT_ONCE: usize = 4096;

/// A square of the ground, by its number along x and y.
pub(super) type Square = [i32; 2];

/// How the world is divided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Division {
    /// Side of a cube, metres.
    pub(super) side: f64,
    /// Cubes along a side of a region.
    cubes: i32,
}

/// A region, with rows that may have a piece there: numbers of layers, and of rows in them.
pub(super) struct Region {
    pub(super) square: Square,
    pub(super) rows: Vec<(usize, Vec<u32>)>,
}

impl Division {
    pub(super) fn new(side: f64) -> Self {
        Self { side, cubes: (REGION_M / side).ceil() as i32 }
    }

    /// The region of a cube.
    pub(super) fn square(&self, cell: [i32; 3]) -> Square {
        [cell[0].div_euclid(self.cubes), cell[1].div_euclid(self.cubes)]
    }

    /// Whether a region holds a cube.
    pub(super) fn holds(&self, square: Square, cell: [i32; 3]) -> bool {
        (0..2).all(|i| {
            (0..i64::from(self.cubes)).contains(&(i64::from(cell[i]) - i64::from(square[i]) * i64::from(self.cubes)))
        })
    }

    /// All regions that rows of layers may have pieces in, in a fixed order. Pieces are looked for within so many times
    /// the spread of their row.
    pub(super) fn regions(&self, layers: &[Layer<'_>], spreads: f64) -> Vec<Region> {
        let tasks: Vec<(usize, usize)> = (0..layers.len())
            .flat_map(|number| (0..layers[number].rows().len()).step_by(AT_ONCE).map(move |first| (number, first)))
            .collect();
        let sorted = |(number, first): &(usize, usize)| {
            let layer = &layers[*number];
            let mut found: FxHashMap<Square, Vec<u32>> = FxHashMap::default();
            for row in *first..layer.rows().len().min(first + AT_ONCE) {
                let (low, high) = layer.cubes(row, spreads);
                let (low, high) = (self.square(low), self.square(high));
                for x in low[0]..=high[0] {
                    (low[1]..=high[1]).for_each(|y| found.entry([x, y]).or_default().push(row as u32));
                }
            }
            found.into_iter().collect::<Vec<(Square, Vec<u32>)>>()
        };
        let sorted: Vec<Vec<(Square, Vec<u32>)>> = tasks.par_iter().map(sorted).collect();
        let mut regions: BTreeMap<Square, Vec<(usize, Vec<u32>)>> = BTreeMap::new();
        for ((number, _), found) in tasks.iter().zip(sorted) {
            found.into_iter().for_each(|(square, rows)| regions.entry(square).or_default().push((*number, rows)));
        }
        regions.into_iter().map(|(square, rows)| Region { square, rows }).collect()
    }
}
