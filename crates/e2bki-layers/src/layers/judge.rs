//! Classes at the ground, and what driving there costs.

use e2bki::Beliefs;
use rayon::prelude::*;

use super::marks::Marks;
use super::{Asked, Free, Layers, NOWHERE, Refreshed, Views};
use crate::cell::Cell;
use crate::error::Result;
use crate::traverse::{Geometry, tempered, traversability};

impl Layers {
    /// Asks for the classes of cells whose height is another than before or where beliefs can differ, and judges these and all
    /// whose plane changed or in which other things stand.
    pub(super) fn judge(
        &mut self,
        raised: &Marks,
        changed: &Marks,
        views: &Views,
        asked: &Asked<'_>,
    ) -> Result<Refreshed> {
        let (mut work, mut questions, mut bare) = (Vec::new(), 0, 0);
        let stale = |tile: &usize| views[*tile] != NOWHERE || raised.has_tile(*tile) || changed.has_tile(*tile);
        for tile in (0..self.tiles.len()).filter(stale) {
            let [low, high] = views[tile];
            for cell in self.tiles.cells(&self.grid, tile).iter() {
                let height = self.cells[cell].height;
                let (moved, viewed) = (raised.has(cell), height >= low && height <= high);
                if height.is_finite() && (moved || viewed || changed.has(cell)) {
                    let place = (moved || viewed).then_some(questions);
                    questions += usize::from(place.is_some());
                    work.push((cell, place));
                } else if moved || changed.has(cell) {
                    self.cells[cell] = self.cells[cell].without_ground();
                    self.probability[cell * self.classes..][..self.classes].fill(0.0);
                    bare += 1;
                }
            }
        }
        // A bounded number at a time: every answer has a number for each class.
        let mut first = 0;
        for part in work.chunks(1 << 18) {
            let of_part = part.iter().filter(|(_, place)| place.is_some());
            let places: Vec<[f64; 3]> = of_part.map(|(cell, _)| self.place(*cell)).collect();
            let beliefs = (asked.query)(&places)?;
            let (classes, Asked { calibrated, free, .. }) = (self.classes, asked);
            let mut rows: Vec<f32> = part.iter().flat_map(|(cell, _)| self.probability(*cell)).copied().collect();
            let done: Vec<Cell> = rows
                .par_chunks_mut(classes)
                .zip(part)
                .with_min_len(512)
                .map(|(row, (cell, place))| {
                    let belief = place.map(|place| (&beliefs, place - first));
                    self.judged(*cell, belief, row, *calibrated, *free)
                })
                .collect();
            for (((cell, _), value), row) in part.iter().zip(done).zip(rows.chunks_exact(classes)) {
                self.cells[*cell] = value;
                self.probability[cell * classes..][..classes].copy_from_slice(row);
            }
            first += places.len();
        }
        Ok(Refreshed { cells: work.len() + bare, asked: questions, everything: false })
    }

    /// The ground of a cell.
    fn place(&self, cell: usize) -> [f64; 3] {
        let [x, y] = self.grid.center(cell);
        [x, y, f64::from(self.cells[cell].height)]
    }

    /// A cell with what driving there costs, by the belief at its ground if that was asked for; `row` has the probabilities of
    /// its classes, or is filled with them.
    fn judged(
        &self,
        cell: usize,
        belief: Option<(&Beliefs, usize)>,
        row: &mut [f32],
        calibrated: bool,
        free: Free<'_>,
    ) -> Cell {
        let mut known = self.cells[cell];
        if let Some((beliefs, place)) = belief {
            known.believe(beliefs, place, row, calibrated);
        }
        let geometry = Geometry {
            slope: f64::from(known.slope),
            slope_std: f64::from(known.slope_std),
            step: f64::from(known.step),
            roughness: f64::from(known.roughness),
            obstacle: f64::from(known.obstacle),
        };
        let found = traversability(&geometry, row, &self.settings.costs, &self.settings.robot);
        (known.lethal, known.cost) = (found.lethal as f32, found.cost as f32);
        (known.cost_std, known.risk_cost) = (found.cost_std as f32, found.risk_cost as f32);
        let seen = self.ground[cell].is_finite() || free(self.place(cell)).unwrap_or(known.slope.is_finite());
        known.state = known.state_if(seen);
        known
    }
}

impl Cell {
    /// Takes over the belief at its ground.
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
