//! The values of ROS messages: plain numbers in the order in which the messages hold them.

use e2bki::free::State;

use crate::cell::Cell;
use crate::layers::Layers;

/// Most cost of what can be driven on, in an occupancy grid.
const MOST_FREE: f32 = 99.0;

/// Occupancy of a cell: −1 unknown, 0 to 99 cost, 100 not to be driven on.
pub(super) fn occupancy_of(cell: &Cell, max_risk: f64) -> i8 {
    if cell.state == State::Unknown {
        -1
    } else if cell.state == State::Occupied || f64::from(cell.lethal) > max_risk {
        100
    } else {
        (MOST_FREE * cell.risk_cost).round().clamp(0.0, MOST_FREE) as i8
    }
}

/// The data of a `nav_msgs/OccupancyGrid`: row by row from south to north, −1 unknown, 0 to 99 cost, 100 not to be driven on.
/// Its `info` is the [`Grid`](crate::Grid): resolution, width, height and the corner as origin.
pub fn occupancy(layers: &Layers) -> Vec<i8> {
    let max_risk = layers.settings().robot.max_risk;
    layers.cells().iter().map(|cell| occupancy_of(cell, max_risk)).collect()
}

/// One layer of a `grid_map_msgs/GridMap`.
#[derive(Debug, Clone, PartialEq)]
pub struct GridMapLayer {
    /// Sizes of `column_index` (along y) and `row_index` (along x), the order of the message's layout.
    pub columns: usize,
    /// Rows.
    pub rows: usize,
    /// Values, column by column: the first is the one of highest x and y, the next the one to the south of it in x.
    pub data: Vec<f32>,
    /// Middle of the map, metres: the pose of the message.
    pub center: [f64; 2],
    /// Lengths along x and y, metres.
    pub length: [f64; 2],
}

/// A layer as a `grid_map_msgs/GridMap` holds it; nothing for a name that is none.
pub fn grid_map(layers: &Layers, name: &str) -> Option<GridMapLayer> {
    let values = layers.layer(name)?;
    let grid = layers.grid();
    let [width, height] = grid.size;
    // Rows go down in x and columns down in y.
    let columns = (0..height).rev().map(|y| (0..width).rev().map(move |x| y * width + x));
    let data = columns.flatten().map(|cell| values[cell]).collect();
    let length = grid.size.map(|n| n as f64 * grid.resolution);
    let corner = grid.corner();
    let center = std::array::from_fn(|i| corner[i] + 0.5 * length[i]);
    Some(GridMapLayer { columns: height, rows: width, data, center, length })
}
