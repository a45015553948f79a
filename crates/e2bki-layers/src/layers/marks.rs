//! Cells that are to be computed anew, and the tiles that hold any of them.

use crate::grid::Grid;
use crate::tiles::Tiles;

/// Marked cells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Marks {
    cells: Vec<bool>,
    tiles: Vec<bool>,
    /// Whether it was made with all cells marked.
    pub(super) everything: bool,
}

impl Marks {
    pub(super) fn none(tiles: &Tiles, grid: &Grid) -> Self {
        Self { cells: vec![false; grid.len()], tiles: vec![false; tiles.len()], everything: false }
    }

    pub(super) fn all(tiles: &Tiles, grid: &Grid) -> Self {
        Self { cells: vec![true; grid.len()], tiles: vec![true; tiles.len()], everything: true }
    }

    pub(super) fn has(&self, cell: usize) -> bool {
        self.cells[cell]
    }

    pub(super) fn has_tile(&self, tile: usize) -> bool {
        self.tiles[tile]
    }

    /// Marks a cell of a tile.
    pub(super) fn add(&mut self, tile: usize, cell: usize) {
        self.cells[cell] = true;
        self.tiles[tile] = true;
    }

    /// Marks a rectangle of cells.
    pub(super) fn add_range(
        &mut self,
        tiles: &Tiles,
        grid: &Grid,
        columns: std::ops::Range<usize>,
        rows: std::ops::Range<usize>,
    ) {
        if columns.is_empty() {
            return;
        }
        for row in rows {
            self.cells[row * grid.size[0] + columns.start..row * grid.size[0] + columns.end].fill(true);
            let (first, last) = (tiles.of_cell(columns.start, row), tiles.of_cell(columns.end - 1, row));
            self.tiles[first..=last].fill(true);
        }
    }

    /// The tiles that hold marked cells.
    pub(super) fn tiles(&self) -> Vec<usize> {
        (0..self.tiles.len()).filter(|tile| self.tiles[*tile]).collect()
    }

    /// All cells at most so many columns and rows away from marked ones.
    pub(super) fn grown(&self, tiles: &Tiles, grid: &Grid, [across, up]: [usize; 2]) -> Self {
        let mut grown = self.clone();
        if self.everything {
            return grown;
        }
        for tile in self.tiles() {
            for cell in tiles.cells(grid, tile).iter().filter(|cell| self.cells[*cell]) {
                let (column, row) = (cell % grid.size[0], cell / grid.size[0]);
                let columns = column.saturating_sub(across)..(column + across + 1).min(grid.size[0]);
                grown.add_range(tiles, grid, columns, row.saturating_sub(up)..(row + up + 1).min(grid.size[1]));
            }
        }
        grown
    }

    /// Marks what another has marked as well.
    pub(super) fn join(&mut self, other: &Self) {
        self.everything |= other.everything;
        self.tiles.iter_mut().zip(&other.tiles).for_each(|(mark, other)| *mark |= other);
        self.cells.iter_mut().zip(&other.cells).for_each(|(mark, other)| *mark |= other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_reaches_a_rectangle_around_every_cell_and_nothing_else() {
        let grid = Grid::covering([-3.3, 1.9], [7.0, 5.0], 0.3).unwrap();
        let tiles = Tiles::of(&grid);
        let [width, height] = grid.size;
        let mut marks = Marks::none(&tiles, &grid);
        let seeds = [0, 5 * width + 7, 9 * width - 1, grid.len() - 1];
        seeds.iter().for_each(|cell| marks.add(tiles.of_cell(cell % width, cell / width), *cell));
        let grown = marks.grown(&tiles, &grid, [2, 1]);
        for cell in 0..grid.len() {
            let near =
                |seed: &usize| (seed % width).abs_diff(cell % width) <= 2 && (seed / width).abs_diff(cell / width) <= 1;
            assert_eq!(grown.has(cell), seeds.iter().any(near), "cell {cell} of {width} × {height}");
            let tile = tiles.of_cell(cell % width, cell / width);
            assert!(!grown.has(cell) || grown.tiles().contains(&tile));
            assert!(tiles.cells(&grid, tile).find(cell).is_some());
        }
        marks.join(&Marks::all(&tiles, &grid));
        assert!(marks.everything && marks.has(1) && marks.tiles().len() == tiles.len());
    }
}
