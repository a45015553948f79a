//! What planners want of a map, as messages: layers and costs around the sensor.

use anyhow::Result;
use e2bki::Mapper;
use e2bki_bag::compose::{self, Layers as Message};
use e2bki_bag::{Schema, schemas};
use e2bki_layers::{ClassCosts, Grid, LAYERS, Layers, Robot, Settings, UnknownClasses, formats};

/// Half the side of the square around the sensor, and side of a cell, metres.
const HALF_M: f64 = 50.0;
const CELL_M: f64 = 0.2;

/// What each class costs a usual robot; an error that names the classes of which nobody has said it.
pub(super) fn costs(map: &Mapper) -> Result<ClassCosts> {
    Ok(ClassCosts::of(map.classes(), &Robot::default(), UnknownClasses::Refuse)?)
}

/// The layers and the costs for a usual robot.
pub(super) fn all(
    map: &Mapper,
    costs: ClassCosts,
    stamp: u64,
    frame: &str,
    origin: [f64; 3],
    sensor: [f64; 3],
) -> Result<Vec<(&'static str, Schema, Vec<u8>)>> {
    let robot = Robot::default();
    let corner = |sign: f64| [sensor[0] + sign * HALF_M, sensor[1] + sign * HALF_M];
    let grid = Grid::covering(corner(-1.0), corner(1.0), CELL_M)?;
    let layers = Layers::of(map, grid, Settings::new(robot, costs))?;
    let values: Vec<(&str, Vec<f32>)> =
        LAYERS.iter().map(|(name, _, _, value)| (*name, layers.cells().iter().map(value).collect())).collect();
    let corner = grid.corner();
    let corner = [corner[0] - origin[0], corner[1] - origin[1]];
    let message = Message { resolution: CELL_M, corner, size: grid.size, layers: &values };
    let occupied = formats::occupancy(&layers);
    let costs = compose::occupancy_grid(stamp, frame, CELL_M, [corner[0], corner[1], 0.0], grid.size, &occupied);
    Ok(vec![
        ("/map/layers", schemas::GRID_MAP, compose::grid_map(stamp, frame, &message)),
        ("/map/costmap", schemas::OCCUPANCY_GRID, costs),
    ])
}
