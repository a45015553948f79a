//! A cell: everything that the layers say of one place.

use e2bki::free::State;

use crate::ground::{self, Fit};

/// What is known of a cell. What is not known is not a number.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    /// Height of the ground, metres.
    pub height: f32,
    /// Standard deviation of the ground in the cell, metres.
    pub height_std: f32,
    /// Slope, degrees.
    pub slope: f32,
    /// Standard deviation of the slope, degrees.
    pub slope_std: f32,
    /// Highest step between this cell's ground and the next, without the slope, metres.
    pub step: f32,
    /// Standard deviation of the ground about its plane, metres.
    pub roughness: f32,
    /// Probability that something stands in the way.
    pub obstacle: f32,
    /// Lowest point of what stands in the way, above the ground, metres.
    pub obstacle_low: f32,
    /// Highest point of it, up to the robot's height.
    pub obstacle_high: f32,
    /// Lowest point of what hangs above the robot, above the ground, metres.
    pub overhang: f32,
    /// Most likely class at the ground; −1 where none was observed.
    pub class: i32,
    /// Its probability.
    pub confidence: f32,
    /// Uncertainty of the class.
    pub u_sem: f32,
    /// Uncertainty for want of evidence.
    pub u_spa: f32,
    /// Both, at most 1.
    pub u: f32,
    /// Free, occupied or unknown.
    pub state: State,
    /// When the ground was last seen, seconds after [`Layers::begin`](crate::Layers::begin); not a number where no frame with a
    /// time saw it, or in a map without free space.
    pub last_seen: f32,
    /// Probability that the cell cannot be driven on.
    pub lethal: f32,
    /// Expected cost of driving here, 0 to 1.
    pub cost: f32,
    /// Its standard deviation.
    pub cost_std: f32,
    /// Mean cost of the worst outcomes, by the robot's aversion to risk.
    pub risk_cost: f32,
}

/// A layer: its name, unit, meaning, and its value in a cell.
pub type Layer = (&'static str, &'static str, &'static str, fn(&Cell) -> f32);

/// All layers but the probabilities of the classes.
pub const LAYERS: [Layer; 21] = [
    ("height", "m", "height of the ground", |c| c.height),
    ("height_std", "m", "standard deviation of the ground in the cell", |c| c.height_std),
    ("slope", "deg", "slope of the ground", |c| c.slope),
    ("slope_std", "deg", "standard deviation of the slope", |c| c.slope_std),
    ("step", "m", "highest step to the cells around, without the slope", |c| c.step),
    ("roughness", "m", "standard deviation of the ground about its plane", |c| c.roughness),
    ("obstacle", "", "probability that something stands in the robot's way", |c| c.obstacle),
    ("obstacle_low", "m", "lowest point of what stands in the way, above the ground", |c| c.obstacle_low),
    ("obstacle_high", "m", "highest point of it, up to the robot's height", |c| c.obstacle_high),
    ("overhang", "m", "lowest point of what hangs above the robot, above the ground", |c| c.overhang),
    ("class", "", "most likely class at the ground; -1: none observed", |c| c.class as f32),
    ("confidence", "", "probability of that class", |c| c.confidence),
    ("u_sem", "", "uncertainty of the class", |c| c.u_sem),
    ("u_spa", "", "uncertainty for want of evidence", |c| c.u_spa),
    ("u", "", "uncertainty: both, at most 1", |c| c.u),
    ("state", "", "0: unknown, 1: free, 2: occupied", |c| f32::from(c.state as u8)),
    ("last_seen", "s", "when the ground was last seen, after the first frame of the map", |c| c.last_seen),
    ("lethal", "", "probability that it cannot be driven on", |c| c.lethal),
    ("cost", "", "expected cost of driving here, 0 to 1", |c| c.cost),
    ("cost_std", "", "standard deviation of the cost", |c| c.cost_std),
    ("risk_cost", "", "mean cost of the worst outcomes, by the robot's aversion to risk", |c| c.risk_cost),
];

impl Cell {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self {
        height: f32::NAN,
        height_std: f32::NAN,
        slope: f32::NAN,
        slope_std: f32::NAN,
        step: f32::NAN,
        roughness: f32::NAN,
        obstacle: 0.0,
        obstacle_low: f32::NAN,
        obstacle_high: f32::NAN,
        overhang: f32::NAN,
        class: -1,
        confidence: 0.0,
        u_sem: 1.0,
        u_spa: 1.0,
        u: 1.0,
        state: State::Unknown,
        last_seen: f32::NAN,
        lethal: f32::NAN,
        cost: f32::NAN,
        cost_std: f32::NAN,
        risk_cost: f32::NAN,
    };

    /// A cell of which the ground is known, if it is.
    pub(crate) fn of_ground(fit: Option<Fit>) -> Self {
        let Some(fit) = fit else { return Self::UNKNOWN };
        let rise = fit.rise[0].hypot(fit.rise[1]);
        Self {
            height: ground::rounded(fit.height) as f32,
            height_std: ground::rounded_std(fit.height_std) as f32,
            slope: ground::rounded_angle(rise.atan().to_degrees()) as f32,
            // The derivative of the arc tangent.
            slope_std: ground::rounded_angle((fit.rise_std / (1.0 + rise * rise)).to_degrees()) as f32,
            roughness: ground::rounded_std(fit.roughness) as f32,
            ..Self::UNKNOWN
        }
    }

    /// The state of a cell with ground, by its cost, its class, and whether it was seen. Where no class is known, only what stands
    /// there says something: the costs are then those of any class.
    pub(crate) fn state_if(&self, seen: bool) -> State {
        let observed = self.class >= 0;
        let blocked = if observed { self.lethal >= 0.5 } else { self.obstacle >= 0.5 };
        match (blocked, observed && seen) {
            (true, _) => State::Occupied,
            (false, true) => State::Free,
            (false, false) => State::Unknown,
        }
    }

    /// The same cell where no ground is known: occupied if something is there, unknown otherwise.
    pub(crate) fn without_ground(&self) -> Self {
        let blocked = self.obstacle >= 0.5;
        let cost = if blocked { self.obstacle } else { f32::NAN };
        Self {
            obstacle: self.obstacle,
            state: if blocked { State::Occupied } else { State::Unknown },
            lethal: cost,
            cost,
            risk_cost: cost,
            ..Self::UNKNOWN
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_a_class_is_occupied_only_if_something_stands_there() {
        let cell = |class: i32, lethal: f32, obstacle: f32| Cell { class, lethal, obstacle, ..Cell::UNKNOWN };
        assert_eq!(cell(2, 0.6, 0.0).state_if(true), State::Occupied);
        assert_eq!(
            (cell(2, 0.4, 0.0).state_if(true), cell(2, 0.4, 0.0).state_if(false)),
            (State::Free, State::Unknown)
        );
        // Of nineteen classes eleven are obstacles: that says nothing about this place.
        assert_eq!(cell(-1, 0.58, 0.0).state_if(true), State::Unknown);
        assert_eq!(cell(-1, 0.9, 0.8).state_if(true), State::Occupied);
    }
}
