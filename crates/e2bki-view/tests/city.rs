//! A map that is read tile by tile is drawn as one that is in memory, and of a large one little is held.

#[cfg(test)]
mod common;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    use e2bki::{ClassSet, Config, Frame, Mapper, Pose, PrimitiveState, Semantics};
    use e2bki_view::{CityEntry, CitySource, CityTile, Scene, Scenes, ServeOptions, Server};
    use serde_json::{Value, json};

    use crate::common::{Browser, assert_same, things};

    fn street() -> Mapper {
        let classes = ClassSet::from_names(["road", "wall", "tree"]).unwrap();
        let classes = classes.with_costs([("road", 0), ("wall", 100), ("tree", 100)]).unwrap();
        let mut map = Mapper::new(classes, Config::default().with(|c| c.views.live_voxels = false)).unwrap();
        for step in 0..12 {
            let value = |i: u32, k: u32| ((step * 911 + i * 37 + k * 61) % 500) as f32 * 0.02;
            let points: Vec<[f32; 3]> =
                (0..1500).map(|i| [1.0 + value(i, 0) + (i % 7) as f32, value(i, 1) - 5.0, 0.2 * value(i, 2)]).collect();
            let labels: Vec<u32> = (0..1500).map(|i| i / 3 % 3).collect();
            let world_from_sensor = Pose::from_translation([f64::from(step) * 9.0 - 20.0, 1.5, 0.3]).unwrap();
            map.insert(&Frame {
                points: &points,
                semantics: Semantics::Labels(&labels),
                world_from_sensor,
                scan: None,
            })
            .unwrap();
        }
        map
    }

    type Tiles = BTreeMap<(u8, [i32; 2]), Vec<PrimitiveState>>;

    /// Levels of a map: tiles of the finest, and one coarser level.
    fn tiles(map: &Mapper) -> Tiles {
        let mut tiles: Tiles = BTreeMap::new();
        let mut coarse: BTreeMap<([i32; 3], usize), PrimitiveState> = BTreeMap::new();
        for state in map.states() {
            let [x, y, _] = state.sums.mean();
            tiles.entry((0, [x, y].map(|v| (v / 32.0).floor() as i32))).or_default().push(state.clone());
            match coarse.entry(state.cube(0.5)) {
                std::collections::btree_map::Entry::Occupied(mut there) => there.get_mut().add(&state).unwrap(),
                std::collections::btree_map::Entry::Vacant(free) => drop(free.insert(state)),
            }
        }
        for state in coarse.into_values() {
            let [x, y, _] = state.sums.mean();
            tiles.entry((1, [x, y].map(|v| (v / 64.0).floor() as i32))).or_default().push(state);
        }
        tiles
    }

    struct Source(Mutex<Tiles>, Arc<AtomicUsize>);

    impl CitySource for Source {
        fn read(&self, level: u8, tile: [i32; 2]) -> Result<CityTile, String> {
            self.1.fetch_add(1, Ordering::Relaxed);
            let states = self.0.lock().unwrap().get(&(level, tile)).cloned().ok_or("it was taken away")?;
            Ok(CityTile { states, counters: None })
        }
    }

    fn entries(tiles: &Tiles) -> Vec<CityEntry> {
        let entry = |((level, tile), states): (&(u8, [i32; 2]), &Vec<PrimitiveState>)| {
            let z = states.iter().map(|state| state.sums.mean()[2]);
            let heights = z.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], z| [a.min(z), b.max(z)]);
            CityEntry { level: *level, tile: *tile, count: states.len(), heights }
        };
        tiles.iter().map(entry).collect()
    }

    /// Instances of a tile message without their order and age: places, sizes, rotations, values and classes.
    fn instances(bytes: &[u8]) -> Vec<Vec<u8>> {
        let count = u32::from_le_bytes(bytes[20..24].try_into().unwrap()) as usize;
        let mut rows: Vec<Vec<u8>> = vec![Vec::new(); count];
        let mut at = 64;
        for (width, used) in [(12, 12), (12, 12), (8, 8), (8, 8), (4, 2)] {
            for row in &mut rows {
                row.extend(&bytes[at..at + used]);
                at += width;
            }
        }
        assert_eq!(at, bytes.len());
        rows.sort();
        rows
    }

    #[test]
    fn a_city_is_drawn_and_answers_as_the_same_map_in_memory() {
        let map = street();
        let tiles = tiles(&map);
        let reads = Arc::new(AtomicUsize::new(0));
        let source = Box::new(Source(Mutex::new(tiles.clone()), reads.clone()));
        let city = Scene::of_city("city", map.classes().clone(), map.config(), 12, entries(&tiles), source);
        let scenes = Scenes::of_maps(vec![city, Scene::of_map("map", map.clone(), Vec::new(), None)]);
        let server = Server::start(&ServeOptions { port: 0, ..ServeOptions::default() }, scenes).unwrap();
        assert_eq!(reads.load(Ordering::Relaxed), 0, "nothing is read before somebody looks");
        let mut page = Browser::open(server.address());
        let hello = page.hello.clone();
        let (about, whole) = (&hello["maps"][0], &hello["maps"][1]);
        assert_eq!((&about["levels"], &whole["levels"]), (&json!(1), &json!(0)));
        let finest: Vec<&Value> = about["tiles"].as_array().unwrap().iter().filter(|tile| tile[6] == 0).collect();
        assert_eq!(finest.len(), whole["tiles"].as_array().unwrap().len());
        for (tile, other) in finest.iter().zip(whole["tiles"].as_array().unwrap()) {
            assert_eq!(tile.as_array().unwrap()[..6], other.as_array().unwrap()[..6]);
            for what in ["primitives", "voxels", "costs"] {
                let ask = |map: usize| json!({"kind": "tile", "map": map, "what": what, "tile": [tile[0], tile[1]]});
                let (read, held) = (page.bytes(&ask(0)), page.bytes(&ask(1)));
                match what {
                    "primitives" => assert_eq!(instances(&read), instances(&held), "{tile}"),
                    "voxels" => assert_same(things(&read), things(&held)),
                    _ => assert!(read.starts_with(b"E2T1") && read[5..] == held[5..], "{what} {tile}"),
                }
            }
        }
        // One read for each tile, though neighbours are needed too.
        assert_eq!(reads.load(Ordering::Relaxed), finest.len());
        for place in [[3.0, 0.0, 0.4], [31.99, 1.0, 0.3], [500.0, 0.0, 0.0]] {
            let ask = |map: usize| json!({"kind": "query", "id": 7, "map": map, "at": place});
            let mut beliefs = [0, 1].map(|map| page.ask(&ask(map))["belief"].take());
            // Numbers of primitives are of a tile.
            for belief in &mut beliefs {
                belief["primitives"].as_array_mut().unwrap().iter_mut().for_each(|p| drop(p["id"].take()));
            }
            assert_eq!(beliefs[0], beliefs[1], "{place:?}");
        }
        // The coarser level: fewer and larger things, and all of the points.
        let coarse = about["tiles"].as_array().unwrap().iter().filter(|tile| tile[6] == 1);
        for tile in coarse {
            let ask =
                |what: &str| json!({"kind": "tile", "map": 0, "what": what, "tile": [tile[0], tile[1]], "level": 1});
            let bytes = page.bytes(&ask("primitives"));
            assert_eq!((bytes[6], instances(&bytes).len() as u64), (1, tile[3].as_u64().unwrap()));
            let side = f32::from_le_bytes(page.bytes(&ask("voxels"))[48..52].try_into().unwrap());
            assert_eq!(side, (2.0 * map.config().views.resolution) as f32);
        }
        let beyond = json!({"kind": "tile", "map": 0, "what": "primitives", "tile": [0, 0], "level": 9});
        assert_eq!(page.ask(&beyond)["kind"], "missing");
    }

    #[test]
    fn of_a_large_city_little_is_held_and_what_cannot_be_read_is_told() {
        let map = street();
        // The street again and again, far from one another.
        let street = tiles(&map);
        let mut large: Tiles = BTreeMap::new();
        for copy in 0..40 {
            for ((_, tile), states) in street.iter().filter(|((level, _), _)| *level == 0) {
                large.insert((0, [tile[0] + 50 * copy, tile[1]]), moved(states, 50 * 32 * copy));
            }
        }
        let all: usize = large.values().map(Vec::len).sum();
        let reads = Arc::new(AtomicUsize::new(0));
        let source = Box::new(Source(Mutex::new(large.clone()), reads.clone()));
        let city = Scene::of_city("city", map.classes().clone(), map.config(), 12, entries(&large), source);
        let server = Server::start(&ServeOptions { port: 0, ..ServeOptions::default() }, Scenes::of_maps(vec![city]));
        let server = server.unwrap();
        let mut page = Browser::open(server.address());
        for (_, tile) in large.keys() {
            page.bytes(&json!({"kind": "tile", "map": 0, "what": "primitives", "tile": tile}));
        }
        assert_eq!(reads.load(Ordering::Relaxed), large.len());
        assert!(all > 100_000, "{all} primitives");
        let gone = Box::new(Source(Mutex::default(), reads));
        let city = Scene::of_city("gone", map.classes().clone(), map.config(), 12, entries(&street), gone);
        let server = Server::start(&ServeOptions { port: 0, ..ServeOptions::default() }, Scenes::of_maps(vec![city]));
        let server = server.unwrap();
        let mut page = Browser::open(server.address());
        let told = page.ask(&json!({"kind": "tile", "map": 0, "what": "primitives", "tile": [0, 0]}));
        assert!(told["what"].as_str().unwrap().contains("taken away"));
    }

    fn moved(states: &[PrimitiveState], metres: i32) -> Vec<PrimitiveState> {
        let mut states = states.to_vec();
        states.iter_mut().for_each(|state| state.sums.origin[0] += metres);
        states
    }
}
