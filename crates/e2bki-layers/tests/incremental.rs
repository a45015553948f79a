//! Layers that follow a map are those that are computed from nothing, bit for bit.

#[cfg(test)]
mod tests {
    use e2bki::free::State;
    use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
    use e2bki_layers::{Area, ClassCosts, Grid, LAYERS, Layers, Robot, Settings, UnknownClasses};
    use proptest::prelude::*;

    fn classes() -> ClassSet {
        let classes = ClassSet::from_names(["road", "grass", "tree"]).unwrap();
        classes.with_costs([("road", 0), ("grass", 20), ("tree", 100)]).unwrap()
    }

    fn settings() -> Settings {
        let costs = ClassCosts::of(&classes(), &Robot::default(), UnknownClasses::Refuse).unwrap();
        Settings::new(Robot::default(), costs)
    }

    fn insert(map: &mut Mapper, points: &[[f32; 3]], labels: &[u32]) {
        let frame =
            Frame { points, semantics: Semantics::Labels(labels), world_from_sensor: Pose::IDENTITY, scan: None };
        map.insert(&frame).unwrap();
    }

    /// All values as bits: not a number is equal to itself.
    fn of_cell(layers: &Layers, cell: usize) -> Vec<u32> {
        let values = LAYERS.iter().map(|(_, _, _, value)| value(&layers.cells()[cell]).to_bits());
        values.chain(layers.probability(cell).iter().map(|p| p.to_bits())).collect()
    }

    fn bits(layers: &Layers) -> Vec<u32> {
        (0..layers.grid().len()).flat_map(|cell| of_cell(layers, cell)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn following_equals_computing_anew(
            frames in prop::collection::vec(
                (prop::array::uniform2(-12.0..12.0_f32), 0..3_u32, 0.0..2.5_f32, 30..250_usize), 2..7),
            resolution in prop::sample::select(vec![0.1, 0.2, 0.37, 1.3]),
            shift in -2.0..2.0_f64,
            corner in prop::array::uniform2(-9.0..6.0_f64),
        ) {
            let mut map = Mapper::new(classes(), Config::default()).unwrap();
            let grid = Grid::covering([-8.0 + shift, -9.0], [9.0, 7.5 + shift], resolution).unwrap();
            let mut layers = Layers::of(&map, grid, settings()).unwrap();
            let mut part = layers.clone();
            prop_assert!(layers.cells().iter().all(|cell| cell.state == State::Unknown));
            for (k, (middle, class, height, count)) in frames.into_iter().enumerate() {
                // A patch of ground, tilted, and a thing on it.
                let mut points = Vec::new();
                for i in 0..count {
                    let (a, b) = ((i * 7 % 31) as f32 * 0.1 - 1.5, (i * 13 % 37) as f32 * 0.1 - 1.8);
                    points.push([middle[0] + a, middle[1] + b, -1.0 + 0.1 * a]);
                }
                let mut labels = vec![u32::from(k % 2 == 1); count];
                for i in 0..20 {
                    points.push([middle[0], middle[1] + 0.01 * i as f32, -1.0 + height * i as f32 / 20.0]);
                    labels.push(class);
                }
                insert(&mut map, &points, &labels);
                let refreshed = layers.refresh(&map).unwrap();
                prop_assert!(!refreshed.everything && refreshed.cells <= grid.len());
                let anew = Layers::of(&map, grid, settings()).unwrap();
                prop_assert!(bits(&layers) == bits(&anew), "frame {k}");
                prop_assert_eq!((refreshed.waiting, refreshed.oldest), (0, 0));
                // Of a part, all that does not wait is as from nothing, and nothing waits in it.
                let parts = [
                    Area::Around([f64::from(middle[0]), 0.0], 2.0),
                    Area::Between(corner, [corner[0] + 3.0, corner[1] + 1.0]),
                ];
                for area in &parts[..1 + k % 2] {
                    let some = part.refresh_within(&map, area).unwrap();
                    prop_assert_eq!(some.waiting, (0..grid.len()).filter(|cell| part.is_waiting(*cell)).count());
                    prop_assert!(some.waiting == 0 || some.oldest >= 1 && some.oldest <= 2 * k as u32 + 2);
                    for cell in 0..grid.len() {
                        let [x, y] = grid.center(cell);
                        let inside = match area {
                            Area::Everywhere => true,
                            Area::Around(at, metres) => (x - at[0]).hypot(y - at[1]) <= *metres,
                            Area::Between(low, high) => x >= low[0] && y >= low[1] && x <= high[0] && y <= high[1],
                        };
                        prop_assert!(!(inside && part.is_waiting(cell)));
                        if !part.is_waiting(cell) {
                            prop_assert_eq!(of_cell(&part, cell), of_cell(&anew, cell), "cell {}", cell);
                        }
                    }
                }
            }
            part.refresh(&map).unwrap();
            prop_assert!(bits(&part) == bits(&layers), "what waited is not what it should be");
            let nothing = layers.refresh(&map).unwrap();
            prop_assert_eq!(nothing.cells, 0);
            // Another map with the same number of changes is noticed.
            let mut other = Mapper::new(classes(), Config::default()).unwrap();
            insert(&mut other, &[[1.0, 1.0, -1.0]; 30], &[0; 30]);
            prop_assert!(layers.refresh(&other).unwrap().everything);
            let anew = Layers::of(&other, grid, settings()).unwrap();
            prop_assert!(bits(&layers) == bits(&anew));
        }
    }

    /// Frames of ground ahead of a sensor that moves, with something that stands in its way for the first three.
    fn walk(map: &mut Mapper, index: usize) {
        let mut points = Vec::new();
        for column in 0..360 {
            for beam in 0..24 {
                let (turn, down) = ((column as f32).to_radians(), (1.0 + beam as f32).to_radians());
                let wall = index < 3 && turn.cos() > 0.9;
                let range = (1.5 / down.sin()).min(if wall { 4.0 / (turn.cos() * down.cos()) } else { f32::MAX });
                if range < 30.0 {
                    points.push([
                        turn.cos() * down.cos() * range,
                        turn.sin() * down.cos() * range,
                        -down.sin() * range,
                    ]);
                }
            }
        }
        let labels: Vec<u32> = points.iter().map(|p| if p[2] > -1.45 { 2 } else { 0 }).collect();
        let world_from_sensor = Pose::from_translation([0.3 * index as f64, 0.1, 0.0]).unwrap();
        map.insert(&Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None })
            .unwrap();
    }

    #[test]
    fn a_map_that_sees_through_things_is_followed_as_well() {
        let config = Config::default().with(|c| c.free_space.enabled = true);
        let mut map = Mapper::new(classes(), config).unwrap();
        let grid = Grid::covering([-12.0, -12.0], [14.0, 12.0], 0.25).unwrap();
        let mut layers = Layers::of(&map, grid, settings()).unwrap();
        let mut part = layers.clone();
        let occupied = |layers: &Layers| layers.cells().iter().filter(|cell| cell.state == State::Occupied).count();
        let mut most = 0;
        for index in 0..9 {
            map.name_next_frame(index as u64, Some(1.7e9 + 10.0 * index as f64));
            walk(&mut map, index);
            let refreshed = layers.refresh(&map).unwrap();
            assert!(!refreshed.everything);
            let anew = Layers::of(&map, grid, settings()).unwrap();
            assert!(bits(&layers) == bits(&anew), "frame {index}");
            let area = Area::Around([0.3 * index as f64, 0.1], 4.0);
            for area in [area, Area::Between([-9.0, 3.0], [-4.0, 8.0])].into_iter().take(1 + index % 2) {
                part.refresh_within(&map, &area).unwrap();
                let right = |cell: usize| of_cell(&part, cell) == of_cell(&anew, cell);
                assert!((0..grid.len()).all(|cell| part.is_waiting(cell) || right(cell)), "frame {index}");
                assert!(!part.is_waiting(grid.cell([0.3 * index as f64 + 3.9, 0.1]).unwrap()));
            }
            most = most.max(occupied(&layers));
        }
        part.refresh(&map).unwrap();
        assert!(bits(&part) == bits(&layers));
        assert!(map.primitives().any(|p| p.is_gone()), "nothing was seen through");
        assert_eq!(layers.begin(), Some(1.7e9));
        let at = |x: f64, y: f64| layers.cells()[grid.cell([x, y]).unwrap()];
        assert_eq!(at(5.1, 0.1).last_seen, 80.0);
        assert!(layers.cells().iter().all(|cell| cell.height.is_finite() || cell.last_seen.is_nan()));
        assert!(most > 20 && occupied(&layers) < most, "{most} occupied, then {}", occupied(&layers));
    }

    #[test]
    fn a_wall_a_step_and_a_branch_are_told_apart() {
        let mut map = Mapper::new(classes(), Config::default()).unwrap();
        let (mut points, mut labels) = (Vec::new(), Vec::new());
        let mut add = |point: [f32; 3], label: u32| {
            points.push(point);
            labels.push(label);
        };
        for i in 0..200 {
            for j in 0..200 {
                let (x, y) = (2.0 + 0.05 * i as f32, -5.0 + 0.05 * j as f32);
                add([x, y, -1.5 + 0.2 * (x - 7.0).max(0.0)], 0);
            }
        }
        for i in 0..40 {
            for j in 0..40 {
                // A wall at y = 2 from x = 3 to 5, and a branch at y = -3, 2 m above the ground.
                add([3.0 + 0.05 * i as f32, 2.0, -1.5 + 0.05 * j as f32], 2);
                add([3.0 + 0.05 * i as f32, -3.0 + 0.01 * j as f32, 0.5], 2);
            }
        }
        insert(&mut map, &points, &labels);
        let grid = Grid::covering([2.0, -5.0], [12.0, 5.0], 0.2).unwrap();
        let layers = Layers::of(&map, grid, settings()).unwrap();
        let at = |x: f64, y: f64| layers.cells()[grid.cell([x, y]).unwrap()];
        let flat = at(4.1, -0.9);
        assert!((flat.height + 1.5).abs() < 0.02 && flat.slope < 1.0 && flat.cost < 0.2, "{flat:?}");
        assert_eq!((flat.state, flat.class), (State::Free, 0));
        let wall = at(4.1, 2.05);
        assert!(wall.lethal > 0.9, "{wall:?}");
        assert_eq!(wall.state, State::Occupied);
        let under = at(4.1, -2.9);
        assert!(under.lethal < 0.3 && (under.overhang - 2.0).abs() < 0.3, "{under:?}");
        let slope = at(10.1, 0.1);
        assert!((f64::from(slope.slope) - 0.2_f64.atan().to_degrees()).abs() < 1.0, "{slope:?}");
        assert!((f64::from(slope.height) - (-1.5 + 0.2 * 3.1)).abs() < 0.04, "{slope:?}");
        let nowhere = Layers::of(&map, Grid::covering([50.0, 50.0], [60.0, 60.0], 0.5).unwrap(), settings()).unwrap();
        assert!(nowhere.cells().iter().all(|cell| cell.state == State::Unknown && cell.height.is_nan()));
    }
}
