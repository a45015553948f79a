//! Layers for planners in a node without a network: those of the map, kept up to date as scans come.

#[cfg(test)]
mod common;

#[cfg(test)]
mod tests {
    use e2bki_bag::wire::{Reader, Wire};
    use e2bki_data::ClassTable;
    use e2bki_layers::{ClassCosts, Grid, LAYERS, Layers, Planner, Robot, Settings, UnknownClasses};
    use e2bki_live::{Clock, Inputs, MOST_BYTES, Node, Output, Planning, PlanningOptions, PoseSource, Value};

    use crate::common::{CLASSES, Kept, drive, eager, empty, nobody, options};

    fn settings() -> Settings {
        let classes = ClassTable::open(CLASSES).unwrap();
        let costs = ClassCosts::of(classes.classes(), &Robot::default(), UnknownClasses::Refuse).unwrap();
        Settings::new(Robot::default(), costs)
    }

    fn planning(names: &[&str]) -> Planning {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let layers = PlanningOptions::layers_of(&names).unwrap();
        Planning::new(PlanningOptions { settings: settings(), cell: 0.2, layers })
    }

    /// Columns and rows, corner, and values of an `OccupancyGrid`.
    fn costs(message: &[u8]) -> ([usize; 2], [f64; 2], Vec<i8>) {
        let mut fields = Reader::new(Wire::Cdr, message).unwrap();
        let _ = [fields.u32().unwrap(), fields.u32().unwrap()];
        assert_eq!(fields.text().unwrap(), "map");
        let _ = [fields.u32().unwrap(), fields.u32().unwrap()];
        assert_eq!(f32::from_bits(fields.u32().unwrap()), 0.2);
        let size = [fields.u32().unwrap() as usize, fields.u32().unwrap() as usize];
        let pose: [f64; 7] = fields.f64s().unwrap();
        (size, [pose[0], pose[1]], fields.bytes().unwrap().iter().map(|v| *v as i8).collect())
    }

    /// Resolution, lengths, middle, and layers with columns, rows and values of a `GridMap`, as `grid_map` lays it out.
    type GridMap = (f64, [f64; 2], [f64; 2], Vec<(String, [usize; 2], Vec<f32>)>);

    fn grid_map(message: &[u8]) -> GridMap {
        let mut fields = Reader::new(Wire::Cdr, message).unwrap();
        let _ = [fields.u32().unwrap(), fields.u32().unwrap()];
        assert_eq!(fields.text().unwrap(), "map");
        let [resolution, x, y]: [f64; 3] = fields.f64s().unwrap();
        let pose: [f64; 7] = fields.f64s().unwrap();
        let names: Vec<String> = (0..fields.u32().unwrap()).map(|_| fields.text().unwrap().to_string()).collect();
        assert_eq!((fields.u32().unwrap(), fields.u32().unwrap() as usize), (0, names.len()));
        let mut layers = Vec::new();
        for name in names {
            assert_eq!((fields.u32().unwrap(), fields.text().unwrap()), (2, "column_index"));
            let columns = fields.u32().unwrap() as usize;
            assert_eq!(fields.u32().unwrap() as usize % columns, 0);
            assert_eq!(fields.text().unwrap(), "row_index");
            let rows = fields.u32().unwrap() as usize;
            let _ = [fields.u32().unwrap(), fields.u32().unwrap()];
            let count = fields.u32().unwrap();
            let values: Vec<f32> = (0..count).map(|_| f32::from_bits(fields.u32().unwrap())).collect();
            layers.push((name, [columns, rows], values));
        }
        (resolution, [x, y], [pose[0], pose[1]], layers)
    }

    #[test]
    fn layers_and_costs_are_those_of_the_map_and_follow_it() {
        let inputs = Inputs::new(PoseSource::Tf("map".into()), 20, Clock::new(false)).with(eager());
        let (outlet, mut map) = (Kept::default(), empty());
        let mut node = Node::new(&inputs, &outlet, options());
        node.plan(planning(&[]));
        for (kind, _, message) in drive(12) {
            inputs.take(kind, &message);
            while node.step(&mut map, &nobody()) {}
        }
        node.finish(&mut map);
        let (whole, refreshed) = node.planning().map(|p| (p.from_nothing, p.refreshed)).unwrap();
        assert!(whole == 1 && refreshed >= 11, "{whole} from nothing, {refreshed} brought up to date");
        assert_eq!(node.account.no_layers, None);
        // From nothing, of a larger region.
        let grid = Grid::covering([-40.0; 2], [40.0; 2], 0.2).unwrap();
        let exact = Layers::of(&map.0, grid, settings()).unwrap();
        let planner = Planner::of(&exact);

        let told = outlet.of(Output::Costmap);
        assert!(told.len() >= 12);
        let (size, corner, values) = costs(told.last().unwrap());
        assert_eq!((size, values.len()), ([100, 100], 10_000));
        for (index, value) in values.iter().enumerate() {
            let place = [0, 1].map(|i| corner[i] + 0.2 * ([index % 100, index / 100][i] as f64 + 0.5));
            let expected = match planner.footprint_cost(grid.cell(place).unwrap()) {
                None => -1,
                Some(1.0..) => 100,
                Some(cost) => (99.0 * cost).round() as i8,
            };
            assert_eq!(*value, expected, "{place:?}");
        }
        assert!(values.contains(&-1) && values.iter().any(|v| *v >= 0));

        let told = outlet.of(Output::Layers);
        assert!(told.iter().all(|message| message.len() <= MOST_BYTES));
        let (resolution, length, middle, layers) = grid_map(told.last().unwrap());
        assert_eq!((resolution, layers.len()), (0.2, LAYERS.len()));
        for ((name, [columns, rows], values), (expected, _, _, value)) in layers.iter().zip(LAYERS) {
            assert_eq!(name, expected);
            assert!((length[0] - 0.2 * *rows as f64).abs() < 1e-9 && *columns > 90);
            // The first value is that of highest x and y; rows go down in x, columns in y.
            for (index, value_told) in values.iter().enumerate() {
                let (row, column) = (index % rows, index / rows);
                let x = middle[0] + 0.5 * length[0] - 0.2 * (row as f64 + 0.5);
                let y = middle[1] + 0.5 * length[1] - 0.2 * (column as f64 + 0.5);
                let here = value(&exact.cells()[grid.cell([x, y]).unwrap()]);
                assert_eq!(value_told.to_bits(), here.to_bits(), "{name} at {x}, {y}");
            }
        }
    }

    #[test]
    fn a_robot_that_goes_far_takes_its_grid_along_and_a_region_stays() {
        let inputs = Inputs::new(PoseSource::Tf("map".into()), 200, Clock::new(false)).with(eager());
        let (outlet, mut map) = (Kept::default(), empty());
        let mut node = Node::new(&inputs, &outlet, options());
        node.plan(planning(&["height", "cost"]));
        // 0.3 m a scan and 5 m of slack: a grid now and then.
        for (kind, _, message) in drive(40) {
            inputs.take(kind, &message);
            while node.step(&mut map, &nobody()) {}
        }
        let (whole, refreshed) = node.planning().map(|p| (p.from_nothing, p.refreshed)).unwrap();
        assert!((2..6).contains(&whole) && refreshed > 30, "{whole} from nothing, {refreshed} brought up to date");
        let (size, corner, _) = costs(outlet.of(Output::Costmap).last().unwrap());
        assert!(size == [100, 100] && corner[0] > 1.0, "{corner:?}");
        // Two layers reach as far as the costs.
        let (_, length, _, layers) = grid_map(outlet.of(Output::Layers).last().unwrap());
        assert!(layers.len() == 2 && length.iter().all(|side| (side - 20.0).abs() < 0.3), "{length:?}");

        inputs.parameters.set("region", &Value::Numbers(vec![-4.0, -2.0, 6.0, 2.0])).unwrap();
        node.finish(&mut map);
        let (size, corner, values) = costs(outlet.of(Output::Costmap).last().unwrap());
        assert_eq!((size, values.len()), ([50, 20], 1000));
        assert!((corner[0] + 4.0).abs() < 0.21 && (corner[1] + 2.0).abs() < 0.21, "{corner:?}");
        let wrong = PlanningOptions::layers_of(&["hight".into()]).unwrap_err();
        assert!(wrong.contains("`hight`") && wrong.contains("height"), "{wrong}");
    }
}
