//! Grids for planners, and ways on them, as arrays.

use std::path::PathBuf;

use e2bki::Mapper;
use e2bki_layers::{ClassCosts, Grid, LAYERS, Layers, Robot, Settings, UnknownClasses};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::arrays;
use crate::errors::{Failure, Result};

/// What was asked for.
pub(crate) struct Asked {
    resolution: f64,
    region: Option<[f64; 4]>,
    robot: Robot,
    unknown: UnknownClasses,
}

impl Asked {
    /// Arguments of the methods. A robot is a path to a TOML file or a dict of its fields.
    pub(crate) fn new(
        resolution: f64,
        region: Option<&Bound<'_, PyAny>>,
        robot: Option<&Bound<'_, PyAny>>,
        unknown: &str,
    ) -> Result<Self> {
        let unknown = match unknown {
            "error" => UnknownClasses::Refuse,
            "lethal" => UnknownClasses::Lethal,
            other => return Err(Failure::value(format!("`unknown` is \"error\" or \"lethal\"; got {other:?}"))),
        };
        let region = region.map(|region| arrays::numbers::<4>(region, "region")).transpose()?;
        let robot = robot.map(read_robot).transpose()?.unwrap_or_default();
        Ok(Self { resolution, region, robot, unknown })
    }

    /// The layers of a map.
    pub(crate) fn compute(self, map: &Mapper) -> std::result::Result<Layers, e2bki_layers::Error> {
        let [x0, y0, x1, y1] = match self.region {
            Some(region) => region,
            None if map.is_empty() => {
                return Err(e2bki_layers::Error::Refused("the map is empty: give a `region`".into()));
            }
            None => {
                let start = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
                map.primitives().fold(start, |[x0, y0, x1, y1], primitive| {
                    let [x, y, _] = primitive.mean();
                    [x0.min(x - 0.5), y0.min(y - 0.5), x1.max(x + 0.5), y1.max(y + 0.5)]
                })
            }
        };
        let costs = ClassCosts::of(map.classes(), &self.robot, self.unknown)?;
        let grid = Grid::covering([x0, y0], [x1, y1], self.resolution)?;
        Layers::of(map, grid, Settings::new(self.robot, costs))
    }
}

fn read_robot(value: &Bound<'_, PyAny>) -> Result<Robot> {
    let Ok(fields) = value.cast::<PyDict>() else {
        let path: PathBuf = value.extract().map_err(|_| Failure::kind("`robot` is a path or a dict of its fields"))?;
        return Ok(Robot::read(&path)?);
    };
    // Through JSON: every number, and a dict of costs, is what the file would hold.
    let text = value.py().import("json")?.call_method1("dumps", (fields,))?;
    let text = text.cast::<PyString>().map_err(PyErr::from)?.to_string();
    let table: toml::Table = serde_json::from_str(&text)?;
    let text = toml::to_string(&table).map_err(|e| Failure::value(format!("`robot`: {e}")))?;
    Ok(Robot::from_toml(&text, "`robot`")?)
}

/// Every layer as an array of rows × columns, row 0 the southernmost.
pub(crate) fn to_dict<'py>(py: Python<'py>, layers: &Layers) -> Result<Bound<'py, PyDict>> {
    let [width, height] = layers.grid().size;
    let dict = PyDict::new(py);
    for (name, _, _, value) in LAYERS {
        let values: Vec<f32> = layers.cells().iter().map(value).collect();
        dict.set_item(name, arrays::to_matrix(py, values, [height, width])?)?;
    }
    let classes: Vec<i32> = layers.cells().iter().map(|cell| cell.class).collect();
    dict.set_item("class", arrays::to_matrix(py, classes, [height, width])?)?;
    let states: Vec<u8> = layers.cells().iter().map(|cell| cell.state as u8).collect();
    dict.set_item("state", arrays::to_matrix(py, states, [height, width])?)?;
    let probability: Vec<f32> = (0..layers.grid().len()).flat_map(|cell| layers.probability(cell).to_vec()).collect();
    dict.set_item("probability", PyArray1::from_vec(py, probability).reshape([height, width, layers.classes()])?)?;
    let occupancy = e2bki_layers::formats::occupancy(layers);
    dict.set_item("occupancy", arrays::to_matrix(py, occupancy, [height, width])?)?;
    dict.set_item("corner", layers.grid().corner())?;
    dict.set_item("resolution", layers.grid().resolution)?;
    dict.set_item("taken_for_obstacles", layers.settings().costs.assumed.clone())?;
    Ok(dict)
}

/// A way as arrays.
pub(crate) fn way_dict<'py>(py: Python<'py>, way: &e2bki_layers::Way) -> Result<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("points", arrays::to_rows(py, way.steps.iter().map(|step| step.at).collect())?)?;
    dict.set_item("cost", PyArray1::from_iter(py, way.steps.iter().map(|step| step.cost)))?;
    dict.set_item("risk", PyArray1::from_iter(py, way.steps.iter().map(|step| step.risk)))?;
    dict.set_item("corners", PyArray1::from_iter(py, way.corners.iter().map(|corner| *corner as i64)))?;
    dict.set_item("length", way.length)?;
    dict.set_item("worth", way.cost)?;
    dict.set_item("max_risk", way.risk)?;
    Ok(dict)
}
