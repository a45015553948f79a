//! Classes at the ground, and what driving there costs.

use e2bki::Beliefs;
use rayon::prelude::*;

use super::marks::{Marks, ROWS};
use super::{Asked, Effort, Layers, Refreshed, Views};
use crate::cell::Cell;
use crate::error::Result;
use crate::traverse::{Geometry, tempered, traversability};

impl Layers {
    /// Asks for classes of cells whose height is another than before or where beliefs can differ, as far as the effort goes, and
    /// judges these and all whose plane changed or in which other things stand.
    pub(super) fn judge(
        &mut self,
        raised: &Marks,
        mut changed: Marks,
        views: &Views,
        asked: &Asked<'_>,
        effort: &Effort,
    ) -> Result<Refreshed> {
        self.waiting.begin();
        let bare = self.note_waiting(raised, &changed, views);
        let taken = self.waiting.take(&self.grid, effort);
        // A bounded number at a time: every answer has a number for each class.
        for part in taken.chunks(1 << 18) {
            let places: Vec<[f64; 3]> = part.iter().map(|cell| self.place(*cell)).collect();
            self.believe(part, &(asked.query)(&places)?, asked.calibrated, &mut changed);
        }
        let cells = bare + self.cost(&changed, asked);
        let (waiting, oldest) = self.left();
        Ok(Refreshed { cells, asked: taken.len(), waiting, oldest, everything: false })
    }

    /// How many cells wait, for their class or for the surfaces around them, and for how many refreshes the first of them have.
    fn left(&mut self) -> (usize, u32) {
        let (classes, oldest) = self.waiting.left();
        let felt = self.stale.felt(&self.tiles);
        let tiles = felt.iter().enumerate().filter(|(_, felt)| **felt).map(|(tile, _)| self.tiles.cells(tile));
        let more: usize = tiles.map(|patch| patch.iter().filter(|cell| !self.waiting.has(*cell)).count()).sum();
        (classes + more, oldest.max(self.stale.oldest()))
    }

    /// Has cells wait to be asked about; clears those that have lost their ground, and returns how many.
    fn note_waiting(&mut self, raised: &Marks, changed: &Marks, views: &Views) -> usize {
        let mut bare = 0;
        for (tile, [low, high]) in views.iter().enumerate() {
            for cell in self.tiles.cells(tile).iter() {
                let height = self.heights[cell];
                if height.is_finite() {
                    if raised.has(cell) || (height >= *low && height <= *high) {
                        self.waiting.add(cell);
                    }
                } else if raised.has(cell) || changed.has(cell) {
                    self.cells[cell] = self.cells[cell].without_ground();
                    self.probability[cell * self.classes..][..self.classes].fill(0.0);
                    self.waiting.forget(cell);
                    bare += 1;
                }
            }
        }
        bare
    }

    /// Takes over beliefs at the ground of cells in ascending order, and marks those that are others than before.
    fn believe(&mut self, part: &[usize], beliefs: &Beliefs, calibrated: bool, changed: &mut Marks) {
        let (width, classes) = (self.grid.size[0], self.classes);
        let rows = self.cells.par_chunks_mut(width).zip(self.probability.par_chunks_mut(width * classes));
        rows.zip(changed.rows_mut()).enumerate().with_min_len(ROWS).for_each(|(row, ((cells, rows), marks))| {
            let at = |cell: usize| part.partition_point(|other| *other < cell);
            let mut before = vec![0.0; classes];
            for place in at(row * width)..at((row + 1) * width) {
                let column = part[place] - row * width;
                let probability = &mut rows[column * classes..][..classes];
                before.copy_from_slice(probability);
                let class = cells[column].class;
                cells[column].believe(beliefs, place, probability, calibrated);
                // Costs depend on nothing else.
                marks[column] |= cells[column].class != class || before != probability;
            }
        });
    }

    /// What driving on the marked cells costs, as far as their ground is known; returns how many there are.
    fn cost(&mut self, changed: &Marks, asked: &Asked<'_>) -> usize {
        let (width, classes, grid) = (self.grid.size[0], self.classes, self.grid);
        let (ground, settings) = (&self.ground, &self.settings);
        let rows = self.cells.par_chunks_mut(width).zip(self.probability.par_chunks_mut(width * classes));
        let of_row = |(row, (cells, rows)): (usize, (&mut [Cell], &mut [f32]))| {
            let mut count = 0;
            for (column, known) in cells.iter_mut().enumerate() {
                let index = row * width + column;
                if !changed.has(index) || !known.height.is_finite() {
                    continue;
                }
                count += 1;
                let probability = &mut rows[column * classes..][..classes];
                // Nobody has been asked yet.
                if probability[0] == 0.0 && probability.iter().all(|p| *p == 0.0) {
                    probability.fill(1.0 / classes as f32);
                }
                let geometry = Geometry {
                    slope: f64::from(known.slope),
                    slope_std: f64::from(known.slope_std),
                    step: f64::from(known.step),
                    roughness: f64::from(known.roughness),
                    obstacle: f64::from(known.obstacle),
                };
                let found = traversability(&geometry, probability, &settings.costs, &settings.robot);
                (known.lethal, known.cost) = (found.lethal as f32, found.cost as f32);
                (known.cost_std, known.risk_cost) = (found.cost_std as f32, found.risk_cost as f32);
                let [x, y] = grid.center(index);
                let through = || (asked.free)([x, y, f64::from(known.height)]).unwrap_or(known.slope.is_finite());
                let seen = ground[index].is_finite() || through();
                known.state = known.state_if(seen);
            }
            count
        };
        rows.enumerate().with_min_len(ROWS).map(of_row).sum()
    }

    /// The ground of a cell.
    fn place(&self, cell: usize) -> [f64; 3] {
        let [x, y] = self.grid.center(cell);
        [x, y, f64::from(self.heights[cell])]
    }
}

impl Cell {
    /// Takes over the belief at its ground, and its probabilities into a row.
    fn believe(&mut self, beliefs: &Beliefs, place: usize, row: &mut [f32], calibrated: bool) {
        let belief = beliefs.get(place);
        // Once: its powers are what takes longest here.
        let (u_sem, u_spa) = (belief.semantic_uncertainty(), belief.spatial_uncertainty());
        let u = if belief.observed() { (u_sem + u_spa).min(1.0) } else { 1.0 };
        if belief.observed() {
            row.iter_mut().zip(beliefs.expectation(place)).for_each(|(to, p)| *to = p as f32);
        } else {
            row.fill(1.0 / row.len().max(1) as f32);
        }
        if let Some(label) = belief.label().filter(|_| calibrated) {
            tempered(row, label, u);
        }
        self.class = belief.label().map_or(-1, |label| label as i32);
        self.confidence = belief.label().map_or(0.0, |label| row[label]);
        (self.u_sem, self.u_spa, self.u) = (u_sem as f32, u_spa as f32, u as f32);
    }
}
