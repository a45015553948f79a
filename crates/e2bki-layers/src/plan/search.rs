//! A* over the eight neighbours of a cell, and straight pieces in place of its corners.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::space::Space;
use crate::grid::Grid;

/// Corners that a straight piece may skip at once.
const FARTHEST: usize = 400;

struct Open {
    estimate: f64,
    cell: usize,
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Open {
    // The heap gives its greatest first: the least estimate, and of equal ones the lowest cell.
    fn cmp(&self, other: &Self) -> Ordering {
        other.estimate.total_cmp(&self.estimate).then(other.cell.cmp(&self.cell))
    }
}

fn neighbours(grid: &Grid, cell: usize) -> impl Iterator<Item = (usize, f64)> + use<> {
    let [width, height] = grid.size.map(|n| n as i64);
    let (x, y, side) = ((cell as i64) % width, (cell as i64) / width, grid.resolution);
    (-1..=1_i64).flat_map(move |dy| (-1..=1_i64).map(move |dx| (dx, dy))).filter_map(move |(dx, dy)| {
        let inside = (0..width).contains(&(x + dx)) && (0..height).contains(&(y + dy)) && (dx, dy) != (0, 0);
        let length = if dx * dy == 0 { side } else { side * std::f64::consts::SQRT_2 };
        inside.then(|| (((y + dy) * width + x + dx) as usize, length))
    })
}

/// The cheapest chain of cells from a start to a goal, if there is one.
pub(super) fn cheapest(grid: &Grid, space: &Space, start: usize, goal: usize) -> Option<Vec<usize>> {
    let width = grid.size[0];
    // Every metre costs at least 1: the length over eight neighbours never says too much.
    let least = |cell: usize| {
        let dx = (cell % width).abs_diff(goal % width) as f64;
        let dy = (cell / width).abs_diff(goal / width) as f64;
        grid.resolution * (dx.max(dy) + (std::f64::consts::SQRT_2 - 1.0) * dx.min(dy))
    };
    let mut spent = vec![f64::INFINITY; grid.len()];
    let mut before = vec![u32::MAX; grid.len()];
    let mut done = vec![false; grid.len()];
    let mut open = BinaryHeap::new();
    spent[start] = 0.0;
    open.push(Open { estimate: least(start), cell: start });
    while let Some(Open { cell, .. }) = open.pop() {
        if cell == goal {
            let mut chain = vec![goal];
            while let Some(last) = chain.last().filter(|last| **last != start) {
                chain.push(before[*last] as usize);
            }
            chain.reverse();
            return Some(chain);
        }
        if std::mem::replace(&mut done[cell], true) {
            continue;
        }
        for (next, length) in neighbours(grid, cell).filter(|(next, _)| space.is_open(*next)) {
            let cost = spent[cell] + 0.5 * length * f64::from(space.weight[cell] + space.weight[next]);
            if cost < spent[next] {
                spent[next] = cost;
                before[next] = cell as u32;
                open.push(Open { estimate: cost + least(next), cell: next });
            }
        }
    }
    None
}

/// Into how many pieces a straight line of so many metres is cut: each is looked at in its middle.
pub(super) fn pieces(grid: &Grid, length: f64) -> usize {
    (4.0 * length / grid.resolution).ceil().max(1.0) as usize
}

/// Cost of the straight line between two cells; nothing if it passes a cell that cannot be entered.
pub(super) fn straight(grid: &Grid, space: &Space, from: usize, to: usize) -> Option<f64> {
    let (a, b) = (grid.center(from), grid.center(to));
    let length = (b[0] - a[0]).hypot(b[1] - a[1]);
    let parts = pieces(grid, length);
    let mut cost = 0.0;
    for part in 0..parts {
        let t = (part as f64 + 0.5) / parts as f64;
        let cell = grid.cell(std::array::from_fn(|i| a[i] * (1.0 - t) + b[i] * t))?;
        if !space.is_open(cell) {
            return None;
        }
        cost += f64::from(space.weight[cell]) * length / parts as f64;
    }
    Some(cost)
}

/// A chain with straight pieces wherever these cost no more than its corners.
pub(super) fn straightened(grid: &Grid, space: &Space, chain: &[usize]) -> Vec<usize> {
    let mut spent = vec![0.0];
    for pair in chain.windows(2) {
        let piece = straight(grid, space, pair[0], pair[1]).unwrap_or(f64::INFINITY);
        spent.push(spent.last().copied().unwrap_or(0.0) + piece);
    }
    let (mut kept, mut at) = (vec![chain[0]], 0);
    while at + 1 < chain.len() {
        let farthest = (at + 1..chain.len().min(at + FARTHEST)).rev().find(|next| {
            straight(grid, space, chain[at], chain[*next]).is_some_and(|c| c <= spent[*next] - spent[at] + 1e-6)
        });
        at = farthest.unwrap_or(at + 1);
        kept.push(chain[at]);
    }
    kept
}
