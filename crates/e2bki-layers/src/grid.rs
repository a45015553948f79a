//! Where the cells of a grid are: squares anchored at the origin of the world, rows from south to north.

use crate::error::{Error, Result};
use crate::whole::up;

/// Most cells of a grid: some 2 GB of layers.
pub const MOST_CELLS: usize = 1 << 24;

/// A rectangle of square cells. Cell 0 is the one of lowest x and y; the next one is to the east of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// Side of a cell, metres.
    pub resolution: f64,
    /// Column and row of cell 0, counted from the origin of the world.
    pub low: [i64; 2],
    /// Columns (along x) and rows (along y).
    pub size: [usize; 2],
}

impl Grid {
    /// The cells that meet a rectangle of the ground.
    pub fn covering(low: [f64; 2], high: [f64; 2], resolution: f64) -> Result<Self> {
        if !(0.02..=10.0).contains(&resolution) {
            return Err(Error::Refused(format!("a resolution of {resolution} m: 0.02 to 10 m are allowed")));
        }
        let limit = e2bki::WORLD_LIMIT_M;
        if !(0..2).all(|i| low[i] < high[i] && low[i] >= -limit && high[i] <= limit) {
            return Err(Error::Refused(format!(
                "a region from {low:?} to {high:?}: the second corner must lie to the north-east of the first, and both within ±{limit} m"
            )));
        }
        let first = low.map(|v| (v / resolution).floor() as i64);
        // A hair less, so that a region that ends at the edge of a cell ends there.
        let last = high.map(|v| (v / resolution - 1e-9).ceil() as i64);
        let size: [usize; 2] = std::array::from_fn(|i| (last[i] - first[i]).max(1) as usize);
        if size[0].saturating_mul(size[1]) > MOST_CELLS {
            return Err(Error::Refused(format!(
                "a grid of {} × {} cells is too large: take a coarser resolution or a smaller region",
                size[0], size[1]
            )));
        }
        Ok(Self { resolution, low: first, size })
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// Whether there are no cells; never.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Centre of a cell, metres.
    pub fn center(&self, cell: usize) -> [f64; 2] {
        self.center_at([cell % self.size[0], cell / self.size[0]])
    }

    /// Centre of the cell of a column and a row, metres.
    pub(crate) fn center_at(&self, [column, row]: [usize; 2]) -> [f64; 2] {
        [
            (self.low[0] as f64 + column as f64 + 0.5) * self.resolution,
            (self.low[1] as f64 + row as f64 + 0.5) * self.resolution,
        ]
    }

    /// The cell that holds a place, if it is in the grid.
    pub fn cell(&self, place: [f64; 2]) -> Option<usize> {
        let at: [f64; 2] = std::array::from_fn(|i| (place[i] / self.resolution).floor() - self.low[i] as f64);
        let inside = (0..2).all(|i| at[i] >= 0.0 && at[i] < self.size[i] as f64);
        inside.then(|| at[1] as usize * self.size[0] + at[0] as usize)
    }

    /// World position of the south-western corner of cell 0.
    pub fn corner(&self) -> [f64; 2] {
        self.low.map(|v| v as f64 * self.resolution)
    }

    /// Columns, or rows for `axis` 1, whose centres lie between two coordinates.
    pub(crate) fn between(&self, axis: usize, from: f64, to: f64) -> std::ops::Range<usize> {
        let index = |v: f64| up(v / self.resolution - 0.5) - self.low[axis] as f64;
        let clamp = |v: f64| v.clamp(0.0, self.size[axis] as f64) as usize;
        let first = clamp(index(from));
        first..clamp(index(to)).max(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_cell_holds_its_own_centre(
            low in prop::array::uniform2(-500.0..500.0_f64), span in prop::array::uniform2(0.1..30.0_f64), resolution in 0.1..2.0_f64,
        ) {
            let grid = Grid::covering(low, [low[0] + span[0], low[1] + span[1]], resolution).unwrap();
            for cell in 0..grid.len() {
                prop_assert_eq!(grid.cell(grid.center(cell)), Some(cell));
                let [x, y] = grid.center(cell);
                prop_assert!(grid.between(0, x - 1e-6, x + 1e-6).contains(&(cell % grid.size[0])));
                prop_assert!(grid.between(1, y - 1e-6, y + 1e-6).contains(&(cell / grid.size[0])));
            }
            prop_assert!(grid.cell(low).is_some());
        }
    }

    #[test]
    fn what_is_no_grid_is_refused() {
        assert!(Grid::covering([0.0; 2], [1.0; 2], 0.001).is_err());
        assert!(Grid::covering([0.0; 2], [0.0, 1.0], 0.1).is_err());
        assert!(Grid::covering([0.0; 2], [f64::NAN, 1.0], 0.1).is_err());
        assert!(Grid::covering([0.0; 2], [9e3; 2], 0.1).unwrap_err().to_string().contains("coarser"));
        assert_eq!(Grid::covering([0.0; 2], [1.0, 2.0], 0.2).unwrap().size, [5, 10]);
    }
}
