//! Cells that are to be computed anew.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use crate::grid::Grid;

/// Rows of the grid that a thread takes at a time, at least and at most: few, because those of an area have work and the others
/// have none.
pub(super) const ROWS: usize = 4;
pub(super) const MOST_ROWS: usize = 8;
/// Rows of tiles, for the same reason.
pub(super) const BANDS: usize = 1;

/// Marks that are not in use: those of a grid take more memory than the system hands out cheaply, many times with every refresh.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<Vec<Vec<bool>>>);

impl Spare {
    /// Of grids with more cells than this, nothing is kept.
    const MOST_CELLS: usize = 1 << 20;
    /// How many are in use at a time, and a few more.
    const MOST: usize = 24;

    fn take(&self, len: usize) -> Vec<bool> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.filter(|cells| cells.len() == len).unwrap_or_else(|| vec![false; len])
    }

    /// Takes back what has no marks.
    fn give(&self, cells: Vec<bool>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < Self::MOST {
            kept.push(cells);
        }
    }
}

/// Marked cells.
#[derive(Debug)]
pub(super) struct Marks {
    cells: Vec<bool>,
    width: usize,
    /// Rows outside of which none is marked.
    rows: Range<usize>,
    /// Whether it was made with all cells marked.
    pub(super) everything: bool,
    /// Where the memory comes from and goes.
    spare: Arc<Spare>,
}

impl Drop for Marks {
    fn drop(&mut self) {
        if self.cells.len() <= Spare::MOST_CELLS {
            self.cells[self.rows.start * self.width..self.rows.end * self.width].fill(false);
            self.spare.give(std::mem::take(&mut self.cells));
        }
    }
}

impl Clone for Marks {
    fn clone(&self) -> Self {
        let mut copy = self.like(self.rows.clone());
        let part = self.rows.start * self.width..self.rows.end * self.width;
        copy.cells[part.clone()].copy_from_slice(&self.cells[part]);
        copy.everything = self.everything;
        copy
    }
}

impl Marks {
    /// None is marked, and none will be outside of these rows but by [`Self::add`] and [`Self::add_range`].
    pub(super) fn none(grid: &Grid, spare: &Arc<Spare>, rows: Range<usize>) -> Self {
        let cells = spare.take(grid.len());
        Self { cells, width: grid.size[0], rows, everything: false, spare: spare.clone() }
    }

    pub(super) fn all(grid: &Grid, spare: &Arc<Spare>) -> Self {
        let mut all = Self::none(grid, spare, 0..grid.size[1]);
        all.cells.fill(true);
        all.everything = true;
        all
    }

    /// As many cells, none of them marked.
    fn like(&self, rows: Range<usize>) -> Self {
        let (cells, spare) = (self.spare.take(self.cells.len()), self.spare.clone());
        Self { cells, width: self.width, rows, everything: false, spare }
    }

    pub(super) fn has(&self, cell: usize) -> bool {
        self.cells[cell]
    }

    /// The marks of a row.
    pub(super) fn row(&self, row: usize) -> &[bool] {
        &self.cells[row * self.width..][..self.width]
    }

    /// Rows outside of which none is marked.
    pub(super) fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Whether one of these rows may have marks.
    pub(super) fn may_meet(&self, rows: &Range<usize>) -> bool {
        self.rows.start < rows.end && rows.start < self.rows.end
    }

    /// Rows between which some may be marked, too.
    pub(super) fn widen(&mut self, rows: &Range<usize>) {
        if self.rows.is_empty() {
            self.rows = rows.clone();
        } else if !rows.is_empty() {
            self.rows = self.rows.start.min(rows.start)..self.rows.end.max(rows.end);
        }
    }

    /// Marks a cell.
    pub(super) fn add(&mut self, cell: usize) {
        let row = cell / self.width;
        self.widen(&(row..row + 1));
        self.cells[cell] = true;
    }

    /// Marks a rectangle of cells.
    pub(super) fn add_range(&mut self, columns: Range<usize>, rows: Range<usize>) {
        self.widen(&rows);
        for row in rows {
            self.cells[row * self.width + columns.start..row * self.width + columns.end].fill(true);
        }
    }

    pub(super) fn cells_mut(&mut self) -> &mut [bool] {
        &mut self.cells
    }

    /// The cells of [`Self::rows`] by row, to be marked by several threads.
    pub(super) fn rows_mut(&mut self) -> impl IndexedParallelIterator<Item = &mut [bool]> {
        rows_of(&mut self.cells, self.width, self.rows.clone())
    }

    /// All cells at most so many columns and rows away from marked ones.
    pub(super) fn grown(&self, [across, up]: [usize; 2]) -> Self {
        if self.everything || self.rows.is_empty() {
            return self.clone();
        }
        let (width, height) = (self.width, self.cells.len() / self.width);
        let rows = self.rows.start.saturating_sub(up)..(self.rows.end + up).min(height);
        let first = rows.start;
        let mut grown = self.like(rows);
        grown.rows_mut().enumerate().with_min_len(ROWS).with_max_len(MOST_ROWS).for_each(|(row, marks)| {
            let row = first + row;
            let mut tall = vec![false; width];
            for other in row.saturating_sub(up).max(self.rows.start)..(row + up + 1).min(self.rows.end) {
                tall.iter_mut().zip(self.row(other)).for_each(|(mark, other)| *mark |= other);
            }
            marks.copy_from_slice(&tall);
            for shift in 1..(across + 1).min(width) {
                marks[shift..].iter_mut().zip(&tall).for_each(|(mark, other)| *mark |= other);
                marks.iter_mut().zip(&tall[shift..]).for_each(|(mark, other)| *mark |= other);
            }
        });
        grown
    }

    /// Marks what is new as well, and takes of all marks those that are wanted.
    pub(super) fn take_with(&mut self, new: &Self, wanted: &Self) -> Self {
        self.join(new);
        if wanted.everything {
            let none = self.like(0..0);
            return std::mem::replace(self, none);
        }
        let first = self.rows.start.max(wanted.rows.start);
        let rows = first..self.rows.end.min(wanted.rows.end).max(first);
        let part = rows.start * self.width..rows.end * self.width;
        let mut taken = self.like(rows);
        let marks = self.cells[part.clone()].iter_mut().zip(&mut taken.cells[part.clone()]);
        for ((mark, taken), wanted) in marks.zip(&wanted.cells[part]) {
            *taken = *mark & *wanted;
            *mark &= !*wanted;
        }
        taken
    }

    /// Marks what another has marked as well.
    pub(super) fn join(&mut self, other: &Self) {
        self.everything |= other.everything;
        self.widen(&other.rows);
        let part = other.rows.start * self.width..other.rows.end * self.width;
        self.cells[part.clone()].iter_mut().zip(&other.cells[part]).for_each(|(mark, other)| *mark |= other);
    }
}

/// Some rows of values, to be changed by several threads.
pub(super) fn rows_of<T: Send>(
    values: &mut [T],
    width: usize,
    rows: Range<usize>,
) -> impl IndexedParallelIterator<Item = &mut [T]> {
    values[rows.start * width..rows.end * width].par_chunks_mut(width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_reaches_a_rectangle_around_every_cell_and_nothing_else() {
        let grid = Grid::covering([-3.3, 1.9], [7.0, 5.0], 0.3).unwrap();
        let [width, height] = grid.size;
        let mut marks = Marks::none(&grid, &Arc::default(), 0..0);
        let seeds = [0, 5 * width + 7, 9 * width - 1, grid.len() - 1];
        seeds.iter().for_each(|cell| marks.add(*cell));
        let grown = marks.grown([2, 1]);
        for cell in 0..grid.len() {
            let near =
                |seed: &usize| (seed % width).abs_diff(cell % width) <= 2 && (seed / width).abs_diff(cell / width) <= 1;
            assert_eq!(grown.has(cell), seeds.iter().any(near), "cell {cell} of {width} × {height}");
        }
        marks.join(&Marks::all(&grid, &Arc::default()));
        assert!(marks.everything && marks.has(1));
    }

    #[test]
    fn what_is_wanted_is_taken_and_the_rest_is_due() {
        let (grid, spare) = (Grid::covering([0.0; 2], [4.0, 3.0], 1.0).unwrap(), Arc::default());
        let marked = |cells: &[usize]| {
            let mut marks = Marks::none(&grid, &spare, 0..0);
            cells.iter().for_each(|cell| marks.add(*cell));
            marks
        };
        let cells = |marks: &Marks| (0..grid.len()).filter(|cell| marks.has(*cell)).collect::<Vec<_>>();
        let mut due = marked(&[1, 9]);
        assert_eq!(cells(&due.take_with(&marked(&[2, 5]), &marked(&[5, 6]))), [5]);
        assert!(cells(&due.take_with(&marked(&[]), &marked(&[]))).is_empty());
        assert_eq!(cells(&due.take_with(&marked(&[0]), &marked(&[0, 1, 2, 3]))), [0, 1, 2]);
        assert_eq!(cells(&due.take_with(&marked(&[11]), &Marks::all(&grid, &spare))), [9, 11]);
        assert!(cells(&due).is_empty() && !due.everything);
    }
}
