//! What is true of the ground: heights of the simulator, and obstacles where any frame of the drive truly saw one.

use anyhow::Result;
use e2bki::free::State;
use e2bki_layers::{Cell, Grid, Layers, Settings};
use e2bki_sim::{Drive, SimFrame, VOID};

/// Distance over which the true slope is measured, metres: the window of the fitted planes.
const SLOPE_M: f64 = 0.6;

/// The true grid of a drive.
pub(super) struct Truth {
    pub(super) layers: Layers,
    /// Distance of every cell from the way that was driven, metres.
    pub(super) away: Vec<f64>,
}

/// Collects what frames truly saw.
pub(super) struct Seen {
    grid: Grid,
    /// Class of the ground, of the last point seen on it.
    ground: Vec<u8>,
    blocked: Vec<bool>,
    trajectory: Vec<[f64; 2]>,
}

impl Seen {
    pub(super) fn new(grid: Grid) -> Self {
        Self { grid, ground: vec![VOID; grid.len()], blocked: vec![false; grid.len()], trajectory: Vec::new() }
    }

    /// Adds the points of a frame with their true classes.
    pub(super) fn add(&mut self, drive: &Drive, frame: &SimFrame, settings: &Settings) {
        let robot = &settings.robot;
        self.trajectory.push([frame.world_from_sensor[0][3], frame.world_from_sensor[1][3]]);
        for (k, label) in frame.labels.iter().enumerate().filter(|(_, label)| **label != VOID) {
            let [x, y, z] = frame.world_point(k);
            let Some(cell) = self.grid.cell([x, y]) else { continue };
            let height = z - drive.world().ground_height(x, y);
            let lethal = settings.costs.is_lethal(usize::from(*label));
            if height <= robot.step() {
                if !lethal {
                    self.ground[cell] = *label;
                }
            } else if height < robot.height && (lethal || height > robot.compliant_height) {
                self.blocked[cell] = true;
            }
        }
    }

    /// The grid that a planner with perfect knowledge would have.
    pub(super) fn finish(self, drive: &Drive, settings: &Settings) -> Result<Truth> {
        let height = |x: f64, y: f64| drive.world().ground_height(x, y);
        let mut cells = Vec::with_capacity(self.grid.len());
        let mut away = Vec::with_capacity(self.grid.len());
        for index in 0..self.grid.len() {
            let [x, y] = self.grid.center(index);
            away.push(self.trajectory.iter().map(|p| (p[0] - x).hypot(p[1] - y)).fold(f64::INFINITY, f64::min));
            let (blocked, label) = (self.blocked[index], self.ground[index]);
            let mut cell = Cell::UNKNOWN;
            if blocked || label != VOID {
                let rise = |a: [f64; 2]| (height(x + a[0], y + a[1]) - height(x - a[0], y - a[1])) / (2.0 * SLOPE_M);
                let slope = rise([SLOPE_M, 0.0]).hypot(rise([0.0, SLOPE_M])).atan().to_degrees();
                let lethal = blocked || slope > settings.robot.max_slope;
                cell.height = height(x, y) as f32;
                cell.slope = slope as f32;
                cell.lethal = f32::from(u8::from(lethal));
                cell.state = if lethal { State::Occupied } else { State::Free };
                cell.cost = if lethal { 1.0 } else { settings.costs.cost(usize::from(label)) };
                (cell.risk_cost, cell.cost_std) = (cell.cost, 0.0);
            }
            cells.push(cell);
        }
        Ok(Truth { layers: Layers::from_cells(self.grid, settings.clone(), cells)?, away })
    }
}
