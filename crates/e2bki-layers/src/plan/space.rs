//! What it costs and risks to have the robot's middle in a cell.

use e2bki::free::State;
use rayon::prelude::*;

use crate::layers::Layers;
use crate::robot::Robot;

/// The most of the ground under the robot that may be unknown: holes between beams do not stop it, but it does not stand with a
/// half of itself beyond the edge of what was seen.
const MOST_UNKNOWN: f64 = 0.25;

/// Why a cell cannot be entered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Why {
    Unknown,
    Risk(f32),
}

/// Cost and risk of every cell.
pub(super) struct Space {
    /// Cost of a cell, 0 to 1, with the risk within the robot's width.
    pub(super) cost: Vec<f32>,
    /// Cost of a metre.
    pub(super) weight: Vec<f32>,
    /// Highest probability of an obstacle within the robot's width.
    pub(super) risk: Vec<f32>,
    unknown: Vec<bool>,
    max_risk: f32,
}

/// The cells within the robot's width of a cell.
struct Disc {
    size: [i64; 2],
    /// How far the row so many cells away reaches to each side.
    halves: Vec<i64>,
}

impl Disc {
    fn of(layers: &Layers, robot: &Robot) -> Self {
        let grid = layers.grid();
        let reach = robot.radius() / grid.resolution;
        let half = |dy: i64| (reach * reach - (dy * dy) as f64).max(0.0).sqrt().floor() as i64;
        Self { size: grid.size.map(|n| n as i64), halves: (0..=reach.floor() as i64).map(half).collect() }
    }

    /// Number of its cells.
    fn len(&self) -> usize {
        let row = |(dy, half): (usize, &i64)| (2 * half + 1) as usize * if dy == 0 { 1 } else { 2 };
        self.halves.iter().enumerate().map(row).sum()
    }

    /// Rows of it, those parts that are in the grid.
    fn around(&self, cell: usize) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let [width, height] = self.size;
        let (x, y, rows) = (cell as i64 % width, cell as i64 / width, self.halves.len() as i64 - 1);
        ((-rows).max(-y)..=rows.min(height - 1 - y)).map(move |dy| {
            let across = self.halves[dy.unsigned_abs() as usize];
            let start = (y + dy) * width;
            (start + (x - across).max(0)) as usize..(start + (x + across).min(width - 1) + 1) as usize
        })
    }
}

impl Space {
    pub(super) fn of(layers: &Layers, robot: &Robot) -> Self {
        let grid = layers.grid();
        let disc = Disc::of(layers, robot);
        let lethal: Vec<f32> =
            layers.cells().iter().map(|cell| if cell.lethal > 0.0 { cell.lethal } else { 0.0 }).collect();
        let cells = || (0..grid.len()).into_par_iter().with_min_len(4096);
        let most = |cell| disc.around(cell).flat_map(|row| &lethal[row]).copied().fold(0.0, f32::max);
        let risk: Vec<f32> = cells().map(most).collect();
        let unknown_cost = f32::from(robot.unknown_cost) / 100.0;
        let unknown: Vec<bool> = layers
            .cells()
            .iter()
            .map(|cell| cell.state == State::Unknown && robot.unknown_cost >= e2bki::LETHAL_COST)
            .collect();
        // What is outside of the grid is not known either.
        let fewest = (1.0 - MOST_UNKNOWN) * disc.len() as f64;
        let bold = robot.unknown_cost < e2bki::LETHAL_COST;
        let too_little = |cell| {
            let known = || disc.around(cell).flat_map(|row| &unknown[row]).filter(|unknown| !**unknown).count();
            !bold && (unknown[cell] || (known() as f64) < fewest)
        };
        let unknown: Vec<bool> = cells().map(too_little).collect();
        let cost = |(cell, risk): (&crate::Cell, &f32)| {
            let own = if cell.state == State::Unknown { unknown_cost } else { cell.risk_cost };
            1.0 - (1.0 - own) * (1.0 - risk)
        };
        let cost: Vec<f32> = layers.cells().iter().zip(&risk).map(cost).collect();
        let weight = cost.iter().map(|cost| 1.0 + robot.cost_weight as f32 * cost).collect();
        Self { cost, weight, risk, unknown, max_risk: robot.max_risk as f32 }
    }

    /// Whether a cell can be entered.
    pub(super) fn is_open(&self, cell: usize) -> bool {
        self.risk[cell] <= self.max_risk && !self.unknown[cell]
    }

    pub(super) fn why_blocked(&self, cell: usize) -> Option<Why> {
        if self.risk[cell] > self.max_risk {
            Some(Why::Risk(self.risk[cell]))
        } else {
            self.unknown[cell].then_some(Why::Unknown)
        }
    }
}
