//! What can be told a running node: its parameters, as ROS 2 has them.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Values {
    /// Updates per second.
    pub rate: f64,
    /// Changes of p and u that are not worth telling.
    pub tolerance: f64,
    /// Seconds from one picture of the whole map to the next.
    pub whole_every: f64,
    /// Side of the grids around the robot, metres.
    pub window: f64,
    /// Layers for planners per second.
    pub layers_rate: f64,
    /// Longest time that a scan waits for late transforms, seconds.
    pub wait: f64,
    /// Region of the grids instead of the surroundings of the robot: low x and y, high x and y.
    pub region: Option<[f64; 4]>,
}

/// A value as it is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// Several.
    Numbers(Vec<f64>),
}

/// A parameter: its name, what it means, its least and its largest value.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Least and largest value.
    pub range: [f64; 2],
}

/// All parameters.
pub const PARAMETERS: [Parameter; 7] = [
    Parameter { name: "rate", meaning: "updates per second", range: [0.01, 100.0] },
    Parameter { name: "tolerance", meaning: "changes of p and u that are not worth telling", range: [0.0, 1.0] },
    Parameter { name: "wait", meaning: "longest wait for late transforms, s", range: [0.0, 60.0] },
    Parameter { name: "whole_every", meaning: "time between two whole maps for late joiners, s", range: [0.1, 1e6] },
    Parameter { name: "layers_rate", meaning: "layers for planners per second", range: [0.01, 100.0] },
    Parameter { name: "window", meaning: "side of the grids around the robot, m", range: [1.0, 1000.0] },
    Parameter {
        name: REGION,
        meaning: "region of the grids: low x, low y, high x, high y, m; empty: around the robot",
        range: [-1e6, 1e6],
    },
];

const REGION: &str = "region";

/// Largest side of a region, metres.
const MOST_SIDE_M: f64 = 2000.0;

impl Values {
    fn number(&mut self, name: &str) -> Option<&mut f64> {
        Some(match name {
            "rate" => &mut self.rate,
            "tolerance" => &mut self.tolerance,
            "wait" => &mut self.wait,
            "whole_every" => &mut self.whole_every,
            "window" => &mut self.window,
            "layers_rate" => &mut self.layers_rate,
            _ => return None,
        })
    }

    /// A value by the name of its parameter.
    pub fn get(mut self, name: &str) -> Option<Value> {
        if name == REGION {
            return Some(Value::Numbers(self.region.map_or_else(Vec::new, |region| region.to_vec())));
        }
        self.number(name).map(|value| Value::Number(*value))
    }

    /// Sets a value, or says why not.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let Some(parameter) = PARAMETERS.iter().find(|parameter| parameter.name == name) else {
            let names: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.name).collect();
            return Err(format!("there is no parameter `{name}`; there are {}", names.join(", ")));
        };
        let [least, most] = parameter.range;
        let fits = |v: &f64| (least..=most).contains(v);
        match (self.number(name), value) {
            (Some(place), Value::Number(value)) if fits(value) => {
                *place = *value;
                Ok(())
            }
            (Some(_), _) => Err(format!("`{name}` takes a number from {least} to {most}")),
            (None, Value::Numbers(values)) => {
                let region = <[f64; 4]>::try_from(values.as_slice()).ok();
                let side = |[x, y, right, top]: &[f64; 4]| {
                    f64::min(right - x, top - y) >= 1.0 && f64::max(right - x, top - y) <= MOST_SIDE_M
                };
                if !values.is_empty() && !region.is_some_and(|r| r.iter().all(fits) && side(&r)) {
                    return Err(format!(
                        "`{name}` takes low x, low y, high x and high y, 1 to {MOST_SIDE_M} m apart, or nothing"
                    ));
                }
                self.region = region;
                Ok(())
            }
            (None, Value::Number(_)) => Err(format!("`{name}` takes four numbers, or none")),
        }
    }
}

/// Parameters that a network's thread sets and the node reads.
#[derive(Debug)]
pub struct Parameters(Mutex<Values>);

impl Parameters {
    /// These, to begin with.
    pub fn new(values: Values) -> Self {
        Self(Mutex::new(values))
    }

    fn locked(&self) -> MutexGuard<'_, Values> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The values now.
    pub fn values(&self) -> Values {
        *self.locked()
    }

    /// Sets a value, or says why not.
    pub fn set(&self, name: &str, value: &Value) -> Result<(), String> {
        self.locked().set(name, value)
    }
}

impl Default for Values {
    fn default() -> Self {
        Self { rate: 1.0, tolerance: 0.02, whole_every: 10.0, window: 60.0, layers_rate: 1.0, wait: 0.5, region: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_can_be_set_within_its_range_and_not_beyond() {
        let parameters = Parameters::new(Values::default());
        for Parameter { name, range: [least, most], .. } in PARAMETERS.into_iter().filter(|p| p.name != REGION) {
            for value in [least, most] {
                parameters.set(name, &Value::Number(value)).unwrap();
                assert_eq!(parameters.values().get(name), Some(Value::Number(value)));
            }
            for value in [least - 1.0, most * 2.0, f64::NAN] {
                assert!(parameters.set(name, &Value::Number(value)).unwrap_err().contains(name));
            }
            assert!(parameters.set(name, &Value::Numbers(vec![least])).is_err());
        }
        assert!(parameters.set("speed", &Value::Number(1.0)).unwrap_err().contains("whole_every"));
        assert_eq!(parameters.values().get("speed"), None);
    }

    #[test]
    fn a_region_has_two_corners() {
        let mut values = Values::default();
        values.set("region", &Value::Numbers(vec![-5.0, 1.0, 20.0, 30.0])).unwrap();
        assert_eq!(values.region, Some([-5.0, 1.0, 20.0, 30.0]));
        for bad in [vec![1.0], vec![0.0, 0.0, 0.5, 9.0], vec![0.0, 0.0, f64::NAN, 9.0], vec![0.0, 0.0, 3000.0, 9.0]] {
            assert!(values.set("region", &Value::Numbers(bad)).is_err());
        }
        assert!(values.set("region", &Value::Number(4.0)).is_err() && values.region.is_some());
        values.set("region", &Value::Numbers(Vec::new())).unwrap();
        assert_eq!(values.get("region"), Some(Value::Numbers(Vec::new())));
    }
}
