//! The ground of the marked cells: the lowest surface, what of it is ground, and the plane.

use rayon::prelude::*;

use super::Layers;
use super::marks::Marks;
use crate::cell::Cell;
use crate::ground::{self, Floor};

impl Layers {
    /// Runs over the marked cells by tile, in parallel, and puts what comes of them into place.
    pub(super) fn each<T: Send>(
        &mut self,
        marks: &Marks,
        of_tile: impl Fn(&Self, usize) -> Vec<T> + Sync,
        mut put: impl FnMut(&mut Self, usize, usize, T),
    ) {
        let tiles = marks.tiles();
        // A bounded number of tiles at a time: what is computed waits in memory to be put into place.
        for part in tiles.chunks(4096) {
            let found: Vec<Vec<T>> = part.par_iter().with_min_len(8).map(|tile| of_tile(self, *tile)).collect();
            for (tile, values) in part.iter().zip(found) {
                let patch = self.tiles.cells(&self.grid, *tile);
                for (cell, value) in patch.iter().filter(|cell| marks.has(*cell)).zip(values) {
                    put(self, *tile, cell, value);
                }
            }
        }
    }

    /// The lowest traversable surface of the marked cells. Returns the cells where it is another than before, and the tiles
    /// whose floor is.
    pub(super) fn find_samples(&mut self, marks: &Marks) -> (Marks, Vec<usize>) {
        let lowest = |layers: &Self, tile: usize| {
            let patch = layers.tiles.cells(&layers.grid, tile);
            let mut found = vec![f32::NAN; patch.len()];
            for surfel in layers.tiles.surfels_near(&layers.grid, tile).filter(|surfel| surfel.lethal < 0.5) {
                surfel.cover(&layers.grid, &patch, |k, _, height, _| found[k] = found[k].min(height as f32));
            }
            let rounded = |height: f32| {
                if height.is_nan() { f32::NAN } else { ground::rounded(f64::from(height)) as f32 }
            };
            patch.iter().zip(found).filter(|(cell, _)| marks.has(*cell)).map(|(_, height)| rounded(height)).collect()
        };
        let mut changed = Marks::none(&self.tiles, &self.grid);
        self.each(marks, lowest, |layers, tile, cell, height: f32| {
            if layers.sample[cell].to_bits() != height.to_bits() {
                layers.sample[cell] = height;
                changed.add(tile, cell);
            }
        });
        let floors = changed.tiles().into_iter().filter(|tile| self.find_floor(*tile)).collect();
        (changed, floors)
    }

    /// The lowest sample of a tile; whether it is another than before.
    fn find_floor(&mut self, tile: usize) -> bool {
        let patch = self.tiles.cells(&self.grid, tile);
        let samples = patch.iter().filter(|cell| self.sample[*cell].is_finite());
        let floor = samples.fold(Floor::NONE, |floor, cell| {
            if self.sample[cell] < floor.height {
                Floor { at: self.grid.center(cell).map(|v| v as f32), height: self.sample[cell] }
            } else {
                floor
            }
        });
        std::mem::replace(&mut self.floors[tile], floor) != floor
    }

    /// Takes the samples that are ground, where samples or the floors around are others than before; returns the cells where
    /// that made a difference.
    pub(super) fn admit_ground(&mut self, samples: &Marks, floors: &[usize]) -> Marks {
        let mut marks = samples.clone();
        for tile in floors.iter().flat_map(|tile| self.tiles.around(*tile)) {
            let patch = self.tiles.cells(&self.grid, tile);
            marks.add_range(&self.tiles, &self.grid, patch.columns(), patch.rows());
        }
        let admitted = |layers: &Self, tile: usize| {
            let floors: Vec<&Floor> = layers.tiles.around(tile).map(|other| &layers.floors[other]).collect();
            let one = |cell: usize| {
                let (at, height) = (layers.grid.center(cell).map(|v| v as f32), layers.sample[cell]);
                if floors.iter().all(|floor| floor.admits(at, height)) { height } else { f32::NAN }
            };
            let patch = layers.tiles.cells(&layers.grid, tile);
            patch.iter().filter(|cell| marks.has(*cell)).map(one).collect()
        };
        let mut changed = Marks::none(&self.tiles, &self.grid);
        self.each(&marks, admitted, |layers, tile, cell, height: f32| {
            if layers.ground[cell].to_bits() != height.to_bits() {
                layers.ground[cell] = height;
                changed.add(tile, cell);
            }
        });
        changed
    }

    /// Fits planes where ground within their window is another than before; returns the cells whose height is another than
    /// before, and those whose plane is.
    pub(super) fn fit_ground(&mut self, admitted: &Marks) -> (Marks, Marks) {
        let half = ground::half_window(&self.grid);
        let beside = admitted.grown(&self.tiles, &self.grid, [half, 0]);
        let rows = |layers: &Self, tile: usize| {
            let patch = layers.tiles.cells(&layers.grid, tile);
            let marked = patch.iter().filter(|cell| beside.has(*cell));
            marked.map(|cell| ground::row_sums(&layers.grid, &layers.ground, cell, half)).collect()
        };
        self.each(&beside, rows, |layers, _, cell, sums| layers.rows[cell] = sums);
        let around = beside.grown(&self.tiles, &self.grid, [0, half]);
        let fits = |layers: &Self, tile: usize| {
            let patch = layers.tiles.cells(&layers.grid, tile);
            let marked = patch.iter().filter(|cell| around.has(*cell));
            marked.map(|cell| Cell::of_ground(ground::fit(&layers.grid, &layers.rows, cell, half))).collect()
        };
        let mut raised = Marks::none(&self.tiles, &self.grid);
        let mut tilted = raised.clone();
        self.each(&around, fits, |layers, tile, cell, fitted: Cell| {
            let known = &mut layers.cells[cell];
            if known.height.to_bits() != fitted.height.to_bits() {
                known.height = fitted.height;
                raised.add(tile, cell);
            }
            let plane = |c: &Cell| [c.height_std, c.slope, c.slope_std, c.roughness].map(f32::to_bits);
            if plane(known) != plane(&fitted) {
                known.height_std = fitted.height_std;
                (known.slope, known.slope_std, known.roughness) = (fitted.slope, fitted.slope_std, fitted.roughness);
                tilted.add(tile, cell);
            }
        });
        (raised, tilted)
    }
}
