//! Pairs of places between which ways are planned.

use e2bki::random::Rng;
use e2bki_layers::Planner;

use super::truth::Truth;

/// Straight distance of start and goal, metres.
pub(super) const APART_M: (f64, f64) = (10.0, 40.0);

/// A start and a goal, with the length of the way that a planner with perfect knowledge takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) from: [f64; 2],
    pub(super) to: [f64; 2],
    pub(super) best_m: f64,
}

/// Random pairs of places that are truly free and have a way between them.
pub(super) fn pairs(truth: &Truth, count: usize, seed: u64) -> Vec<Pair> {
    let grid = *truth.layers.grid();
    let open: Vec<usize> =
        (0..grid.len()).filter(|cell| truth.away[*cell] < 15.0 && truth.layers.cells()[*cell].lethal == 0.0).collect();
    let mut found = Vec::new();
    if open.is_empty() {
        return found;
    }
    let knowing = Planner::of(&truth.layers);
    let mut random = Rng::new(seed);
    let mut any = || grid.center(open[random.below(open.len())]);
    for _ in 0..60 * count {
        let (from, to) = (any(), any());
        if found.len() == count {
            break;
        }
        if !(APART_M.0..APART_M.1).contains(&(to[0] - from[0]).hypot(to[1] - from[1])) {
            continue;
        }
        if let Ok(best) = knowing.plan(from, to) {
            found.push(Pair { from, to, best_m: best.length.max(1e-6) });
        }
    }
    found
}
