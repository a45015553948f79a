//! Squares of the ground: the unit in which surfaces are kept and changes are followed.
//!
//! A tile is so wide that no step of the computation reaches farther: what changes in a tile changes the next step's result
//! in that tile and the eight around it, and nowhere else.

use std::ops::Range;

use crate::grid::Grid;
use crate::ground::{half_window, reach_m};
use crate::surfel::{SPREAD_M, Span, Surfel};

/// The tiles of a grid, with one more on each side for what leans in.
#[derive(Debug, Clone)]
pub(crate) struct Tiles {
    side: i32,
    low: [i32; 2],
    size: [usize; 2],
    /// Column of the tiles that a column of cells is in; and the same for rows.
    of_cells: [Vec<usize>; 2],
    /// The cells of every tile.
    patches: Vec<Patch>,
    /// What is in every tile.
    stacks: Vec<Stack>,
}

/// The pieces of surface of a tile, cubic metre after cubic metre.
#[derive(Debug, Clone, Default)]
struct Stack {
    /// Cubic metres in ascending order, with the number of the first of their pieces.
    blocks: Vec<([i32; 3], usize)>,
    surfels: Vec<Surfel>,
    /// What each of them covers, once more: most of those around a tile do not reach into it, and need not be read to see that.
    spans: Vec<Span>,
}

impl Stack {
    /// Where the pieces of a cubic metre are, or would be.
    fn range(&self, at: usize) -> Range<usize> {
        let first = |at: usize| self.blocks.get(at).map_or(self.surfels.len(), |(_, first)| *first);
        first(at)..first(at + 1)
    }

    fn find(&self, block: [i32; 3]) -> Result<usize, usize> {
        self.blocks.binary_search_by_key(&block, |(block, _)| *block)
    }

    /// The pieces that cover a cell of a patch.
    fn over<'a>(&'a self, patch: &'a Patch) -> impl Iterator<Item = &'a Surfel> {
        let both = self.spans.iter().zip(&self.surfels);
        both.filter(|(span, _)| patch.meets(span)).map(|(_, surfel)| surfel)
    }

    fn put(&mut self, block: [i32; 3], surfels: &[Surfel]) {
        let at = match self.find(block) {
            Ok(at) => at,
            Err(at) => {
                self.blocks.insert(at, (block, self.range(at).start));
                at
            }
        };
        let range = self.range(at);
        if range.len() == surfels.len() && !surfels.is_empty() {
            self.spans[range.clone()].iter_mut().zip(surfels).for_each(|(span, surfel)| *span = surfel.span());
            self.surfels[range].copy_from_slice(surfels);
            return;
        }
        let before = range.len();
        self.spans.splice(range.clone(), surfels.iter().map(Surfel::span));
        self.surfels.splice(range, surfels.iter().copied());
        for (_, first) in &mut self.blocks[at + 1..] {
            *first = *first + surfels.len() - before;
        }
        if surfels.is_empty() {
            self.blocks.remove(at);
        }
    }
}

impl Tiles {
    pub(crate) fn of(grid: &Grid) -> Self {
        let side = SPREAD_M.max(reach_m(grid.resolution)).ceil() as i32;
        let corner = grid.corner();
        let high: [f64; 2] = std::array::from_fn(|i| corner[i] + grid.size[i] as f64 * grid.resolution);
        let tile = |v: f64| (v / f64::from(side)).floor() as i32;
        let low = corner.map(|v| tile(v) - 1);
        let size: [usize; 2] = std::array::from_fn(|i| (tile(high[i]) + 2 - low[i]) as usize);
        let stacks = vec![Stack::default(); size[0] * size[1]];
        let (of_cells, patches) = (grid.size.map(|n| vec![0; n]), Vec::new());
        let mut tiles = Self { side, low, size, of_cells, patches, stacks };
        for axis in 0..2 {
            for tile in 0..size[axis] {
                let from = f64::from((low[axis] + tile as i32) * side);
                for cell in grid.between(axis, from, from + f64::from(side)) {
                    tiles.of_cells[axis][cell] = tile;
                }
            }
        }
        tiles.patches = (0..tiles.len()).map(|tile| tiles.patch_of(grid, tile)).collect();
        tiles
    }

    /// The tile that holds the cell of a column and a row.
    pub(crate) fn of_cell(&self, column: usize, row: usize) -> usize {
        self.of_cells[1][row] * self.size[0] + self.of_cells[0][column]
    }

    pub(crate) fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Columns and rows of tiles.
    pub(crate) fn size(&self) -> [usize; 2] {
        self.size
    }

    fn tile_of(&self, block: [i32; 2]) -> Option<usize> {
        let at: [i64; 2] = std::array::from_fn(|i| i64::from(block[i].div_euclid(self.side)) - i64::from(self.low[i]));
        let inside = (0..2).all(|i| (0..self.size[i] as i64).contains(&at[i]));
        inside.then(|| at[1] as usize * self.size[0] + at[0] as usize)
    }

    /// The tile that holds a cubic metre.
    pub(crate) fn of_block(&self, block: [i32; 3]) -> Option<usize> {
        self.tile_of([block[0], block[1]])
    }

    /// Calls for every tile from one cubic metre to another.
    pub(crate) fn between(&self, low: [i32; 3], high: [i32; 3], mut each: impl FnMut(usize)) {
        let last: [i32; 2] = std::array::from_fn(|i| self.low[i] + self.size[i] as i32 - 1);
        let from: [i32; 2] = std::array::from_fn(|i| low[i].div_euclid(self.side).max(self.low[i]));
        let to: [i32; 2] = std::array::from_fn(|i| high[i].div_euclid(self.side).min(last[i]));
        for y in from[1]..=to[1] {
            for x in from[0]..=to[0] {
                each((y - self.low[1]) as usize * self.size[0] + (x - self.low[0]) as usize);
            }
        }
    }

    /// Puts these pieces in place of those of a cubic metre of a tile.
    pub(crate) fn put(&mut self, tile: usize, block: [i32; 3], surfels: &[Surfel]) {
        self.stacks[tile].put(block, surfels);
    }

    /// The pieces of a cubic metre.
    pub(crate) fn surfels_of(&self, tile: usize, block: [i32; 3]) -> &[Surfel] {
        let stack = &self.stacks[tile];
        stack.find(block).map_or(&[], |at| &stack.surfels[stack.range(at)])
    }

    /// Puts these pieces, by ascending cubic metre, in place of all.
    pub(crate) fn put_all(&mut self, surfels: &[([i32; 3], Vec<Surfel>)]) {
        self.stacks.iter_mut().for_each(|stack| *stack = Stack::default());
        for (block, there) in surfels.iter().filter(|(_, there)| !there.is_empty()) {
            let Some(tile) = self.of_block(*block) else { continue };
            let stack = &mut self.stacks[tile];
            // Ascending: it goes behind all others.
            stack.blocks.push((*block, stack.surfels.len()));
            stack.spans.extend(there.iter().map(Surfel::span));
            stack.surfels.extend_from_slice(there);
        }
    }

    /// Rows of the cells in a row of tiles.
    pub(crate) fn rows_of(&self, band: usize) -> Range<usize> {
        self.patches[band * self.size[0]].rows()
    }

    /// Values of cells, so many each, cut by rows of tiles.
    pub(crate) fn bands<'a, T>(&self, grid: &Grid, each: usize, mut values: &'a mut [T]) -> Vec<&'a mut [T]> {
        let rows = (0..self.size[1]).map(|band| self.rows_of(band).len());
        rows.map(|rows| values.split_off_mut(..rows * grid.size[0] * each).unwrap_or_default()).collect()
    }

    /// A tile and those around it.
    pub(crate) fn around(&self, tile: usize) -> impl Iterator<Item = usize> + use<> {
        let [width, height] = self.size;
        let (column, row) = (tile % width, tile / width);
        (row.saturating_sub(1)..(row + 2).min(height))
            .flat_map(move |y| (column.saturating_sub(1)..(column + 2).min(width)).map(move |x| y * width + x))
    }

    /// How many tiles away from a cell its height and its steps depend on the ground.
    pub(crate) fn beside(&self, grid: &Grid) -> usize {
        // A hair less: cells do not divide a metre exactly.
        ((half_window(grid) + 1) as f64 * grid.resolution / f64::from(self.side) - 1e-9).ceil() as usize
    }

    /// Side of a tile, whole metres.
    pub(crate) fn side(&self) -> i32 {
        self.side
    }

    /// Pieces that cover a cell of a tile.
    pub(crate) fn surfels_near(&self, tile: usize) -> impl Iterator<Item = &Surfel> {
        self.around(tile).flat_map(move |other| self.stacks[other].over(&self.patches[tile]))
    }

    /// The square that a tile is, by two corners.
    pub(crate) fn bounds(&self, tile: usize) -> [[f64; 2]; 2] {
        let at = [tile % self.size[0], tile / self.size[0]];
        let low: [f64; 2] = std::array::from_fn(|i| f64::from((self.low[i] + at[i] as i32) * self.side));
        [low, low.map(|v| v + f64::from(self.side))]
    }

    /// Columns and rows of the cells whose centres are in a tile.
    pub(crate) fn cells(&self, tile: usize) -> &Patch {
        &self.patches[tile]
    }

    fn patch_of(&self, grid: &Grid, tile: usize) -> Patch {
        let [low, high] = self.bounds(tile);
        Patch { columns: grid.between(0, low[0], high[0]), rows: grid.between(1, low[1], high[1]), width: grid.size[0] }
    }
}

/// A rectangle of cells.
#[derive(Debug, Clone)]
pub(crate) struct Patch {
    columns: Range<usize>,
    rows: Range<usize>,
    width: usize,
}

impl Patch {
    pub(crate) fn len(&self) -> usize {
        self.columns.len() * self.rows.len()
    }

    /// Whether one of its cells is among others.
    fn meets(&self, [first, end]: &Span) -> bool {
        // Without a branch for each: which of them fails is as good as random.
        ((first[0] as usize) < self.columns.end)
            & ((first[1] as usize) < self.rows.end)
            & (end[0] as usize > self.columns.start)
            & (end[1] as usize > self.rows.start)
    }

    pub(crate) fn columns(&self) -> Range<usize> {
        self.columns.clone()
    }

    pub(crate) fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// The cells, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        let (columns, width) = (self.columns.clone(), self.width);
        self.rows.clone().flat_map(move |row| columns.clone().map(move |column| row * width + column))
    }

    /// The cells, in order, with their centres.
    pub(crate) fn places(&self, grid: &Grid) -> impl Iterator<Item = (usize, [f64; 2])> {
        let (columns, width) = (self.columns.clone(), self.width);
        let at = move |row: usize, column: usize| (row * width + column, grid.center_at([column, row]));
        self.rows.clone().flat_map(move |row| columns.clone().map(move |column| at(row, column)))
    }

    /// Which of them a cell is.
    #[cfg(test)]
    pub(crate) fn find(&self, cell: usize) -> Option<usize> {
        let (column, row) = (cell % self.width, cell / self.width);
        let inside = self.columns.contains(&column) && self.rows.contains(&row);
        inside.then(|| (row - self.rows.start) * self.columns.len() + column - self.columns.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_share_out_the_cells_of_any_resolution() {
        for (resolution, high) in [(0.2, [7.0, 5.0]), (0.3, [4.1, 9.7]), (1.7, [20.0, 13.0]), (0.07, [2.0, 3.0])] {
            let grid = Grid::covering([-3.3, 1.9], high, resolution).unwrap();
            let tiles = Tiles::of(&grid);
            let mut seen = vec![0; grid.len()];
            for tile in 0..tiles.len() {
                let patch = tiles.cells(tile);
                for (k, cell) in patch.iter().enumerate() {
                    seen[cell] += 1;
                    assert_eq!(patch.find(cell), Some(k));
                }
            }
            assert!(seen.iter().all(|n| *n == 1), "{resolution}");
        }
    }
}
