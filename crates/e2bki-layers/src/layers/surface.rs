//! The ground of the marked cells: the lowest surface, what of it is ground, and the plane.

use rayon::prelude::*;

use super::Layers;
use super::due::Wanted;
use super::marks::{BANDS, MOST_ROWS, Marks, ROWS, rows_of};
use crate::cell::Cell;
use crate::ground::{self, Floor};

impl Layers {
    /// The lowest traversable surface of the marked cells. Returns the cells where it is another than before, and the tiles
    /// whose floor is.
    pub(super) fn find_samples(&mut self, touched: &Marks, wanted: &Wanted) -> (Marks, Vec<usize>) {
        let marks = self.due.samples.take_with(touched, &wanted.samples);
        let (tiles, grid, spare) = (&self.tiles, &self.grid, &self.spare);
        let mut changed = Marks::none(grid, spare, marks.rows());
        let bands = tiles.bands(grid, 1, &mut self.sample).into_par_iter();
        let bands = bands.zip(tiles.bands(grid, 1, changed.cells_mut()));
        let floors = self.floors.par_chunks_mut(tiles.size()[0]);
        let of_bands = bands.zip(floors).enumerate().with_max_len(BANDS).map(|(band, ((sample, changed), floors))| {
            let (mut found, mut lowered) = (Vec::new(), Vec::new());
            if !marks.may_meet(&tiles.rows_of(band)) {
                return lowered;
            }
            for (column, floor) in floors.iter_mut().enumerate() {
                let tile = band * tiles.size()[0] + column;
                let patch = tiles.cells(tile);
                if !patch.iter().any(|cell| marks.has(cell)) {
                    continue;
                }
                found.clear();
                found.resize(patch.len(), f32::NAN);
                for surfel in tiles.surfels_near(tile).filter(|surfel| surfel.lethal < 0.5) {
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
                    let lowest = Floor::of(patch.places(grid).map(|(cell, at)| (at, sample[cell - first])));
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
    pub(super) fn admit_ground(&mut self, mut marks: Marks, lowered: &[usize], wanted: &Wanted) -> (Marks, Marks) {
        let (tiles, grid, sample, floors) = (&self.tiles, &self.grid, &self.sample, &self.floors);
        let spare = &self.spare;
        for patch in lowered.iter().flat_map(|tile| tiles.around(*tile)).map(|tile| tiles.cells(tile)) {
            marks.add_range(patch.columns(), patch.rows());
        }
        let marks = self.due.ground.take_with(&marks, &wanted.ground);
        let (mut changed, mut flips) = (Marks::none(grid, spare, marks.rows()), Marks::none(grid, spare, marks.rows()));
        let bands = tiles.bands(grid, 1, &mut self.ground).into_par_iter();
        let bands = bands.zip(tiles.bands(grid, 1, changed.cells_mut()).into_par_iter());
        let bands = bands.zip(tiles.bands(grid, 1, flips.cells_mut())).enumerate().with_max_len(BANDS);
        bands.filter(|(band, _)| marks.may_meet(&tiles.rows_of(*band))).for_each(
            |(band, ((ground, changed), flips))| {
                let mut around = Vec::new();
                for tile in band * tiles.size()[0]..(band + 1) * tiles.size()[0] {
                    let patch = tiles.cells(tile);
                    let first = patch.rows().start * grid.size[0];
                    around.clear();
                    for (cell, at) in patch.places(grid).filter(|(cell, _)| marks.has(*cell)) {
                        if around.is_empty() {
                            around.extend(tiles.around(tile).map(|other| floors[other]));
                        }
                        let (at, height) = (at.map(|v| v as f32), sample[cell]);
                        let admitted = height.is_finite() && around.iter().all(|floor| floor.admits(at, height));
                        let height = if admitted { height } else { f32::NAN };
                        let before = std::mem::replace(&mut ground[cell - first], height);
                        changed[cell - first] = before.to_bits() != height.to_bits();
                        flips[cell - first] = before.is_nan() != height.is_nan();
                    }
                }
            },
        );
        (changed, flips)
    }

    /// Fits planes where ground within their window is another than before; returns the cells whose height is another than
    /// before, and those whose plane is.
    pub(super) fn fit_ground(&mut self, admitted: &Marks, wanted: &Wanted) -> (Marks, Marks) {
        let (grid, half, width) = (self.grid, ground::half_window(&self.grid), self.grid.size[0]);
        let beside = admitted.grown([half, 0]);
        let (ground, first) = (&self.ground, beside.rows().start);
        let sums = rows_of(&mut self.rows, width, beside.rows()).enumerate();
        sums.with_min_len(ROWS).with_max_len(MOST_ROWS).for_each(|(row, sums)| {
            let (marks, ground) = (beside.row(first + row), &ground[(first + row) * width..][..width]);
            for (column, sums) in sums.iter_mut().enumerate().filter(|(column, _)| marks[*column]) {
                *sums = ground::row_sums(ground, column, half);
            }
        });
        let around = self.due.planes.take_with(&beside.grown([0, half]), &wanted.planes);
        let spare = &self.spare;
        let (mut raised, mut tilted) =
            (Marks::none(&grid, spare, around.rows()), Marks::none(&grid, spare, around.rows()));
        let (rows, first) = (&self.rows, around.rows().start);
        let known = rows_of(&mut self.cells, width, around.rows());
        let known = known.zip(rows_of(&mut self.heights, width, around.rows()));
        let all = known.zip(raised.rows_mut().zip(tilted.rows_mut())).enumerate();
        all.with_min_len(ROWS).with_max_len(MOST_ROWS).for_each(|(row, ((cells, heights), (raised, tilted)))| {
            let marks = around.row(first + row);
            for (column, known) in cells.iter_mut().enumerate().filter(|(column, _)| marks[*column]) {
                let fitted = Cell::of_ground(ground::fit(&grid, rows, [column, first + row], half));
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
