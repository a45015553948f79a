//! Cells that are to be computed anew.

use std::ops::Range;

use rayon::prelude::*;

use crate::grid::Grid;

/// Rows of the grid that a thread takes at a time.
pub(super) const ROWS: usize = 4;

/// Marked cells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Marks {
    cells: Vec<bool>,
    width: usize,
    /// Whether it was made with all cells marked.
    pub(super) everything: bool,
}

impl Marks {
    pub(super) fn none(grid: &Grid) -> Self {
        Self { cells: vec![false; grid.len()], width: grid.size[0], everything: false }
    }

    pub(super) fn all(grid: &Grid) -> Self {
        Self { cells: vec![true; grid.len()], width: grid.size[0], everything: true }
    }

    pub(super) fn has(&self, cell: usize) -> bool {
        self.cells[cell]
    }

    /// Marks a cell.
    pub(super) fn add(&mut self, cell: usize) {
        self.cells[cell] = true;
    }

    /// Marks a rectangle of cells.
    pub(super) fn add_range(&mut self, columns: Range<usize>, rows: Range<usize>) {
        for row in rows {
            self.cells[row * self.width + columns.start..row * self.width + columns.end].fill(true);
        }
    }

    pub(super) fn cells_mut(&mut self) -> &mut [bool] {
        &mut self.cells
    }

    /// The cells by rows, to be marked by several threads.
    pub(super) fn rows_mut(&mut self) -> impl IndexedParallelIterator<Item = &mut [bool]> {
        self.cells.par_chunks_mut(self.width)
    }

    /// Computes the values of the marked cells; marks those that are others than before.
    pub(super) fn update<T: Send>(
        &self,
        values: &mut [T],
        anew: impl Fn(usize) -> T + Sync,
        same: impl Fn(&T, &T) -> bool + Sync,
    ) -> Self {
        let mut changed = Self { cells: vec![false; self.cells.len()], width: self.width, everything: false };
        let rows = values.par_chunks_mut(self.width).zip(changed.rows_mut()).enumerate();
        rows.with_min_len(ROWS).for_each(|(row, (values, changed))| {
            let first = row * self.width;
            for (column, value) in values.iter_mut().enumerate().filter(|(column, _)| self.cells[first + column]) {
                let new = anew(first + column);
                changed[column] = !same(value, &new);
                *value = new;
            }
        });
        changed
    }

    /// All cells at most so many columns and rows away from marked ones.
    pub(super) fn grown(&self, [across, up]: [usize; 2]) -> Self {
        let mut grown = self.clone();
        if self.everything {
            return grown;
        }
        let (width, height) = (self.width, self.cells.len() / self.width);
        grown.rows_mut().enumerate().with_min_len(ROWS).for_each(|(row, marks)| {
            let mut tall = vec![false; width];
            for other in row.saturating_sub(up)..(row + up + 1).min(height) {
                tall.iter_mut().zip(&self.cells[other * width..]).for_each(|(mark, other)| *mark |= other);
            }
            marks.copy_from_slice(&tall);
            for shift in 1..(across + 1).min(width) {
                marks[shift..].iter_mut().zip(&tall).for_each(|(mark, other)| *mark |= other);
                marks.iter_mut().zip(&tall[shift..]).for_each(|(mark, other)| *mark |= other);
            }
        });
        grown
    }

    /// Marks what another has marked as well.
    pub(super) fn join(&mut self, other: &Self) {
        self.everything |= other.everything;
        self.cells.iter_mut().zip(&other.cells).for_each(|(mark, other)| *mark |= other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_reaches_a_rectangle_around_every_cell_and_nothing_else() {
        let grid = Grid::covering([-3.3, 1.9], [7.0, 5.0], 0.3).unwrap();
        let [width, height] = grid.size;
        let mut marks = Marks::none(&grid);
        let seeds = [0, 5 * width + 7, 9 * width - 1, grid.len() - 1];
        seeds.iter().for_each(|cell| marks.add(*cell));
        let grown = marks.grown([2, 1]);
        for cell in 0..grid.len() {
            let near =
                |seed: &usize| (seed % width).abs_diff(cell % width) <= 2 && (seed / width).abs_diff(cell / width) <= 1;
            assert_eq!(grown.has(cell), seeds.iter().any(near), "cell {cell} of {width} × {height}");
        }
        marks.join(&Marks::all(&grid));
        assert!(marks.everything && marks.has(1));
    }

    #[test]
    fn only_marked_cells_are_computed_and_only_others_than_before_are_told() {
        let grid = Grid::covering([0.0, 0.0], [3.0, 2.0], 1.0).unwrap();
        let mut marks = Marks::none(&grid);
        marks.add_range(1..3, 0..2);
        let mut values = vec![0, 1, 7, 0, 4, 7];
        let changed = marks.update(&mut values, |cell| cell, |a, b| a == b);
        assert_eq!(values, [0, 1, 2, 0, 4, 5]);
        assert_eq!((0..6).filter(|cell| changed.has(*cell)).collect::<Vec<_>>(), [2, 5]);
    }
}
