//! What every step of the computation has still to do where nobody reads.
//!
//! A step reads the one before a little farther away than it is wanted itself. Each is done as far as that, and what it would have to do
//! beyond waits: done at once as far as changes are felt, all steps would be done on half as much ground again.

use std::sync::Arc;

use super::Area;
use super::marks::{Marks, Spare};
use crate::grid::Grid;
use crate::ground::half_window;
use crate::tiles::Tiles;

/// Cells, by the step that has to look at them again.
#[derive(Debug, Clone)]
pub(super) struct Due {
    pub(super) samples: Marks,
    pub(super) ground: Marks,
    pub(super) planes: Marks,
    pub(super) steps: Marks,
    pub(super) standing: Marks,
    pub(super) costs: Marks,
}

impl Due {
    pub(super) fn nothing(grid: &Grid, spare: &Arc<Spare>) -> Self {
        let [samples, ground, planes, steps, standing, costs] = std::array::from_fn(|_| Marks::none(grid, spare, 0..0));
        Self { samples, ground, planes, steps, standing, costs }
    }
}

/// Cells that have to be right, by step, for somebody to read an area.
pub(super) struct Wanted {
    pub(super) samples: Marks,
    pub(super) ground: Marks,
    pub(super) planes: Marks,
    /// Steps, what stands there, and costs.
    pub(super) read: Marks,
}

impl Wanted {
    pub(super) fn of(area: &Area, grid: &Grid, tiles: &Tiles, spare: &Arc<Spare>) -> Self {
        let read = near(area, 0, grid, tiles, spare);
        // Steps look at the cells around, planes at their window, ground at the floors of the tiles around its own.
        let planes = read.grown([1, 1]);
        let ground = planes.grown([half_window(grid); 2]);
        Self { samples: near(area, 1 + tiles.beside(grid), grid, tiles, spare), ground, planes, read }
    }
}

/// The cells of the tiles at most so many tiles away from an area.
fn near(area: &Area, away: usize, grid: &Grid, tiles: &Tiles, spare: &Arc<Spare>) -> Marks {
    if *area == Area::Everywhere {
        return Marks::all(grid, spare);
    }
    let (mut near, [width, bands]) = (Marks::none(grid, spare, 0..0), tiles.size());
    let metres = away as f64 * f64::from(tiles.side());
    for band in (0..bands).map(|band| band * width..(band + 1) * width) {
        // Most rows of tiles are far away.
        let whole = [tiles.bounds(band.start)[0], tiles.bounds(band.end - 1)[1]];
        if area.is_near(whole, metres) {
            for patch in band.filter(|tile| area.is_near(tiles.bounds(*tile), metres)).map(|tile| tiles.cells(tile)) {
                near.add_range(patch.columns(), patch.rows());
            }
        }
    }
    near
}
