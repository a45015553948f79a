//! The stream of a running mapper.

#![allow(clippy::expect_used, clippy::unwrap_used)] // a test may fail loudly

mod common;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use common::{Browser, insert, new_map};
use e2bki_view::{Instance, Publisher, Scene, Scenes, ServeOptions, Server, Subscriber, Tile, answer};
use serde_json::{Value, json};

fn start() -> (e2bki::Mapper, Server, Publisher) {
    let map = new_map();
    let show = Scenes::live("run", map.classes().clone(), map.config().clone());
    let server = Server::start(&ServeOptions { port: 0, ..ServeOptions::default() }, show.clone()).unwrap();
    (map, server, Publisher::new(show).unwrap())
}

/// What the last call said of every tile, and of the rest how much.
#[derive(Default)]
struct Seen {
    tiles: BTreeMap<Tile, Vec<Instance>>,
    points: usize,
    way: Vec<[f64; 3]>,
    frames: u64,
}

struct Recorder(Arc<Mutex<Seen>>);

impl Subscriber for Recorder {
    fn tile(&mut self, frames: u64, tile: Tile, instances: &[Instance]) {
        let mut seen = self.0.lock().unwrap();
        assert!(frames >= seen.frames && instances.iter().all(|instance| tile.holds(instance.center)));
        seen.tiles.insert(tile, instances.to_vec());
        seen.frames = frames;
    }

    fn points(&mut self, _: u64, points: &[([f64; 3], u16)]) {
        self.0.lock().unwrap().points += points.len();
    }

    fn trajectory(&mut self, _: u64, places: &[[f64; 3]], _: bool) {
        self.0.lock().unwrap().way = places.to_vec();
    }
}

#[test]
fn a_subscriber_has_the_whole_map_without_any_browser() {
    let mut map = new_map();
    let show = Scenes::live("run", map.classes().clone(), map.config().clone());
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut publisher = Publisher::with_subscriber(show, Box::new(Recorder(seen.clone()))).unwrap();
    for i in 0..6 {
        insert(&mut map, i, |map, frame| publisher.frame(map, frame));
    }
    publisher.finish(&map);
    let mut again = Seen::default();
    std::mem::swap(&mut *seen.lock().unwrap(), &mut again);
    assert_eq!((again.frames, again.way.len()), (6, 6));
    assert!(again.points > 0, "the first frame is due at once");
    let mut instances: Vec<Instance> = again.tiles.into_values().flatten().collect();
    instances.sort_by_key(|instance| instance.id);
    let mut expected: Vec<_> = map.primitives().map(|p| (p.id(), p.mean(), p.label())).collect();
    expected.sort_by_key(|(id, ..)| *id);
    assert_eq!(instances.iter().map(|b| (b.id, b.center, b.label)).collect::<Vec<_>>(), expected);
    for instance in &instances {
        assert_eq!(instance.belief, map.query(&[instance.center]).get(0));
    }
    // A map that does not change any more says the same.
    Scene::of_map("whole", map, Vec::new(), None).send_to(&mut Recorder(seen.clone())).unwrap();
    let mut whole: Vec<Instance> = seen.lock().unwrap().tiles.values().flatten().copied().collect();
    whole.sort_by_key(|instance| instance.id);
    assert_eq!(whole, instances);
}

#[test]
fn what_goes_to_the_disk_stays_on_the_page() {
    let mut map = new_map();
    let show = Scenes::live("run", map.classes().clone(), map.config().clone());
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut publisher = Publisher::with_subscriber(show, Box::new(Recorder(seen.clone()))).unwrap();
    for i in 0..6 {
        insert(&mut map, i, |map, frame| publisher.frame_of_part(map, frame, &map.changes_since(0), |_| true));
    }
    publisher.flush(&map);
    // As a map with a budget does: what is behind x = 32 m leaves the memory, and nobody remembers earlier changes.
    let gone = map.take_outside([32.0, -1e9, -1e9], [1e9, 1e9, 1e9]);
    assert!(!gone.is_empty() && !map.is_empty());
    let before = map.change_number();
    map.forget_changes(before);
    insert(&mut map, 9, |map, frame| {
        publisher.frame_of_part(map, frame, &map.changes_since(before), |tile| tile[0] >= 1);
    });
    publisher.finish(&map);
    let shown: Vec<Instance> = seen.lock().unwrap().tiles.values().flatten().copied().collect();
    let (behind, here): (Vec<Instance>, Vec<Instance>) = shown.into_iter().partition(|one| one.center[0] < 32.0);
    assert_eq!(behind.len(), gone.len());
    let ahead = map.primitives().filter(|primitive| primitive.mean()[0] >= 32.0).count();
    assert!(here.len() == ahead && ahead > 0, "{} of {ahead}", here.len());
}

#[test]
fn after_a_run_the_browser_has_the_whole_map() {
    let (mut map, server, mut publisher) = start();
    let mut early = Browser::open(server.address());
    assert_eq!(early.hello["live"], true);
    for i in 0..6 {
        insert(&mut map, i, |map, frame| publisher.frame(map, frame));
    }
    let counts = publisher.finish(&map);
    assert!(counts.sent > 0);
    let mut changed = 0;
    loop {
        let news = early.text();
        match news["kind"].as_str() {
            Some("changed") if news["tiles"].is_array() => changed += 1,
            Some("live") if news["done"] == true => {
                assert_eq!((news["frames"].as_u64(), news["primitives"].as_u64()), (Some(6), Some(map.len() as u64)));
                break;
            }
            _ => {}
        }
    }
    assert_eq!(changed, counts.sent);
    // Who comes later sees the same, and beliefs are those of the map.
    let mut late = Browser::open(server.address());
    assert_eq!((late.hello["done"].as_bool(), early.hello["done"].as_bool()), (Some(true), Some(false)));
    assert_eq!(late.hello["show"], early.hello["show"]);
    let tiles = late.hello["maps"][0]["tiles"].as_array().unwrap().clone();
    assert_eq!(late.hello["maps"][0]["trajectory"].as_array().unwrap().len(), 6);
    let mut primitives = Vec::new();
    for tile in &tiles {
        let request = json!({"kind": "tile", "map": 0, "what": "primitives", "tile": [tile[0], tile[1]]});
        primitives.extend(common::things(&late.bytes(&request)));
    }
    let means: Vec<[f64; 3]> = map.primitives().map(|p| p.mean()).collect();
    let beliefs = map.query(&means);
    let expected =
        means.iter().zip(beliefs.iter()).zip(map.primitives()).map(|((m, b), p)| (*m, p.label(), b.uncertainty()));
    common::assert_same(primitives, expected.collect());
    // Also beside the primitives, where answers depend on several of them and on how the surface runs.
    for (at, aside) in means.iter().step_by(53).zip([0.0, 0.1, -0.25].into_iter().cycle()) {
        let at = at.map(|v| v + aside);
        let said = late.ask(&json!({"kind": "query", "id": 1, "map": 0, "at": at}));
        let mut expected = answer(&map, at);
        assert_eq!(said["belief"]["alpha"], json!(map.query(&[at]).alpha(0).collect::<Vec<_>>()));
        // Through text and back, as the answer was.
        expected = serde_json::from_str(&expected.to_string()).unwrap();
        assert_eq!(said["belief"], expected);
    }
    let nowhere = late.ask(&json!({"kind": "query", "id": 1, "map": 0, "at": [5000.0, 0.0, 0.0]}));
    assert_eq!(nowhere["belief"]["label"], Value::Null);
}

#[test]
fn a_browser_that_does_not_read_never_holds_the_mapper_up() {
    let (mut map, server, mut publisher) = start();
    let _silent = Browser::open(server.address());
    let begun = std::time::Instant::now();
    for i in 0..40 {
        insert(&mut map, i, |map, frame| publisher.frame(map, frame));
    }
    let elapsed = begun.elapsed();
    let counts = publisher.finish(&map);
    assert!(counts.sent > 0);
    // The rule is 1 % and what one frame or tile takes beyond it.
    assert!(counts.spent.as_secs_f64() < 0.1 * elapsed.as_secs_f64() + 0.05, "{counts:?} of {elapsed:?}");
}

#[test]
fn points_of_nonsense_do_not_mark_the_world() {
    let (mut map, _server, mut publisher) = start();
    let points: Vec<[f32; 3]> = (0..20_000)
        .map(|i| [f32::NAN, 1e30, 60.0 * i as f32].map(|v| if i % 3 == 0 { v } else { 50.0 * i as f32 }))
        .collect();
    let labels = vec![0; points.len()];
    let frame = e2bki::Frame {
        points: &points,
        semantics: e2bki::Semantics::Labels(&labels),
        world_from_sensor: e2bki::Pose::IDENTITY,
        scan: None,
    };
    map.insert(&frame).unwrap();
    publisher.frame(&map, &frame);
    // What the map dropped is not announced; what it took lies in a tile and reaches into those around it at most.
    let most = 9 * map.len() as u64;
    assert!(publisher.finish(&map).sent <= most);
}

#[test]
fn the_end_is_told_however_full_the_channel_is() {
    let (mut map, server, mut publisher) = start();
    let mut browser = Browser::open(server.address());
    // Many more tiles than the channel has room for, all sent at the end.
    for i in 0..200 {
        insert(&mut map, 20 * i, |map, frame| {
            if i == 199 {
                publisher.frame(map, frame)
            }
        });
    }
    publisher.flush(&map);
    assert!(publisher.finish(&map).sent > 100);
    let told = std::iter::repeat_with(|| browser.text()).take(2000).find(|news| {
        // A browser that fell behind is told everything anew instead.
        news["done"] == true
    });
    assert!(told.is_some());
}

#[test]
fn a_primitive_that_is_pruned_far_away_leaves_the_page() {
    let mut config = e2bki::Config::default();
    config.refinement.prune = true;
    config.refinement.consistency_radius = 20.0;
    let mut map = e2bki::Mapper::new(e2bki::ClassSet::from_names(["road", "wall"]).unwrap(), config).unwrap();
    let scenes = Scenes::live("run", map.classes().clone(), map.config().clone());
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut publisher = Publisher::with_subscriber(scenes, Box::new(Recorder(seen.clone()))).unwrap();
    let see = |map: &mut e2bki::Mapper, publisher: &mut Publisher, sensor: [f64; 3], offset: [f32; 3], label: u32| {
        let points: Vec<[f32; 3]> = (0..27).map(|i| [i % 3, i / 3 % 3, i / 9].map(|v| v as f32 * 0.05)).collect();
        let points: Vec<[f32; 3]> = points.iter().map(|p| std::array::from_fn(|i| p[i] + offset[i])).collect();
        let (labels, world_from_sensor) = (vec![label; 27], e2bki::Pose::from_translation(sensor).unwrap());
        let semantics = e2bki::Semantics::Labels(&labels);
        let frame = e2bki::Frame { points: &points, semantics, world_from_sensor, scan: None };
        map.insert(&frame).unwrap();
        publisher.frame(map, &frame);
    };
    // Seen from 40 m away, in tile (0, 0).
    see(&mut map, &mut publisher, [50.0, 10.0, 0.0], [-40.0, 0.0, 0.1], 0);
    publisher.flush(&map);
    assert!(map.primitives().any(|p| p.label() == 0));
    // Another class seen from 2 m away, 15 m from there, in tile (-1, 0).
    see(&mut map, &mut publisher, [-5.0, 8.0, 0.0], [0.0, 2.0, 0.1], 1);
    assert!(map.primitives().all(|p| p.label() == 1), "the far one is pruned");
    publisher.finish(&map);
    let tiles = &seen.lock().unwrap().tiles;
    assert_eq!(tiles.get(&Tile([0, 0])).map(Vec::len), Some(0), "it is still on the page");
    assert_eq!(tiles.values().map(Vec::len).sum::<usize>(), map.len());
}

#[test]
fn what_a_map_has_put_away_is_not_shown_any_more() {
    let mut map = new_map();
    let scenes = Scenes::live("run", map.classes().clone(), map.config().clone());
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut publisher = Publisher::with_subscriber(scenes, Box::new(Recorder(seen.clone()))).unwrap();
    for i in [0, 1, 900, 901] {
        insert(&mut map, i, |map, frame| publisher.frame(map, frame));
    }
    publisher.flush(&map);
    let shown = || seen.lock().unwrap().tiles.values().map(Vec::len).sum::<usize>();
    let begun = std::time::Instant::now();
    while shown() < map.len() {
        assert!(begun.elapsed().as_secs() < 60);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let last = map.primitives().last().unwrap().mean();
    let gone = map.remove_outside(last.map(|v| v - 60.0), last.map(|v| v + 60.0));
    assert!(gone > map.len() / 4, "{gone} of {}", map.len());
    insert(&mut map, 902, |map, frame| publisher.frame(map, frame));
    publisher.finish(&map);
    assert_eq!(shown(), map.len());
}
