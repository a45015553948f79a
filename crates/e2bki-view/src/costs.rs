//! What driving costs a robot, tile by tile: the cost map that a planner would have.

use e2bki::{ClassSet, Mapper, PrimitiveState};
use e2bki_layers::{ClassCosts, Grid, Layers, Planner, Robot, Settings, UnknownClasses};
use serde_json::{Value, json};

use crate::encode::CostCell;
use crate::error::Result;
use crate::tile::Tile;

/// Side of a cell, metres.
pub(crate) const CELL_M: f64 = 0.2;
/// What is farther away than this from a tile changes nothing in it, metres: planes, steps and the robot's width reach so far.
pub(crate) const MARGIN_M: f64 = 6.0;

/// A robot, and what the classes of a map cost it.
#[derive(Debug, Clone)]
pub(crate) struct Driving(Settings);

impl Driving {
    /// For a robot; an error if nobody has said what a class costs.
    pub(crate) fn of(classes: &ClassSet, robot: &Robot) -> Result<Self> {
        let costs = ClassCosts::of(classes, robot, UnknownClasses::Refuse)?;
        Ok(Self(Settings::new(robot.clone(), costs)))
    }

    /// What the page is told of the robot.
    pub(crate) fn describe(&self) -> Value {
        json!({"width": self.0.robot.width, "length": self.0.robot.length, "cell": CELL_M})
    }

    /// The cells of a tile. `map` must hold everything up to [`MARGIN_M`] around it.
    pub(crate) fn cells(&self, map: &Mapper, tile: Tile) -> Result<Vec<CostCell>> {
        let ([x0, y0, _], [x1, y1, _]) = tile.bounds([0.0; 2]);
        let reach = MARGIN_M - 1.0;
        let grid = Grid::covering([x0 - reach, y0 - reach], [x1 + reach, y1 + reach], CELL_M)?;
        let layers = Layers::of(map, grid, self.0.clone())?;
        let planner = Planner::of(&layers);
        let one = |(index, cell): (usize, &e2bki_layers::Cell)| {
            let [x, y] = grid.center(index);
            let place = [x, y, f64::from(cell.height)];
            let inside = cell.height.is_finite() && tile.holds(place);
            Some(CostCell {
                label: u16::try_from(cell.class).ok()?,
                place,
                uncertainty: [cell.u_sem, cell.u_spa, cell.u],
                cost: planner.footprint_cost(index).filter(|_| inside)?,
            })
        };
        Ok(layers.cells().iter().enumerate().filter_map(one).collect())
    }
}

/// The states of all primitives that the costs of a tile depend on.
pub(crate) fn states_around(map: &Mapper, tile: Tile, heights: [f64; 2]) -> Vec<PrimitiveState> {
    let (low, high) = tile.bounds(heights);
    let (low, high) = (low.map(|v| v - MARGIN_M), high.map(|v| v + MARGIN_M));
    map.primitives_reaching(low, high).iter().map(e2bki::Primitive::state).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::{Config, Frame, Pose, Semantics};

    /// Rolling ground around the corner of four tiles, with posts on it.
    fn map() -> Mapper {
        let classes = ClassSet::from_names(["road", "grass", "tree"]).unwrap();
        let classes = classes.with_costs([("road", 0), ("grass", 20), ("tree", 100)]).unwrap();
        let mut map = Mapper::new(classes, Config::default()).unwrap();
        let (mut points, mut labels) = (Vec::new(), Vec::new());
        for i in 0..200 {
            for j in 0..200 {
                let (x, y) = (0.1 * i as f32 - 10.0, 0.1 * j as f32 - 10.0);
                points.push([x, y, -1.0 + 0.3 * (0.5 * x).sin() * (0.4 * y).cos()]);
                labels.push(u32::from(x * y > 0.0));
                if i % 40 == 20 && j % 40 == 3 {
                    points.extend((0..20).map(|k| [x, y, -1.0 + 0.08 * k as f32]));
                    labels.extend([2; 20]);
                }
            }
        }
        let frame = Frame {
            points: &points,
            semantics: Semantics::Labels(&labels),
            world_from_sensor: Pose::IDENTITY,
            scan: None,
        };
        map.insert(&frame).unwrap();
        map
    }

    #[test]
    fn the_cells_of_a_tile_are_those_of_the_whole_map() {
        let map = map();
        let driving = Driving::of(map.classes(), &Robot::default()).unwrap();
        let mut cells = Vec::new();
        for tile in [Tile([-1, -1]), Tile([0, -1]), Tile([-1, 0]), Tile([0, 0])] {
            let states = states_around(&map, tile, [-3.0, 3.0]);
            let part = Mapper::restore(map.classes().clone(), map.config().clone(), 0, map.next_id(), states).unwrap();
            cells.extend(driving.cells(&part, tile).unwrap());
        }
        let grid = Grid::covering([-12.0; 2], [12.0; 2], CELL_M).unwrap();
        let layers = Layers::of(&map, grid, driving.0.clone()).unwrap();
        let planner = Planner::of(&layers);
        let mut costs: Vec<Option<f32>> = (0..grid.len()).map(|cell| planner.footprint_cost(cell)).collect();
        assert!(
            cells.len() > 9000 && cells.iter().any(|cell| cell.cost == 1.0) && cells.iter().any(|cell| cell.cost < 0.3)
        );
        for cell in cells {
            let index = grid.cell([cell.place[0], cell.place[1]]).unwrap();
            assert_eq!(costs[index].take(), Some(cell.cost), "{cell:?}");
            assert_eq!(f64::from(layers.cells()[index].height), cell.place[2]);
        }
        let left = (0..grid.len()).filter(|cell| costs[*cell].is_some() && layers.cells()[*cell].class >= 0);
        assert_eq!(left.count(), 0, "every cell whose class is known is in a tile");
    }

    #[test]
    fn without_costs_of_the_classes_there_is_nobody_to_drive() {
        let unknown = ClassSet::from_names(["lava"]).unwrap();
        assert!(Driving::of(&unknown, &Robot::default()).unwrap_err().to_string().contains("lava"));
    }
}
