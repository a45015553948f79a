//! Ways on the layers: the cheapest one by A*, pulled straight where that costs no more.

mod search;
mod space;
mod way;

pub use way::{Step, Way};

use crate::error::{Error, Result};
use crate::layers::Layers;
use crate::robot::Robot;
use space::{Space, Why};

/// The cheapest way from one place to another, both x and y in metres: shorthand for [`Planner::of`] and [`Planner::plan`].
pub fn plan(layers: &Layers, from: [f64; 2], to: [f64; 2]) -> Result<Way> {
    Planner::of(layers).plan(from, to)
}

/// Finds ways on layers.
///
/// A metre costs 1 + `cost_weight` · c, with c of the cell's cost and of the risk that the robot's width meets an obstacle
/// there. Cells whose risk is above `max_risk` are not entered, nor those where more than a quarter of the ground under it is unknown.
pub struct Planner<'a> {
    layers: &'a Layers,
    robot: Robot,
    space: Space,
}

impl<'a> Planner<'a> {
    /// A planner for the robot that the layers are for.
    pub fn of(layers: &'a Layers) -> Self {
        Self::with(layers, layers.settings().robot.clone())
    }

    /// A planner for a robot that takes other risks, is wider, or values cost differently.
    pub fn with(layers: &'a Layers, robot: Robot) -> Self {
        let space = Space::of(layers, &robot);
        Self { layers, robot, space }
    }

    /// The cheapest way.
    pub fn plan(&self, from: [f64; 2], to: [f64; 2]) -> Result<Way> {
        let (start, goal) = (self.end("the start", from)?, self.end("the goal", to)?);
        let grid = self.layers.grid();
        let Some(cells) = search::cheapest(grid, &self.space, start, goal) else {
            return Err(Error::Refused(format!(
                "there is no way from {},{} to {},{} with a risk of at most {}: every one passes obstacles or unknown places",
                from[0], from[1], to[0], to[1], self.robot.max_risk
            )));
        };
        Ok(Way::of(self.layers, &self.space, &search::straightened(grid, &self.space, &cells)))
    }

    /// What having the robot's middle in a cell costs, 0 to 1: the cell's own cost and the risk within the robot's width. 1
    /// where it is not driven to; nothing where nothing is known.
    pub fn footprint_cost(&self, cell: usize) -> Option<f32> {
        let known = self.layers.cells().get(cell)?.state != e2bki::free::State::Unknown;
        known.then(|| if self.space.is_open(cell) { self.space.cost[cell] } else { 1.0 })
    }

    /// The cell of a start or goal that can be driven to.
    fn end(&self, name: &str, [x, y]: [f64; 2]) -> Result<usize> {
        let grid = self.layers.grid();
        // Not a number compares as false.
        if ![x, y].iter().all(|v| v.abs() <= e2bki::WORLD_LIMIT_M) {
            return Err(Error::Refused(format!("{name} {x:e},{y:e} is outside of the world")));
        }
        let Some(cell) = grid.cell([x, y]) else {
            let low = grid.corner();
            let high: [f64; 2] = std::array::from_fn(|i| low[i] + grid.size[i] as f64 * grid.resolution);
            return Err(Error::Refused(format!(
                "{name} {x},{y} is outside of the grid, which spans from {:.1},{:.1} to {:.1},{:.1}",
                low[0], low[1], high[0], high[1]
            )));
        };
        match self.space.why_blocked(cell) {
            None => Ok(cell),
            Some(Why::Unknown) => Err(Error::Refused(format!(
                "{name} {x},{y} is a place of which too little is known within the width of the robot; lower `unknown_cost` of the robot to drive there all the same"
            ))),
            Some(Why::Risk(risk)) => Err(Error::Refused(format!(
                "{name} {x},{y} is in or too near to an obstacle: the risk is {risk:.2}, `max_risk` of the robot {}",
                self.robot.max_risk
            ))),
        }
    }
}
