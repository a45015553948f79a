//! Surfaces that the map has others of by now: taken over all at once, or as far as an effort goes with every refresh.

use std::collections::VecDeque;

use super::Effort;
use crate::tiles::Tiles;

/// How many tiles away a change of surfaces is felt: by the cells that they lean into, the floors around these, the planes
/// through that ground and the steps beside them.
const FELT: usize = 4;

/// Cubic metres that changed and were not taken over.
#[derive(Debug, Clone, Default)]
pub(super) struct Stale {
    /// Number of the current refresh.
    now: u32,
    /// Those of every tile.
    blocks: Vec<Vec<[i32; 3]>>,
    /// The refresh that a tile waits since; 0 if it does not.
    since: Vec<u32>,
    /// Tiles with the refresh in which they came. What has been served otherwise stays here until its turn.
    queue: VecDeque<(u32, u32)>,
    /// How many wait.
    count: usize,
}

impl Stale {
    pub(super) fn none(tiles: &Tiles) -> Self {
        Self { blocks: vec![Vec::new(); tiles.len()], since: vec![0; tiles.len()], ..Self::default() }
    }

    /// A refresh begins with these changes.
    pub(super) fn begin(&mut self, changed: impl Iterator<Item = ([i32; 3], usize)>) {
        self.now += 1;
        for (block, tile) in changed {
            self.blocks[tile].push(block);
            if self.since[tile] == 0 {
                self.since[tile] = self.now;
                self.queue.push_back((tile as u32, self.now));
                self.count += 1;
            }
        }
    }

    /// Takes the cubic metres whose turn it is, with their tiles: all whose change is felt near by, and as many tiles elsewhere as
    /// have so many cells.
    pub(super) fn take(&mut self, tiles: &Tiles, effort: &Effort) -> Vec<([i32; 3], usize)> {
        let mut taken = Vec::new();
        if let Some((place, metres)) = effort.near {
            let reach = metres + FELT as f64 * f64::from(tiles.side());
            let waiting: Vec<usize> = (0..self.since.len()).filter(|tile| self.since[*tile] != 0).collect();
            for tile in waiting.into_iter().filter(|tile| tiles.distance(*tile, place) <= reach) {
                self.serve(tile, &mut taken);
            }
        }
        let mut left = effort.surfaces;
        while left > 0 {
            let Some((tile, came)) = self.queue.pop_front() else { break };
            if self.since[tile as usize] == came {
                self.serve(tile as usize, &mut taken);
                left = left.saturating_sub(tiles.cells(tile as usize).len().max(1));
            }
        }
        taken
    }

    fn serve(&mut self, tile: usize, taken: &mut Vec<([i32; 3], usize)>) {
        if std::mem::take(&mut self.since[tile]) != 0 {
            self.count -= 1;
            let mut blocks = std::mem::take(&mut self.blocks[tile]);
            blocks.sort_unstable();
            blocks.dedup();
            taken.extend(blocks.into_iter().map(|block| (block, tile)));
        }
    }

    /// Refreshes since when the tile that waits longest does; 0 if none waits.
    pub(super) fn oldest(&mut self) -> u32 {
        while self.queue.front().is_some_and(|(tile, came)| self.since[*tile as usize] != *came) {
            self.queue.pop_front();
        }
        self.queue.front().map_or(0, |(_, came)| self.now + 1 - came)
    }

    /// Whether the cells of a tile may be those of an earlier state of the map.
    pub(super) fn is_felt(&self, tiles: &Tiles, tile: usize) -> bool {
        self.count > 0 && tiles.within(tile, FELT).any(|other| self.since[other] != 0)
    }

    /// The tiles of which that is true.
    pub(super) fn felt(&self, tiles: &Tiles) -> Vec<bool> {
        let mut felt = vec![false; self.since.len()];
        if self.count > 0 {
            for tile in (0..felt.len()).filter(|tile| self.since[*tile] != 0) {
                tiles.within(tile, FELT).for_each(|other| felt[other] = true);
            }
        }
        felt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    #[test]
    fn what_is_near_is_taken_and_elsewhere_what_waits_longest() {
        let grid = Grid::covering([0.0, 0.0], [30.0, 3.0], 0.5).unwrap();
        let tiles = Tiles::of(&grid);
        let mut stale = Stale::none(&tiles);
        let at = |x: i32| ([x, 1, 0], tiles.of_block([x, 1, 0]).unwrap());
        stale.begin([at(3), at(20), at(28)].into_iter());
        // Four tiles are felt around the two metres that are asked for: 14 to 26.
        let near = Effort { near: Some(([20.0, 1.0], 2.0)), surfaces: 0, elsewhere: usize::MAX };
        assert_eq!(stale.take(&tiles, &near), [at(20)]);
        assert_eq!(stale.oldest(), 1);
        stale.begin([at(20), at(3), at(3)].into_iter());
        assert_eq!(stale.oldest(), 2);
        assert!(stale.is_felt(&tiles, at(7).1) && !stale.is_felt(&tiles, at(8).1));
        let felt = stale.felt(&tiles);
        assert!((0..tiles.len()).all(|tile| felt[tile] == stale.is_felt(&tiles, tile)));
        // A tile of four cells at a time: the first that came, though it changed again since.
        assert_eq!(stale.take(&tiles, &Effort { near: None, surfaces: 4, elsewhere: 0 }), [at(3)]);
        assert_eq!(stale.take(&tiles, &Effort::ALL), [at(28), at(20)]);
        assert!(stale.oldest() == 0 && !stale.is_felt(&tiles, at(20).1));
    }
}
