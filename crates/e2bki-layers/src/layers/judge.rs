//! Classes at the ground, and what driving there costs.

use e2bki::{Belief, Beliefs, semantic_uncertainties};
use rayon::prelude::*;

use super::marks::{BANDS, MOST_ROWS, Marks, ROWS, rows_of};
use super::{Area, Asked, Layers};
use crate::cell::Cell;
use crate::error::Result;
use crate::traverse::{Geometry, tempered, traversability};

/// Cells that are asked about at a time: every answer has a number for each class.
const AT_ONCE: usize = 1 << 18;

impl Layers {
    /// Asks for classes in an area, of cells whose height is another than before or where beliefs can differ, and judges these and
    /// all whose plane changed or in which other things stand. Returns how many were judged, and asked about.
    pub(super) fn judge(
        &mut self,
        raised: &Marks,
        mut changed: Marks,
        asked: &Asked<'_>,
        area: &Area,
    ) -> Result<(usize, usize)> {
        let bare = self.note_raised(raised, &changed);
        let mut taken = self.late.take_cells(&self.tiles, area, &self.heights);
        // In the order in which the map looks at places, so that it has nothing to sort: eight cubic metres after the other.
        taken.sort_unstable_by_key(|question| (question.block.map(|v| v >> 1), question.block));
        let (mut rest, mut count) = (&taken[..], 0);
        while !rest.is_empty() {
            let (mut places, mut answers) = (Vec::new(), vec![Vec::new(); self.tiles.size()[1]]);
            while let Some((next, after)) = rest.split_first()
                && (places.is_empty() || places.len() + next.cells.len() <= AT_ONCE)
            {
                answers[next.band].extend(next.cells.iter().copied().zip(places.len()..));
                places.extend(next.cells.iter().map(|cell| self.place(*cell)));
                rest = after;
            }
            count += places.len();
            self.believe(&answers, &(asked.query)(&places)?, asked.calibrated, &mut changed);
        }
        Ok((bare + self.cost(&changed, asked), count))
    }

    /// Notes which cells have another height than before; clears those that have lost their ground, and returns how many.
    fn note_raised(&mut self, raised: &Marks, changed: &Marks) -> usize {
        let (tiles, grid, heights, classes) = (&self.tiles, &self.grid, &self.heights, self.classes);
        let (late, rises) = self.late.raised_mut();
        let bands = tiles.bands(grid, 1, &mut self.cells).into_par_iter();
        let bands = bands.zip(tiles.bands(grid, classes, &mut self.probability).into_par_iter());
        let bands = bands.zip(tiles.bands(grid, 1, late)).zip(rises.par_chunks_mut(tiles.size()[0])).enumerate();
        let bare = bands.with_max_len(BANDS).map(|(band, (((cells, probability), late), rises))| {
            let (rows, mut bare) = (tiles.rows_of(band), 0);
            if !raised.may_meet(&rows) && !changed.may_meet(&rows) {
                return 0;
            }
            let first = rows.start * grid.size[0];
            for row in rows {
                let start = row * grid.size[0];
                let marks = raised.row(row).iter().zip(changed.row(row)).enumerate();
                for (column, (raised, _)) in marks.filter(|(_, (raised, changed))| **raised || **changed) {
                    let at = start + column - first;
                    if !heights[start + column].is_finite() {
                        cells[at] = cells[at].without_ground();
                        probability[at * classes..][..classes].fill(0.0);
                        late[at] = false;
                        bare += 1;
                    } else if *raised {
                        late[at] = true;
                        rises[tiles.of_cell(column, row) % tiles.size()[0]] = true;
                    }
                }
            }
            bare
        });
        bare.sum()
    }

    /// Takes over beliefs at the ground of cells, by rows of tiles: cells with the numbers of their answers. Marks those that are
    /// others than before.
    fn believe(&mut self, asked: &[Vec<(usize, usize)>], beliefs: &Beliefs, calibrated: bool, changed: &mut Marks) {
        let (tiles, grid, classes) = (&self.tiles, &self.grid, self.classes);
        let some = asked.iter().enumerate().filter(|(_, cells)| !cells.is_empty());
        some.for_each(|(band, _)| changed.widen(&tiles.rows_of(band)));
        let bands = tiles.bands(grid, 1, &mut self.cells).into_par_iter();
        let bands = bands.zip(tiles.bands(grid, classes, &mut self.probability).into_par_iter());
        let bands = bands.zip(tiles.bands(grid, 1, changed.cells_mut()));
        bands.zip(asked).enumerate().with_max_len(BANDS).for_each(|(band, (((cells, probability), marks), asked))| {
            let start = tiles.rows_of(band).start * grid.size[0];
            let mut before = vec![0.0; classes];
            // Their powers are what takes longest here: all at once.
            let there: Vec<Belief> = asked.iter().map(|(_, place)| beliefs.get(*place)).collect();
            for (((cell, place), belief), u_sem) in asked.iter().zip(&there).zip(semantic_uncertainties(&there)) {
                let (at, strength) = (cell - start, belief.strength());
                let probability = &mut probability[at * classes..][..classes];
                before.copy_from_slice(probability);
                let class = cells[at].class;
                cells[at].believe(
                    (belief, u_sem),
                    beliefs.alpha(*place).map(|alpha| alpha / strength),
                    probability,
                    calibrated,
                );
                // Costs depend on nothing else.
                marks[at] |= cells[at].class != class || before != probability;
            }
        });
    }

    /// What driving on the marked cells costs, as far as their ground is known; returns how many there are.
    fn cost(&mut self, changed: &Marks, asked: &Asked<'_>) -> usize {
        let (width, classes, grid) = (self.grid.size[0], self.classes, self.grid);
        let (ground, settings, first) = (&self.ground, &self.settings, changed.rows().start);
        let rows = rows_of(&mut self.cells, width, changed.rows());
        let rows = rows.zip(rows_of(&mut self.probability, width * classes, changed.rows()));
        let of_row = |(row, (cells, rows)): (usize, (&mut [Cell], &mut [f32]))| {
            let (row, mut count) = (first + row, 0);
            let marks = changed.row(row);
            for (column, known) in cells.iter_mut().enumerate().filter(|(column, _)| marks[*column]) {
                if !known.height.is_finite() {
                    continue;
                }
                let index = row * width + column;
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
                let [x, y] = grid.center_at([column, row]);
                let through = || (asked.free)([x, y, f64::from(known.height)]).unwrap_or(known.slope.is_finite());
                let seen = ground[index].is_finite() || through();
                known.state = known.state_if(seen);
            }
            count
        };
        rows.enumerate().with_min_len(ROWS).with_max_len(MOST_ROWS).map(of_row).sum()
    }

    /// The ground of a cell.
    fn place(&self, cell: usize) -> [f64; 3] {
        let [x, y] = self.grid.center(cell);
        [x, y, f64::from(self.heights[cell])]
    }
}

impl Cell {
    /// Takes over the belief at its ground with its semantic uncertainty, and the expected probabilities into a row.
    fn believe(
        &mut self,
        (belief, u_sem): (&Belief, f64),
        expected: impl Iterator<Item = f64>,
        row: &mut [f32],
        calibrated: bool,
    ) {
        let u_spa = belief.spatial_uncertainty();
        let u = if belief.observed() { (u_sem + u_spa).min(1.0) } else { 1.0 };
        if belief.observed() {
            row.iter_mut().zip(expected).for_each(|(to, p)| *to = p as f32);
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
