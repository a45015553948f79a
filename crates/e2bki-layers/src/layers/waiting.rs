//! Cells whose class is to be asked of the map: all at once, or a bounded number with every refresh.

use std::collections::VecDeque;

use super::Effort;
use crate::grid::Grid;

/// Cells that wait, in the order in which they came.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    /// Number of the current refresh.
    now: u32,
    /// The refresh that a cell waits since; 0 if it does not.
    since: Vec<u32>,
    /// Whether a cell has ever been asked about.
    known: Vec<bool>,
    /// Cells with the refresh in which they came: those that were never asked about, and the others. What has been served otherwise
    /// stays here until its turn.
    first: VecDeque<(u32, u32)>,
    again: VecDeque<(u32, u32)>,
    count: usize,
}

impl Waiting {
    pub(super) fn none(grid: &Grid) -> Self {
        let (first, again, n) = (VecDeque::new(), VecDeque::new(), grid.len());
        Self { now: 0, since: vec![0; n], known: vec![false; n], first, again, count: 0 }
    }

    /// A refresh begins.
    pub(super) fn begin(&mut self) {
        self.now += 1;
    }

    /// A cell waits, if it does not already.
    pub(super) fn add(&mut self, cell: usize) {
        if self.since[cell] == 0 {
            self.since[cell] = self.now;
            self.count += 1;
            let queue = if self.known[cell] { &mut self.again } else { &mut self.first };
            queue.push_back((cell as u32, self.now));
        }
    }

    /// A cell waits no longer, and nothing is known of it.
    pub(super) fn forget(&mut self, cell: usize) {
        self.serve(cell);
        self.known[cell] = false;
    }

    fn serve(&mut self, cell: usize) {
        self.count -= usize::from(std::mem::take(&mut self.since[cell]) != 0);
        self.known[cell] = true;
    }

    /// Takes the cells whose turn it is, in ascending order.
    pub(super) fn take(&mut self, grid: &Grid, effort: &Effort) -> Vec<usize> {
        let mut taken = Vec::new();
        if effort.elsewhere >= self.count {
            taken.extend((0..self.since.len()).filter(|cell| self.since[*cell] != 0));
            self.first.clear();
            self.again.clear();
        } else {
            if let Some(([x, y], metres)) = effort.near {
                let (columns, width) = (grid.between(0, x - metres, x + metres), grid.size[0]);
                let near = |cell: &usize| {
                    let at = grid.center(*cell);
                    self.since[*cell] != 0 && (at[0] - x).hypot(at[1] - y) <= metres
                };
                for row in grid.between(1, y - metres, y + metres) {
                    taken.extend((row * width + columns.start..row * width + columns.end).filter(near));
                }
            }
            // Those near by have been served, but stay where they are in the queues until their turn.
            taken.iter().for_each(|cell| self.serve(*cell));
            let mut left = effort.elsewhere;
            while left > 0 {
                let Some((cell, came)) = self.first.pop_front().or_else(|| self.again.pop_front()) else { break };
                if self.since[cell as usize] == came {
                    self.serve(cell as usize);
                    taken.push(cell as usize);
                    left -= 1;
                }
            }
            taken.sort_unstable();
        }
        taken.iter().for_each(|cell| self.serve(*cell));
        taken
    }

    /// How many cells wait, and for how many refreshes those that came first have.
    pub(super) fn left(&mut self) -> (usize, u32) {
        let (now, since) = (self.now, &self.since);
        let oldest = |queue: &mut VecDeque<(u32, u32)>| {
            while queue.front().is_some_and(|(cell, came)| since[*cell as usize] != *came) {
                queue.pop_front();
            }
            queue.front().map_or(0, |(_, came)| now + 1 - came)
        };
        (self.count, oldest(&mut self.first).max(oldest(&mut self.again)))
    }

    /// Whether a cell waits.
    pub(super) fn has(&self, cell: usize) -> bool {
        self.since[cell] != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_were_never_asked_come_first_and_then_the_longest_waiting() {
        let grid = Grid::covering([0.0, 0.0], [10.0, 1.0], 1.0).unwrap();
        let mut waiting = Waiting::none(&grid);
        let some = |elsewhere| Effort { near: None, surfaces: 0, elsewhere };
        waiting.begin();
        [4, 2, 7].iter().for_each(|cell| waiting.add(*cell));
        assert_eq!(waiting.take(&grid, &Effort::ALL), [2, 4, 7]);
        [4, 2, 7].iter().for_each(|cell| waiting.add(*cell));
        waiting.begin();
        waiting.add(9);
        waiting.add(2);
        assert_eq!(waiting.take(&grid, &some(2)), [4, 9]);
        assert_eq!(waiting.left(), (2, 2));
        // A cell that is forgotten and comes again has waited since it came again, and is new.
        waiting.forget(2);
        assert_eq!(waiting.left(), (1, 2));
        waiting.begin();
        waiting.add(2);
        assert_eq!(waiting.take(&grid, &some(1)), [2]);
        waiting.add(2);
        waiting.add(5);
        assert_eq!(waiting.take(&grid, &some(2)), [5, 7]);
        waiting.add(5);
        assert_eq!(waiting.left(), (2, 1));
        assert_eq!(waiting.take(&grid, &Effort { near: Some(([5.2, 0.4], 0.6)), surfaces: 0, elsewhere: 0 }), [5]);
        assert!(waiting.has(2) && !waiting.has(5));
        assert_eq!(waiting.take(&grid, &Effort::ALL), [2]);
        assert_eq!(waiting.left(), (0, 0));
    }
}
