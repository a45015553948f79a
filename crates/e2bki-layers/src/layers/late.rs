//! What of every tile is out of date with the map, until somebody wants to know.

use e2bki::Changes;

use super::{Area, NOWHERE, Views};
use crate::grid::Grid;
use crate::tiles::Tiles;

/// What waits to be computed, by tile.
#[derive(Debug, Clone)]
pub(super) struct Late {
    /// Number of the current refresh.
    now: u32,
    /// How many tiles away a change of surfaces is felt: by the cells that they lean into, the floors around these, and the planes
    /// through that ground with the steps beside them.
    felt: usize,
    /// Cubic metres whose surfaces are others than those that were taken over.
    blocks: Vec<Vec<[i32; 3]>>,
    /// Between which heights beliefs can be others than when they were asked about.
    views: Views,
    /// Cells whose height is another than when they were asked about, and the tiles that hold some.
    raised: Vec<bool>,
    rises: Vec<bool>,
    /// Tiles whose cells were not looked at since the last change of free space.
    unseen: Vec<bool>,
    /// The refresh since which a tile may be out of date; 0 if it is not.
    since: Vec<u32>,
}

/// Cells of a tile that are to be asked about, of those whose ground is in a cubic metre.
pub(super) struct Question {
    pub(super) block: [i32; 3],
    /// The row of tiles.
    pub(super) band: usize,
    pub(super) cells: Vec<usize>,
}

/// The cubic metre that a height is in, without a call into the system's mathematics.
fn floor(height: f32) -> i32 {
    let whole = height as i32;
    whole.saturating_sub(i32::from(whole as f32 > height))
}

/// Surfaces of a cubic metre of a tile changed.
fn add_block(blocks: &mut Vec<[i32; 3]>, block: [i32; 3]) {
    // There are few in a tile, however often they change.
    if !blocks.contains(&block) {
        blocks.push(block);
    }
}

/// Beliefs can differ between two heights of a tile.
fn add_view([from, to]: &mut [f32; 2], low: f32, high: f32) {
    (*from, *to) = (from.min(low), to.max(high));
}

impl Late {
    pub(super) fn none(grid: &Grid, tiles: &Tiles) -> Self {
        Self {
            now: 0,
            felt: 2 + tiles.beside(grid),
            blocks: vec![Vec::new(); tiles.len()],
            views: vec![NOWHERE; tiles.len()],
            raised: vec![false; grid.len()],
            rises: vec![false; tiles.len()],
            unseen: vec![false; tiles.len()],
            since: vec![0; tiles.len()],
        }
    }

    /// Nothing is late: everything is about to be computed.
    pub(super) fn clear(&mut self) {
        self.blocks.iter_mut().for_each(Vec::clear);
        self.views.fill(NOWHERE);
        self.raised.fill(false);
        self.rises.fill(false);
        self.unseen.fill(false);
        self.since.fill(0);
    }

    /// Notes what changed, by tile.
    pub(super) fn note(&mut self, tiles: &Tiles, changes: &Changes) {
        let Self { blocks, views, .. } = self;
        let surfaces = || {
            for block in changes.primitive_blocks() {
                tiles.of_block(block).into_iter().for_each(|tile| add_block(&mut blocks[tile], block));
            }
        };
        let beliefs = || {
            for (low, high) in changes.blocks.iter().filter_map(|change| change.views) {
                tiles.between(low, high, |tile| add_view(&mut views[tile], low[2] as f32, high[2] as f32 + 1.0));
            }
        };
        rayon::join(surfaces, beliefs);
        self.feel(tiles);
    }

    /// Tiles that feel a change of surfaces wait: what is not read of them does so even when the surfaces were taken over.
    fn feel(&mut self, tiles: &Tiles) {
        for tile in self.felt_tiles(tiles) {
            self.wait(tile);
        }
    }

    /// A tile may be out of date from now on, if it was not.
    fn wait(&mut self, tile: usize) {
        if self.since[tile] == 0 {
            self.since[tile] = self.now + 1;
        }
    }

    /// Beliefs can differ everywhere.
    pub(super) fn doubt_all(&mut self) {
        self.views.fill([f32::NEG_INFINITY, f32::INFINITY]);
    }

    /// Free space changed.
    pub(super) fn close_eyes(&mut self) {
        self.unseen.fill(true);
    }

    /// Cells that were raised, and tiles that hold some, to be marked.
    pub(super) fn raised_mut(&mut self) -> (&mut [bool], &mut [bool]) {
        (&mut self.raised, &mut self.rises)
    }

    /// Takes the cubic metres whose change is felt in an area, with their tiles.
    pub(super) fn take_blocks(&mut self, tiles: &Tiles, area: &Area) -> Vec<([i32; 3], usize)> {
        let margin = self.felt as f64 * f64::from(tiles.side());
        let mut taken = Vec::new();
        for (tile, blocks) in self.blocks.iter_mut().enumerate().filter(|(_, blocks)| !blocks.is_empty()) {
            if area.is_near(tiles.bounds(tile), margin) {
                blocks.sort_unstable();
                taken.extend(blocks.drain(..).map(|block| (block, tile)));
            }
        }
        taken
    }

    /// Takes the cells of an area that are to be asked about, tile by tile.
    pub(super) fn take_cells(&mut self, tiles: &Tiles, area: &Area, heights: &[f32]) -> Vec<Question> {
        let (width, mut taken) = (tiles.size()[0], Vec::new());
        for tile in 0..tiles.len() {
            let waits = self.rises[tile] || self.views[tile] != NOWHERE;
            if !waits || !area.is_near(tiles.bounds(tile), 0.0) {
                continue;
            }
            let [low, high] = std::mem::replace(&mut self.views[tile], NOWHERE);
            let rises = std::mem::take(&mut self.rises[tile]);
            let mut cells = Vec::with_capacity(tiles.cells(tile).len());
            for cell in tiles.cells(tile).iter() {
                let height = heights[cell];
                let raised = rises && std::mem::take(&mut self.raised[cell]);
                if height.is_finite() && (raised || (height >= low && height <= high)) {
                    cells.push(cell);
                }
            }
            let up = |cell: &usize| floor(heights[*cell]);
            cells.sort_by_key(up);
            let [x, y] = tiles.bounds(tile)[0].map(|v| v as i32);
            let part =
                |cells: &[usize]| Question { block: [x, y, up(&cells[0])], band: tile / width, cells: cells.to_vec() };
            taken.extend(cells.chunk_by(|a, b| up(a) == up(b)).map(part));
        }
        taken
    }

    /// Takes the tiles of an area that are to be looked at for what was seen through.
    pub(super) fn take_unseen(&mut self, tiles: &Tiles, area: &Area) -> Vec<bool> {
        let one = |(tile, unseen): (usize, &mut bool)| {
            let taken = *unseen && area.is_near(tiles.bounds(tile), 0.0);
            *unseen &= !taken;
            taken
        };
        self.unseen.iter_mut().enumerate().map(one).collect()
    }

    /// A refresh of an area is done: returns how many cells may be out of date, and for how many refreshes the first of them have been.
    pub(super) fn finish(&mut self, tiles: &Tiles, area: &Area) -> (usize, u32) {
        let (mut cells, mut oldest) = (0, 0);
        for tile in 0..tiles.len() {
            if self.since[tile] != 0 && area.is_near(tiles.bounds(tile), 0.0) {
                self.since[tile] = 0;
            }
            if self.rises[tile] || self.unseen[tile] || self.views[tile] != NOWHERE {
                self.wait(tile);
            }
            let count = tiles.cells(tile).len();
            if self.since[tile] != 0 && count > 0 {
                cells += count;
                oldest = oldest.max(self.now + 2 - self.since[tile]);
            }
        }
        self.now += 1;
        (cells, oldest)
    }

    /// The tiles that feel a change of surfaces which were not taken over.
    fn felt_tiles(&self, tiles: &Tiles) -> Vec<usize> {
        let ([width, height], reach) = (tiles.size(), self.felt);
        let mut felt = vec![false; self.blocks.len()];
        let mut tall = felt.clone();
        for (tile, _) in self.blocks.iter().enumerate().filter(|(_, blocks)| !blocks.is_empty()) {
            let (column, row) = (tile % width, tile / width);
            (row.saturating_sub(reach)..(row + reach + 1).min(height)).for_each(|y| tall[y * width + column] = true);
        }
        for tile in (0..tall.len()).filter(|tile| tall[*tile]) {
            let column = tile % width;
            let first = tile - column;
            felt[first + column.saturating_sub(reach)..first + (column + reach + 1).min(width)].fill(true);
        }
        (0..felt.len()).filter(|tile| felt[*tile]).collect()
    }

    /// Whether the cells of a tile may be those of an earlier state of the map.
    pub(super) fn has(&self, tile: usize) -> bool {
        self.since[tile] != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_area_feels_is_taken_and_the_rest_waits() {
        let grid = Grid::covering([0.0, 0.0], [30.0, 3.0], 0.5).unwrap();
        let tiles = Tiles::of(&grid);
        let mut late = Late::none(&grid, &tiles);
        let at = |x: i32| ([x, 1, 0], tiles.of_block([x, 1, 0]).unwrap());
        [3, 20, 28, 3].iter().for_each(|x| add_block(&mut late.blocks[at(*x).1], at(*x).0));
        late.feel(&tiles);
        // Metres 17 to 22 are read, and what changed in metres 14 to 25 is felt there.
        let (near, away) = (Area::Between([18.0, 0.0], [22.0, 3.0]), Area::Between([90.0; 2], [91.0; 2]));
        assert_eq!(late.take_blocks(&tiles, &near), [at(20)]);
        let (cells, oldest) = late.finish(&tiles, &near);
        // Metres 0 to 6, 23 and 25 to 29 of 30, of three rows of four cells each.
        assert_eq!((cells, oldest), ((7 + 1 + 5) * 3 * 4, 1));
        let waits = |x: i32| late.has(at(x).1);
        assert!(waits(6) && !waits(7) && !waits(22) && waits(23) && !waits(24) && waits(25));
        add_block(&mut late.blocks[at(20).1], at(20).0);
        late.feel(&tiles);
        assert_eq!(late.finish(&tiles, &away).1, 2);
        assert_eq!(late.take_blocks(&tiles, &Area::Between([0.0; 2], [1.0; 2])), [at(3)]);
        assert_eq!(late.take_blocks(&tiles, &Area::Everywhere), [at(20), at(28)]);
        assert_eq!(late.finish(&tiles, &Area::Everywhere), (0, 0));
    }

    #[test]
    fn cells_are_asked_about_where_they_rose_or_beliefs_differ() {
        let grid = Grid::covering([0.0, 0.0], [4.0, 1.0], 0.5).unwrap();
        let tiles = Tiles::of(&grid);
        let mut late = Late::none(&grid, &tiles);
        let heights: Vec<f32> =
            (0..grid.len()).map(|cell| if cell % 3 == 0 { f32::NAN } else { cell as f32 }).collect();
        let tile = |x: i32| tiles.of_block([x, 0, 0]).unwrap();
        add_view(&mut late.views[tile(1)], 0.0, 2.5);
        add_view(&mut late.views[tile(3)], 13.0, 14.0);
        let (raised, rises) = late.raised_mut();
        raised[8] = true;
        rises[tile(0)] = true;
        let part = Area::Between([0.0; 2], [1.9, 1.0]);
        let cells = |taken: Vec<Question>| taken.into_iter().flat_map(|question| question.cells).collect::<Vec<_>>();
        assert_eq!(cells(late.take_cells(&tiles, &part, &heights)), [8, 2]);
        assert!(late.finish(&tiles, &part).0 > 0);
        assert_eq!(cells(late.take_cells(&tiles, &Area::Everywhere, &heights)), [14]);
        late.close_eyes();
        assert!(late.finish(&tiles, &Area::Everywhere).0 == grid.len());
        assert!(late.take_unseen(&tiles, &Area::Everywhere).iter().all(|taken| *taken));
        assert_eq!(late.finish(&tiles, &Area::Everywhere), (0, 0));
        for height in [0.0_f32, -0.0, 0.5, -0.5, -3.0, 7.99, 1e9, -1e9, -1e-30] {
            assert_eq!(f64::from(floor(height)), f64::from(height.floor()));
        }
    }
}
