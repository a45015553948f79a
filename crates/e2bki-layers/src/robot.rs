//! The robot that is to drive, in one TOML file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::error::{Error, Result};

/// A robot: its size, what it can climb, and how much risk it takes.
///
/// ```
/// let robot = e2bki_layers::Robot::from_toml("width = 0.67\nheight = 0.9\nmax_slope = 20\n", "robot.toml")?;
/// assert_eq!(robot.max_slope, 20.0);
/// assert!(e2bki_layers::Robot::from_toml("width = -1", "robot.toml").is_err());
/// # Ok::<(), e2bki_layers::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Robot {
    /// Width, metres.
    pub width: f64,
    /// Length, metres; for pictures.
    pub length: f64,
    /// Height above the ground, metres: what hangs higher does not block.
    pub height: f64,
    /// Radius of the wheels, metres.
    pub wheel_radius: f64,
    /// Highest step that it climbs, metres; 0.8 times the radius of the wheels if not given.
    pub max_step: Option<f64>,
    /// Steepest slope, degrees.
    pub max_slope: f64,
    /// Roughest ground, as standard deviation about its plane, metres.
    pub max_roughness: f64,
    /// What is of a traversable class, such as grass, is driven through up to this height, metres.
    pub compliant_height: f64,
    /// Distance kept from obstacles on each side, metres.
    pub clearance: f64,
    /// Places where the probability of an obstacle is higher than this are not driven to.
    pub max_risk: f64,
    /// Share of the outcomes that is not looked at: 0 takes the expected cost, 0.9 the mean of the worst tenth.
    pub risk_aversion: f64,
    /// How many metres of the best ground a metre of the worst is worth avoiding.
    pub cost_weight: f64,
    /// Cost of places of which nothing is known, 0 to 100; 100: they are not driven to.
    pub unknown_cost: u8,
    /// Costs of classes, 0 to 100, in place of those of the class table.
    pub costs: BTreeMap<String, u8>,
}

impl Default for Robot {
    fn default() -> Self {
        Self {
            width: 0.7,
            length: 1.0,
            height: 1.5,
            wheel_radius: 0.2,
            max_step: None,
            max_slope: 25.0,
            max_roughness: 0.12,
            compliant_height: 0.4,
            clearance: 0.1,
            max_risk: 0.3,
            risk_aversion: 0.0,
            cost_weight: 4.0,
            unknown_cost: 100,
            costs: BTreeMap::new(),
        }
    }
}

impl Robot {
    /// Every field in a file that can be copied and changed.
    pub const EXAMPLE: &'static str = include_str!("robot.toml");

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.into(), source })?;
        Self::from_toml(&text, &path.display().to_string())
    }

    /// Reads text; `origin` names it in errors.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self> {
        let bad = |what: String| Error::Robot { origin: origin.into(), what };
        // In words of the file, not of the program.
        let said = |error: toml::de::Error| error.to_string().trim_end().replace("expected f64", "expected a number");
        let said = |error| said(error).replace("expected u8", "expected a whole number, 0 to 100");
        let robot: Self = toml::from_str(text).map_err(|error| bad(said(error)))?;
        robot.check().map_err(bad)?;
        Ok(robot)
    }

    /// Says which field is out of range.
    pub fn check(&self) -> std::result::Result<(), String> {
        let ranges = [
            ("width", self.width, 0.05, 10.0),
            ("length", self.length, 0.05, 30.0),
            ("height", self.height, 0.05, 10.0),
            ("wheel_radius", self.wheel_radius, 0.01, 3.0),
            ("max_step", self.step(), 0.005, 3.0),
            ("max_slope", self.max_slope, 1.0, 80.0),
            ("max_roughness", self.max_roughness, 0.005, 2.0),
            ("compliant_height", self.compliant_height, 0.0, 3.0),
            ("clearance", self.clearance, 0.0, 5.0),
            ("max_risk", self.max_risk, 0.001, 1.0),
            ("risk_aversion", self.risk_aversion, 0.0, 0.999),
            ("cost_weight", self.cost_weight, 0.0, 1000.0),
            ("unknown_cost", f64::from(self.unknown_cost), 0.0, 100.0),
        ];
        for (name, value, low, high) in ranges {
            if !(low..=high).contains(&value) {
                return Err(format!("`{name}` is {value}; {low} to {high} are allowed"));
            }
        }
        match self.costs.iter().find(|(_, cost)| **cost > 100) {
            Some((name, cost)) => Err(format!("the cost of `{name}` is {cost}; 0 to 100 are allowed")),
            None => Ok(()),
        }
    }

    /// The highest step that it climbs, metres.
    pub fn step(&self) -> f64 {
        self.max_step.unwrap_or(0.8 * self.wheel_radius)
    }

    /// Half its width and the clearance, metres: nothing may be nearer to its way.
    pub fn radius(&self) -> f64 {
        0.5 * self.width + self.clearance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_the_default_in_full() {
        let robot = Robot::from_toml(Robot::EXAMPLE, "robot.toml").unwrap();
        assert_eq!(robot, Robot { max_step: Some(0.16), ..Robot::default() });
        assert!((Robot::default().step() - 0.16).abs() < 1e-12);
    }

    #[test]
    fn mistakes_are_named_with_what_is_allowed() {
        let message = |text: &str| Robot::from_toml(text, "mine.toml").unwrap_err().to_string();
        for (text, part) in [
            ("width = 0", "`width` is 0; 0.05 to 10"),
            ("max_slope = nan", "max_slope"),
            ("max_slope = 90", "max_slope"),
            ("wheels = 4", "wheels"),
            ("unknown_cost = 101", "unknown_cost"),
            ("[costs]\ngrass = 120", "grass"),
            ("width = \"wide\"", "expected a number"),
            ("[costs]\ngrass = 500", "expected a whole number, 0 to 100"),
        ] {
            assert!(message(text).contains(part) && message(text).contains("mine.toml"), "{}", message(text));
        }
    }
}
