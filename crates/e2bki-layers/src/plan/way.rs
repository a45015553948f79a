//! A way, with what it costs and risks, as tables and for geographic programs.

use super::search::{pieces, straight};
use super::space::Space;
use crate::error::{Error, Result};
use crate::layers::Layers;

/// First line of a way as a table.
const HEADING: &str = "x,y,z,cost,risk";

/// A place on a way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Position; the height is that of the ground, not a number where it is not known.
    pub at: [f64; 3],
    /// Cost of the cell, 0 to 1.
    pub cost: f32,
    /// Probability of an obstacle within the robot's width.
    pub risk: f32,
}

/// A way from a start to a goal.
#[derive(Debug, Clone, PartialEq)]
pub struct Way {
    /// Places about a cell apart.
    pub steps: Vec<Step>,
    /// Places where it turns, as numbers of steps.
    pub corners: Vec<usize>,
    /// Length, metres.
    pub length: f64,
    /// Metres of the best ground that it is worth.
    pub cost: f64,
    /// The highest risk along it.
    pub risk: f64,
}

impl Way {
    pub(super) fn of(layers: &Layers, space: &Space, cells: &[usize]) -> Self {
        let grid = layers.grid();
        let step = |at: [f64; 2], read: [f64; 2]| {
            let cell = grid.cell(read).unwrap_or(0);
            let known = &layers.cells()[cell];
            let at = [at[0], at[1], f64::from(known.height)];
            Step { at, cost: if known.cost.is_nan() { 1.0 } else { known.cost }, risk: space.risk[cell] }
        };
        let (mut steps, mut corners) = (vec![step(grid.center(cells[0]), grid.center(cells[0]))], vec![0]);
        let (mut length, mut cost) = (0.0, 0.0);
        for pair in cells.windows(2) {
            let (a, b) = (grid.center(pair[0]), grid.center(pair[1]));
            let piece = (b[0] - a[0]).hypot(b[1] - a[1]);
            let parts = (piece / grid.resolution).ceil().max(1.0) as usize;
            let (pieces, at) =
                (pieces(grid, piece) as f64, |t: f64| std::array::from_fn(|i| a[i] * (1.0 - t) + b[i] * t));
            for part in 1..=parts {
                let t = part as f64 / parts as f64;
                // Read where the line was looked at: a step may lie on the corner of a cell that the way does not enter.
                steps.push(step(at(t), at(((t * pieces).ceil() - 0.5) / pieces)));
            }
            corners.push(steps.len() - 1);
            length += piece;
            cost += straight(grid, space, pair[0], pair[1]).unwrap_or(f64::INFINITY);
        }
        let risk = steps.iter().map(|step| f64::from(step.risk)).fold(0.0, f64::max);
        Self { steps, corners, length, cost, risk }
    }

    /// A line per step: x, y, z, cost, risk.
    pub fn to_csv(&self) -> String {
        let mut text = format!("{HEADING}\n");
        for Step { at: [x, y, z], cost, risk } in &self.steps {
            text += &format!("{x:.3},{y:.3},{},{cost:.4},{risk:.4}\n", number(*z));
        }
        text
    }

    /// Reads the steps that [`Self::to_csv`] wrote; an error names the line.
    pub fn steps_of_csv(text: &str) -> Result<Vec<Step>> {
        let mut lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        match lines.next() {
            Some((heading, _)) if heading.trim() == HEADING => {}
            _ => return Err(Error::Refused(format!("not a way: the first line must be `{HEADING}`"))),
        }
        let step = |(line, number): (&str, usize)| {
            let bad = || Error::Refused(format!("not a way: line {number} must hold five numbers as `{HEADING}`"));
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            let [x, y, z, cost, risk] = fields[..] else { return Err(bad()) };
            let read =
                |field: &str| field.parse::<f64>().ok().filter(|v| v.abs() <= e2bki::WORLD_LIMIT_M).ok_or_else(bad);
            let z = if z.is_empty() { f64::NAN } else { read(z)? };
            Ok(Step { at: [read(x)?, read(y)?, z], cost: read(cost)? as f32, risk: read(risk)? as f32 })
        };
        lines.map(step).collect()
    }

    /// A GeoJSON feature: the corners of the way as a line, in the map's metres moved by an origin. Readers take
    /// coordinates for degrees unless told otherwise.
    pub fn to_geojson(&self, origin: [f64; 2], epsg: Option<u16>) -> String {
        let place = |corner: &usize| {
            let [x, y, z] = self.steps[*corner].at;
            let (x, y) = (x + origin[0], y + origin[1]);
            if z.is_finite() { format!("[{x:.3},{y:.3},{z:.3}]") } else { format!("[{x:.3},{y:.3}]") }
        };
        let places: Vec<String> = self.corners.iter().map(place).collect();
        let system = epsg.map_or(String::new(), |epsg| {
            format!("\"crs\":{{\"type\":\"name\",\"properties\":{{\"name\":\"urn:ogc:def:crs:EPSG::{epsg}\"}}}},")
        });
        format!(
            "{{\"type\":\"FeatureCollection\",{system}\"features\":[{{\"type\":\"Feature\",\"properties\":{{\"length_m\":{:.3},\
             \"cost_m\":{:.3},\"risk\":{:.4}}},\"geometry\":{{\"type\":\"LineString\",\"coordinates\":[{}]}}}}]}}\n",
            self.length,
            self.cost,
            self.risk,
            places.join(",")
        )
    }
}

fn number(v: f64) -> String {
    if v.is_finite() { format!("{v:.3}") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let step = |x: f64, z: f64| Step { at: [x, -0.5, z], cost: 0.25, risk: 0.125 };
        let steps = vec![step(1.5, -1.25), step(2.5, f64::NAN)];
        let way = Way { steps: steps.clone(), corners: vec![0, 1], length: 1.0, cost: 2.0, risk: 0.125 };
        let read = Way::steps_of_csv(&way.to_csv()).unwrap();
        assert_eq!(read[0], steps[0]);
        assert!(read.len() == 2 && read[1].at[0] == 2.5 && read[1].at[2].is_nan());
        assert_eq!(Way::steps_of_csv(HEADING).unwrap(), []);
        for (bad, named) in [("", "first line"), ("a,b\n1,2", "first line"), ("x,y,z,cost,risk\n1,2,3,4", "line 2")] {
            assert!(Way::steps_of_csv(bad).unwrap_err().to_string().contains(named), "{bad}");
        }
        for number in ["1e300", "nan", "inf", "x"] {
            let text = format!("{HEADING}\n\n0,{number},0,0,0\n");
            assert!(Way::steps_of_csv(&text).unwrap_err().to_string().contains("line 3"), "{number}");
        }
    }
}
