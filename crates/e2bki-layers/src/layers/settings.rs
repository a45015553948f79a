//! What layers are computed for, how much at a time, and what that took.

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

/// How much of what changed a refresh brings up to date: ground, obstacles, classes and what follows from them. The rest is as an
/// earlier state of the map has it, or unknown, until its turn comes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// A place and a distance, metres: all cells within it are up to date.
    pub near: Option<([f64; 2], f64)>,
    /// Cells elsewhere whose ground and obstacles are, in squares of a metre, those that wait longest first.
    pub surfaces: usize,
    /// Cells elsewhere whose class is: first those that never were asked about, then those that wait longest.
    pub elsewhere: usize,
}

impl Effort {
    /// Everything is up to date.
    pub const ALL: Self = Self { near: None, surfaces: usize::MAX, elsewhere: usize::MAX };
}

/// What bringing layers up to date took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refreshed {
    /// Cells whose costs were computed anew.
    pub cells: usize,
    /// Cells whose class was asked of the map.
    pub asked: usize,
    /// Cells that wait: they may be out of date.
    pub waiting: usize,
    /// Refreshes since when the one that waits longest does; 0 if none waits.
    pub oldest: u32,
    /// Whether everything was computed, from nothing.
    pub everything: bool,
}
