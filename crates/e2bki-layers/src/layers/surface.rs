//! The ground of the marked cells: the lowest surface, what of it is ground, and the plane.

use rayon::prelude::*;

use super::Layers;
use super::marks::{Marks, ROWS};
use crate::cell::Cell;
use crate::ground::{self, Floor};

impl Layers {
    /// The lowest traversable surface of the marked cells. Returns the cells where it is another than before, and the tiles
    /// whose floor is.
    pub(super) fn find_samples(&mut self, marks: &Marks) -> (Marks, Vec<usize>) {
        let (tiles, grid) = (&self.tiles, &self.grid);
        let mut changed = Marks::none(grid);
        let bands = tiles.bands(grid, &mut self.sample).into_par_iter().zip(tiles.bands(grid, changed.cells_mut()));
        let floors = self.floors.par_chunks_mut(tiles.size()[0]);
        let of_bands = bands.zip(floors).enumerate().map(|(band, ((sample, changed), floors))| {
            let (mut found, mut lowered) = (Vec::new(), Vec::new());
            for (column, floor) in floors.iter_mut().enumerate() {
                let tile = band * tiles.size()[0] + column;
                let patch = tiles.cells(tile);
                if !patch.iter().any(|cell| marks.has(cell)) {
                    continue;
                }
                found.clear();
                found.resize(patch.len(), f32::NAN);
                for surfel in tiles.surfels_near(grid, tile).filter(|surfel| surfel.lethal < 0.5) {
                    surfel.cover(grid, patch, |k, _, height, _| found[k] = found[k].min(height as f32));
                }
                let (first, mut differs) = (patch.rows().start * grid.size[0], false);
                for (cell, height) in patch.iter().zip(&found).filter(|(cell, _)| marks.has(*cell)) {
                    let height = if height.is_nan() { f32::NAN } else { ground::rounded(f64::from(*height)) as f32 };
                    if sample[cell - first].to_bits() != height.to_bits() {
                        sample[cell - first] = height;
                        changed[cell - first] = true;
                        differs = true;
                    }
                }
                if differs {
                    let known = patch.iter().map(|cell| (cell, sample[cell - first]));
                    let lowest = Floor::of(known.map(|(cell, height)| (grid.center(cell), height)));
                    if std::mem::replace(floor, lowest) != lowest {
                        lowered.push(tile);
                    }
                }
            }
            lowered
        });
        let lowered: Vec<Vec<usize>> = of_bands.collect();
        (changed, lowered.concat())
    }

    /// Takes the samples that are ground, where samples or the floors around are others than before; returns the cells where
    /// that made a difference, and those that have ground now and did not, or the other way round.
    pub(super) fn admit_ground(&mut self, samples: &Marks, floors: &[usize]) -> (Marks, Marks) {
        let mut marks = samples.clone();
        for patch in floors.iter().flat_map(|tile| self.tiles.around(*tile)).map(|tile| self.tiles.cells(tile)) {
            marks.add_range(patch.columns(), patch.rows());
        }
        let mut ground = std::mem::take(&mut self.ground);
        let admitted = |cell: usize| {
            let (at, height) = (self.grid.center(cell).map(|v| v as f32), self.sample[cell]);
            let tile = self.tiles.of_cell(cell % self.grid.size[0], cell / self.grid.size[0]);
            let mut around = self.tiles.around(tile).map(|other| &self.floors[other]);
            if height.is_finite() && around.all(|floor| floor.admits(at, height)) { height } else { f32::NAN }
        };
        let before = ground.clone();
        let changed = marks.update(&mut ground, admitted, |a, b| a.to_bits() == b.to_bits());
        self.ground = ground;
        let flipped = |cell: usize| changed.has(cell) && self.ground[cell].is_nan() != before[cell].is_nan();
        let mut flips = Marks::none(&self.grid);
        flips.cells_mut().iter_mut().enumerate().for_each(|(cell, mark)| *mark = flipped(cell));
        (changed, flips)
    }

    /// Fits planes where ground within their window is another than before; returns the cells whose height is another than
    /// before, and those whose plane is.
    pub(super) fn fit_ground(&mut self, admitted: &Marks) -> (Marks, Marks) {
        let (grid, half) = (self.grid, ground::half_window(&self.grid));
        let beside = admitted.grown([half, 0]);
        let ground = &self.ground;
        let rows = &mut self.rows;
        beside.update(rows, |cell| ground::row_sums(&grid, ground, cell, half), |_, _| false);
        let around = beside.grown([0, half]);
        let (rows, mut raised, mut tilted) = (&self.rows, Marks::none(&grid), Marks::none(&grid));
        let width = grid.size[0];
        let known = self.cells.par_chunks_mut(width).zip(self.heights.par_chunks_mut(width));
        let all = known.zip(raised.rows_mut().zip(tilted.rows_mut())).enumerate().with_min_len(ROWS);
        all.for_each(|(row, ((cells, heights), (raised, tilted)))| {
            for (column, known) in cells.iter_mut().enumerate().filter(|(column, _)| around.has(row * width + column)) {
                let fitted = Cell::of_ground(ground::fit(&grid, rows, row * width + column, half));
                raised[column] = known.height.to_bits() != fitted.height.to_bits();
                (known.height, heights[column]) = (fitted.height, fitted.height);
                let plane = |c: &Cell| [c.height_std, c.slope, c.slope_std, c.roughness].map(f32::to_bits);
                tilted[column] = plane(known) != plane(&fitted);
                known.height_std = fitted.height_std;
                (known.slope, known.slope_std, known.roughness) = (fitted.slope, fitted.slope_std, fitted.roughness);
            }
        });
        (raised, tilted)
    }
}
