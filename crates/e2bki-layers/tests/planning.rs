//! Ways against an independent search, and the errors that people meet.

#[cfg(test)]
mod tests {
    use e2bki::ClassSet;
    use e2bki::free::State;
    use e2bki_layers::{Cell, ClassCosts, Grid, Layers, Planner, Robot, Settings, UnknownClasses, plan};
    use proptest::prelude::*;

    const SIDE: usize = 14;

    /// A grid of one-metre cells for a robot so small that a cell is all it touches.
    fn layers(costs: &[Option<f32>], robot: Robot) -> Layers {
        let classes = ClassSet::from_names(["road"]).unwrap().with_costs([("road", 0)]).unwrap();
        let table = ClassCosts::of(&classes, &robot, UnknownClasses::Refuse).unwrap();
        let grid = Grid::covering([0.0; 2], [SIDE as f64; 2], 1.0).unwrap();
        let cells = costs
            .iter()
            .map(|cost| match cost {
                Some(c) if *c < 1.0 => {
                    Cell { height: 0.0, state: State::Free, lethal: 0.0, cost: *c, risk_cost: *c, ..Cell::UNKNOWN }
                }
                Some(_) => Cell { state: State::Occupied, lethal: 1.0, cost: 1.0, risk_cost: 1.0, ..Cell::UNKNOWN },
                None => Cell::UNKNOWN,
            })
            .collect();
        Layers::from_cells(grid, Settings::new(robot, table), cells).unwrap()
    }

    fn small() -> Robot {
        Robot { width: 0.5, clearance: 0.0, ..Robot::default() }
    }

    /// The cost of the cheapest chain of neighbours, by relaxing every edge until nothing changes.
    fn cheapest(costs: &[Option<f32>], start: usize, goal: usize) -> Option<f64> {
        let weight = |cell: usize| costs[cell].filter(|c| *c < 1.0).map(|c| 1.0 + 4.0 * f64::from(c));
        let mut spent = vec![f64::INFINITY; costs.len()];
        spent[start] = 0.0;
        loop {
            let mut changed = false;
            for cell in 0..costs.len() {
                let (Some(own), (x, y)) = (weight(cell), ((cell % SIDE) as i64, (cell / SIDE) as i64)) else {
                    continue;
                };
                for (dx, dy) in [(1, 0), (0, 1), (1, 1), (1, -1), (-1, 0), (0, -1), (-1, -1), (-1, 1)] {
                    let (nx, ny) = (x + dx, y + dy);
                    if !(0..SIDE as i64).contains(&nx) || !(0..SIDE as i64).contains(&ny) {
                        continue;
                    }
                    let next = ny as usize * SIDE + nx as usize;
                    let Some(other) = weight(next) else { continue };
                    let step = if dx * dy == 0 { 1.0 } else { 2.0_f64.sqrt() };
                    let cost = spent[cell] + 0.5 * step * (own + other);
                    if cost < spent[next] - 1e-9 {
                        spent[next] = cost;
                        changed = true;
                    }
                }
            }
            if !changed {
                return spent[goal].is_finite().then_some(spent[goal]);
            }
        }
    }

    proptest! {
        #[test]
        fn a_way_is_found_if_there_is_one_and_costs_no_more_than_the_cheapest_chain(
            costs in prop::collection::vec(prop::option::weighted(0.9, prop::sample::select(vec![0.0, 0.0, 0.2, 0.7, 1.0_f32])), SIDE * SIDE),
            ends in prop::array::uniform2(0..SIDE * SIDE),
        ) {
            let passable = |cell: usize| costs[cell].is_some_and(|c| c < 1.0);
            prop_assume!(ends.iter().all(|cell| passable(*cell)));
            let layers = layers(&costs, small());
            let (from, to) = (layers.grid().center(ends[0]), layers.grid().center(ends[1]));
            let found = plan(&layers, from, to);
            match cheapest(&costs, ends[0], ends[1]) {
                None => prop_assert!(found.unwrap_err().to_string().contains("no way")),
                Some(best) => {
                    let way = found.unwrap();
                    // A chain's cost is at the cells' edges, a way's along it: equal where the way is the chain.
                    prop_assert!(way.cost <= best + 1e-3, "{} {best}", way.cost);
                    // Also where it passes between two obstacles that touch at a corner.
                    prop_assert_eq!(way.risk, 0.0);
                    prop_assert!(way.length >= (to[0] - from[0]).hypot(to[1] - from[1]) - 1e-9);
                    prop_assert_eq!(&way.steps[0].at[..2], &from[..]);
                    prop_assert_eq!(&way.steps[way.steps.len() - 1].at[..2], &to[..]);
                    // Places on an edge belong to a cell beside the way.
                    let inside = |v: &f64| (v - v.round()).abs() > 1e-6;
                    for step in way.steps.iter().filter(|step| step.at[..2].iter().all(inside)) {
                        let cell = layers.grid().cell([step.at[0], step.at[1]]).unwrap();
                        prop_assert!(passable(cell));
                    }
                }
            }
        }
    }

    #[test]
    fn a_wide_robot_does_not_fit_where_a_narrow_one_does() {
        let mut costs = vec![Some(0.0); SIDE * SIDE];
        for y in 0..SIDE {
            costs[y * SIDE + 7] = Some(if y == 3 { 0.0 } else { 1.0 });
        }
        let layers = layers(&costs, small());
        let (from, to) = ([1.5, 10.5], [12.5, 10.5]);
        let way = plan(&layers, from, to).unwrap();
        assert!(way.length > 14.0 && way.risk == 0.0, "{}", way.length);
        let wide = Planner::with(&layers, Robot { width: 3.0, ..small() });
        assert!(wide.plan(from, to).err().unwrap().to_string().contains("no way"));
        let csv = way.to_csv();
        assert_eq!((csv.lines().next(), csv.lines().count()), (Some("x,y,z,cost,risk"), way.steps.len() + 1));
        let json = way.to_geojson([100.0, 200.0], Some(32632));
        assert!(
            json.contains("[101.500,210.500,0.000]") && json.contains("EPSG::32632") && json.contains("LineString")
        );
    }

    #[test]
    fn the_robot_does_not_stand_half_beyond_what_was_seen_and_holes_do_not_stop_it() {
        let robot = Robot { width: 4.0, ..small() };
        // Known ground up to the sixth row, with and without holes.
        let edge = |hole: bool| {
            let mut costs = vec![Some(0.0); SIDE * SIDE];
            for (cell, cost) in costs.iter_mut().enumerate() {
                let (x, y) = (cell % SIDE, cell / SIDE);
                *cost = (y <= 6 && !(hole && x % 3 == 1 && y % 3 == 1)).then_some(0.0);
            }
            layers(&costs, robot.clone())
        };
        for hole in [false, true] {
            let layers = edge(hole);
            let open = |y: f64| Planner::of(&layers).plan([3.5, y], [9.5, y]);
            assert!(open(3.5).is_ok(), "{hole}");
            assert!(open(6.5).err().unwrap().to_string().contains("too little is known"), "{hole}");
            // Beyond the grid nothing is known, either.
            assert!(open(0.5).err().unwrap().to_string().contains("too little is known"), "{hole}");
        }
    }

    #[test]
    fn what_cannot_be_planned_is_said() {
        let mut costs = vec![Some(0.0); SIDE * SIDE];
        (costs[0], costs[1]) = (Some(1.0), None);
        let grid = layers(&costs, small());
        let message = |from, to| plan(&grid, from, to).err().unwrap().to_string();
        assert!(message([0.5, 0.5], [5.5, 5.5]).contains("the start 0.5,0.5 is in or too near to an obstacle"));
        assert!(message([5.5, 5.5], [1.5, 0.5]).contains("too little is known"));
        assert!(
            message([5.5, 5.5], [99.0, 0.5]).contains("outside of the grid, which spans from 0.0,0.0 to 14.0,14.0")
        );
        // Whoever takes the risk may go there.
        let bold = Planner::with(&grid, Robot { unknown_cost: 50, ..small() });
        assert!(bold.plan([5.5, 5.5], [1.5, 0.5]).is_ok());
    }
}
