//! What it costs and risks to have the robot's middle in a cell.

use e2bki::free::State;
use rayon::prelude::*;

use crate::layers::Layers;
use crate::robot::Robot;

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

impl Space {
    pub(super) fn of(layers: &Layers, robot: &Robot) -> Self {
        let grid = layers.grid();
        let [width, height] = grid.size;
        // A disc, as offsets by row: from where to where the row is in it.
        let reach = robot.radius() / grid.resolution;
        let rows = reach.floor() as i64;
        let half = |dy: i64| (reach * reach - (dy * dy) as f64).max(0.0).sqrt().floor() as i64;
        let lethal: Vec<f32> =
            layers.cells().iter().map(|cell| if cell.lethal > 0.0 { cell.lethal } else { 0.0 }).collect();
        let risk: Vec<f32> = (0..grid.len())
            .into_par_iter()
            .with_min_len(4096)
            .map(|cell| {
                let (x, y) = ((cell % width) as i64, (cell / width) as i64);
                let mut most = 0.0_f32;
                for dy in (-rows).max(-y)..=rows.min(height as i64 - 1 - y) {
                    let across = half(dy);
                    let start = (y + dy) * width as i64;
                    let from = (start + (x - across).max(0)) as usize;
                    let to = (start + (x + across).min(width as i64 - 1)) as usize;
                    most = lethal[from..=to].iter().copied().fold(most, f32::max);
                }
                most
            })
            .collect();
        let unknown_cost = f32::from(robot.unknown_cost) / 100.0;
        let unknown: Vec<bool> = layers
            .cells()
            .iter()
            .map(|cell| cell.state == State::Unknown && robot.unknown_cost >= e2bki::LETHAL_COST)
            .collect();
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
