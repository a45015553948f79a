//! Steps and obstacles of the marked cells.

use rayon::prelude::*;

use super::Layers;
use super::due::Wanted;
use super::marks::{BANDS, MOST_ROWS, Marks, ROWS, rows_of};
use crate::cell::Cell;
use crate::grid::Grid;
use crate::obstacle::Standing;

/// Steps between a cell's ground and that of the cells around it, with the plane taken out.
fn step(grid: &Grid, ground: &[f32], heights: &[f32], [column, row]: [usize; 2]) -> f32 {
    let (width, rows) = (grid.size[0], grid.size[1]);
    let cell = row * width + column;
    let off = |cell: usize| ground[cell] - heights[cell];
    let own = off(cell);
    if own.is_nan() {
        return f32::NAN;
    }
    let mut highest = f32::NAN;
    for y in row.saturating_sub(1)..(row + 2).min(rows) {
        for x in column.saturating_sub(1)..(column + 2).min(width) {
            let difference = (off(y * width + x) - own).abs();
            if difference.is_finite() && y * width + x != cell {
                highest = highest.max(difference);
            }
        }
    }
    highest
}

impl Layers {
    /// What stands in cells whose surfaces or ground changed, and steps beside them; returns the cells where that made a
    /// difference.
    pub(super) fn find_obstacles(
        &mut self,
        touched: &Marks,
        floors: &[usize],
        admitted: Marks,
        raised: &Marks,
        wanted: &Wanted,
    ) -> Marks {
        let mut steps = admitted;
        steps.join(raised);
        let steps = self.due.steps.take_with(&steps.grown([1, 1]), &wanted.read);
        let mut changed = self.find_steps(&steps);
        let mut stand = touched.clone();
        stand.join(raised);
        if !stand.everything {
            // Without ground the floors around say what hangs too high.
            for tile in floors.iter().flat_map(|tile| self.tiles.around(*tile)) {
                self.tiles.cells(tile).iter().filter(|c| !self.heights[*c].is_finite()).for_each(|c| stand.add(c));
            }
        }
        let stand = self.due.standing.take_with(&stand, &wanted.read);
        changed.join(&self.find_standing(&stand));
        changed
    }

    fn find_steps(&mut self, marks: &Marks) -> Marks {
        let (grid, ground, heights, spare) = (&self.grid, &self.ground, &self.heights, &self.spare);
        let (mut changed, first) = (Marks::none(grid, spare, marks.rows()), marks.rows().start);
        let rows = rows_of(&mut self.cells, grid.size[0], marks.rows()).zip(changed.rows_mut()).enumerate();
        rows.with_min_len(ROWS).with_max_len(MOST_ROWS).for_each(|(row, (cells, changed))| {
            let marks = marks.row(first + row);
            for (column, known) in cells.iter_mut().enumerate().filter(|(column, _)| marks[*column]) {
                let step = step(grid, ground, heights, [column, first + row]);
                changed[column] = step.to_bits() != known.step.to_bits();
                known.step = step;
            }
        });
        changed
    }

    fn find_standing(&mut self, stand: &Marks) -> Marks {
        let (grid, tiles, settings, spare) = (&self.grid, &self.tiles, &self.settings, &self.spare);
        let (floors, mut changed) = (&self.floors, Marks::none(grid, spare, stand.rows()));
        let bands = tiles.bands(grid, 1, &mut self.cells).into_par_iter();
        let bands = bands.zip(tiles.bands(grid, 1, changed.cells_mut())).enumerate().with_max_len(BANDS);
        bands.filter(|(band, _)| stand.may_meet(&tiles.rows_of(*band))).for_each(|(band, (cells, changed))| {
            let mut found = Vec::new();
            for tile in band * tiles.size()[0]..(band + 1) * tiles.size()[0] {
                let patch = tiles.cells(tile);
                if !patch.iter().any(|cell| stand.has(cell)) {
                    continue;
                }
                // Where no ground is known, as below a crown, the lowest around tells what hangs too high to block.
                let floor = tiles.around(tile).map(|other| floors[other].height).fold(f32::INFINITY, f32::min);
                let floor = if floor.is_finite() { floor } else { f32::NAN };
                let first = patch.rows().start * grid.size[0];
                found.clear();
                found.resize(patch.len(), Standing::NOTHING);
                for surfel in tiles.surfels_near(tile).filter(|surfel| surfel.counts) {
                    surfel.cover(grid, patch, |k, cell, height, half| {
                        let known = cells[cell - first].height;
                        let ground = f64::from(if known.is_finite() { known } else { floor });
                        found[k].add(height - half - ground, height + half - ground, surfel.lethal, &settings.robot);
                    });
                }
                for (cell, standing) in patch.iter().zip(&found).filter(|(cell, _)| stand.has(*cell)) {
                    let known = &mut cells[cell - first];
                    let all = |c: &Cell| [c.obstacle, c.obstacle_low, c.obstacle_high, c.overhang].map(f32::to_bits);
                    let before = all(known);
                    known.obstacle = standing.probability;
                    (known.obstacle_low, known.obstacle_high) = standing.range();
                    known.overhang = standing.overhang();
                    changed[cell - first] = before != all(known);
                }
            }
        });
        changed
    }
}
