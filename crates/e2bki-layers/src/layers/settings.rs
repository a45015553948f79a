//! What layers are computed for, where they are wanted, and what that took.

use crate::costs::ClassCosts;
use crate::robot::Robot;

/// What a grid is computed for.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The robot.
    pub robot: Robot,
    /// Costs of the map's classes.
    pub costs: ClassCosts,
    /// Surfaces of fewer points do not count as obstacles.
    pub min_points: f32,
}

impl Settings {
    /// Settings for a robot and the costs of a map's classes.
    pub fn new(robot: Robot, costs: ClassCosts) -> Self {
        Self { robot, costs, min_points: 2.0 }
    }
}

/// Where somebody is about to read the layers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Area {
    /// All of the grid.
    Everywhere,
    /// What is nearer to a place than so many metres.
    Around([f64; 2], f64),
    /// The rectangle between two corners, the lower one first.
    Between([f64; 2], [f64; 2]),
}

impl Area {
    /// Whether a square, by two corners, meets it if it may be moved by so many metres along each axis.
    pub(super) fn is_near(&self, [low, high]: [[f64; 2]; 2], metres: f64) -> bool {
        match self {
            Self::Everywhere => true,
            Self::Around(place, radius) => {
                let off = [0, 1].map(|i| ((low[i] - place[i]).max(place[i] - high[i]) - metres).max(0.0));
                off[0] * off[0] + off[1] * off[1] <= radius * radius * (1.0 + 1e-9)
            }
            Self::Between(first, last) => (0..2).all(|i| low[i] <= last[i] + metres && high[i] >= first[i] - metres),
        }
    }
}

/// What bringing layers up to date took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refreshed {
    /// Cells whose costs were computed anew.
    pub cells: usize,
    /// Cells whose class was asked of the map.
    pub asked: usize,
    /// Cells that may be out of date, in squares of a metre or more.
    pub waiting: usize,
    /// Refreshes since when the one that waits longest does; 0 if none waits.
    pub oldest: u32,
    /// Whether everything was computed, from nothing.
    pub everything: bool,
}
