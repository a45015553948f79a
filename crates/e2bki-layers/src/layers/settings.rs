//! What layers are computed for, and what that took.

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

/// What bringing layers up to date took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refreshed {
    /// Cells whose costs were computed anew.
    pub cells: usize,
    /// Cells of these whose class was asked of the map.
    pub asked: usize,
    /// Whether everything was computed, from nothing.
    pub everything: bool,
}
