//! The server as a browser meets it, over the loopback interface.

#![allow(clippy::expect_used, clippy::unwrap_used)] // a test may fail loudly

mod common;

use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};

use common::{Browser, get, map, status};
use e2bki::SemanticMapper;
use e2bki_view::{RawPoints, Scene, Scenes, ServeOptions, Server};
use serde_json::json;

fn serve() -> Server {
    let show = Scenes::of_maps(vec![Scene::of_map("small", map(4), vec![[0.0; 3], [1.0, 0.0, 0.0]], None)]);
    Server::start(&ServeOptions { port: 0, ..ServeOptions::default() }, show).unwrap()
}

#[test]
fn the_page_and_all_its_parts_load_and_nothing_else() {
    let server = serve();
    let at = server.address();
    assert!(server.url().starts_with("http://127.0.0.1:"));
    let page = get(at, "/", &format!("Host: {at}\r\n"));
    assert_eq!(status(&page), 200);
    // Every part that the page and its scripts name is there.
    let mut names = vec!["/app.js".to_string(), "/style.css".into(), "/LICENSE.three.txt".into()];
    let mut seen = 0;
    while seen < names.len() {
        let part = get(at, &names[seen], &format!("Host: {at}\r\n"));
        assert_eq!(status(&part), 200, "{}", names[seen]);
        for quoted in part.split("from \"").skip(1).filter_map(|rest| rest.split('"').next()) {
            if quoted.starts_with('/') && !names.iter().any(|name| name == quoted) {
                names.push(quoted.into());
            }
        }
        seen += 1;
    }
    assert!(names.len() >= 9, "{names:?}");
    for path in [
        "/../Cargo.toml",
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/page/index.html",
        "/app.js/",
        "/./app.js",
        "/app.js%00",
    ] {
        assert_eq!(status(&get(at, path, &format!("Host: {at}\r\n"))), 404, "{path}");
    }
    assert_eq!(status(&get(at, "/", "Host: evil.example\r\n")), 403);
    assert_eq!(status(&get(at, "/ws", "Host: evil.example\r\n")), 403);
    // The socket is no page.
    assert!(status(&get(at, "/ws", &format!("Host: {at}\r\n"))) >= 400);
}

#[test]
fn an_answer_is_the_belief_of_the_map() {
    let (server, map) = (serve(), map(4));
    let mut browser = Browser::open(server.address());
    let hello = browser.hello.clone();
    assert_eq!(hello["maps"][0]["classes"].as_array().unwrap().len(), map.classes().len());
    let counted: u64 = hello["maps"][0]["tiles"].as_array().unwrap().iter().map(|t| t[3].as_u64().unwrap()).sum();
    assert_eq!(counted, map.len() as u64);
    assert_eq!(hello["maps"][0]["trajectory"], json!([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]));
    let mut places: Vec<[f64; 3]> = map.primitives().map(|p| p.mean().map(|v| v + 0.07)).step_by(37).collect();
    places.push([900.0, 900.0, 900.0]);
    for (id, at) in places.iter().enumerate() {
        let said = browser.ask(&json!({"kind": "query", "id": id, "map": 0, "at": at}));
        assert_eq!((said["kind"].as_str(), said["id"].as_u64()), (Some("answer"), Some(id as u64)));
        let (said, beliefs) = (&said["belief"], map.query(&[*at]));
        let belief = beliefs.get(0);
        assert_eq!(said["label"].as_u64(), belief.label().map(|label| label as u64));
        assert_eq!(said["alpha"], json!(beliefs.alpha(0).collect::<Vec<_>>()));
        for (key, value) in [
            ("u", belief.uncertainty()),
            ("u_sem", belief.semantic_uncertainty()),
            ("u_spa", belief.spatial_uncertainty()),
            ("variance", belief.variance()),
            ("evidence", belief.evidence()),
            ("confidence", belief.confidence()),
        ] {
            assert_eq!(said[key].as_f64(), Some(value), "{key} at {at:?}");
        }
        // The primitives involved account for the evidence.
        let listed = said["primitives"].as_array().unwrap();
        if said["involved"].as_u64() == Some(listed.len() as u64) {
            let sum: f64 = listed.iter().map(|p| p["kernel"].as_f64().unwrap()).sum();
            assert!((sum - belief.evidence()).abs() < 1e-3 * (1.0 + sum), "{sum} {}", belief.evidence());
        }
    }
}

#[test]
fn tiles_hold_every_primitive_and_every_voxel_once() {
    let (server, map) = (serve(), map(4));
    let mut browser = Browser::open(server.address());
    let tiles = browser.hello["maps"][0]["tiles"].as_array().unwrap().clone();
    assert!(tiles.len() >= 2);
    let (mut primitives, mut voxels) = (Vec::new(), Vec::new());
    for tile in &tiles {
        for (what, all) in [("primitives", &mut primitives), ("voxels", &mut voxels)] {
            let request = json!({"kind": "tile", "map": 0, "what": what, "tile": [tile[0], tile[1]]});
            all.extend(common::things(&browser.bytes(&request)));
        }
    }
    let means: Vec<[f64; 3]> = map.primitives().map(|p| p.mean()).collect();
    let beliefs = map.query(&means);
    let expected =
        means.iter().zip(beliefs.iter()).zip(map.primitives()).map(|((m, b), p)| (*m, p.label(), b.uncertainty()));
    common::assert_same(primitives, expected.collect());
    let side = map.config().views.resolution;
    let all = map.voxels(side).unwrap();
    let expected = all.centers.iter().zip(all.beliefs.iter()).map(|(c, b)| (*c, b.label().unwrap(), b.uncertainty()));
    common::assert_same(voxels, expected.collect());
}

#[test]
fn another_method_is_shown_by_its_voxels_with_the_points_of_its_frames() {
    let expected = map(3);
    let mut points = RawPoints::default();
    let mut seen = Vec::new();
    for i in 0..3 {
        common::insert(&mut common::new_map(), i, |_, frame| {
            points.add(frame);
            seen.extend(frame.points.iter().map(|p| frame.world_from_sensor.apply(p.map(f64::from))));
        });
    }
    let other: Box<dyn SemanticMapper> = Box::new(map(3));
    let scene = Scene::of_voxels("other", Arc::new(Mutex::new(other)), Vec::new()).unwrap().with_points(points);
    let options = ServeOptions { port: 0, ..ServeOptions::default() };
    let server = Server::start(&options, Scenes::of_maps(vec![scene])).unwrap();
    let mut browser = Browser::open(server.address());
    let about = browser.hello["maps"][0].clone();
    assert_eq!(about["primitives"], false);
    let mut all = |what: &str, tiles: &serde_json::Value| {
        let mut found = Vec::new();
        for tile in tiles.as_array().unwrap() {
            let request = json!({"kind": "tile", "map": 0, "what": what, "tile": [tile[0], tile[1]]});
            found.extend(common::things(&browser.bytes(&request)));
        }
        found
    };
    let voxels = expected.voxels(expected.config().views.resolution).unwrap();
    let wanted = voxels.centers.iter().zip(voxels.beliefs.iter());
    let wanted = wanted.map(|(c, b)| (*c, b.label().unwrap(), b.uncertainty())).collect();
    common::assert_same(all("voxels", &about["tiles"]), wanted);
    let found = all("points", &about["points"]);
    assert_eq!(found.len(), seen.len());
    let beliefs = expected.query(&found.iter().map(|(place, _, _)| *place).collect::<Vec<_>>());
    for ((place, _, u), belief) in found.iter().zip(beliefs.iter()) {
        let nearest = seen.iter().map(|p| (0..3).map(|i| (p[i] - place[i]).powi(2)).sum::<f64>()).fold(1.0, f64::min);
        assert!(nearest < 1e-8 && (u - belief.uncertainty()).abs() < 0.01, "{place:?} {u} {}", belief.uncertainty());
    }
    let tile = json!([about["tiles"][0][0], about["tiles"][0][1]]);
    let none = browser.ask(&json!({"kind": "tile", "map": 0, "what": "primitives", "tile": tile}));
    assert_eq!((none["kind"].as_str(), none["what"].as_str()), (Some("missing"), Some("primitives")));
    let at = voxels.centers[5];
    let said = browser.ask(&json!({"kind": "query", "id": 1, "map": 0, "at": at}));
    assert_eq!(said["belief"]["alpha"], json!(expected.query(&[at]).alpha(0).collect::<Vec<_>>()));
}

#[test]
fn hostile_messages_are_answered_or_end_the_connection_and_nothing_more() {
    let server = serve();
    let mut browser = Browser::open(server.address());
    for bad in
        ["", "{", "[]", "null", r#"{"kind":"file","path":"../x"}"#, r#"{"kind":"query","id":1,"map":0,"at":[0,0]}"#]
    {
        assert_eq!(browser.ask_text(bad)["kind"], "error", "{bad}");
    }
    let deep = "[".repeat(3000);
    assert_eq!(browser.ask_text(&deep)["kind"], "error");
    for (request, kind) in [
        (json!({"kind": "tile", "map": 7, "what": "voxels", "tile": [0, 0]}), "error"),
        (json!({"kind": "tile", "map": 0, "what": "voxels", "tile": [i32::MAX, i32::MIN]}), "missing"),
        (json!({"kind": "query", "id": 1, "map": 0, "at": [1e300, 0, 0]}), "error"),
        (json!({"kind": "query", "id": 1, "map": 0, "at": [1e7, -1e7, 1e7]}), "answer"),
    ] {
        assert_eq!(browser.ask(&request)["kind"], kind, "{request}");
    }
    browser.send_binary(vec![0xff; 100]);
    assert_eq!(browser.text()["kind"], "error");
    // What is too long ends the connection; others go on.
    browser.send_text(&"x".repeat(100_000));
    assert!(browser.is_closed());
    // A flood of requests ends it too.
    let mut flood = Browser::open(server.address());
    for _ in 0..2000 {
        flood.send_text(r#"{"kind":"tile","map":0,"what":"voxels","tile":[0,0]}"#);
    }
    assert!(flood.is_closed());
    let mut other = Browser::open(server.address());
    assert_eq!(other.ask(&json!({"kind": "query", "id": 9, "map": 0, "at": [0, 0, 0]}))["id"], 9);
}

#[test]
fn beyond_loopback_the_token_is_needed() {
    let show = Scenes::of_maps(vec![Scene::of_map("small", map(1), Vec::new(), None)]);
    let options = ServeOptions { host: Ipv4Addr::UNSPECIFIED.into(), port: 0 };
    let server = Server::start(&options, show).unwrap();
    let at = (Ipv4Addr::LOCALHOST, server.address().port()).into();
    let url = server.url();
    let (_, token) = url.split_once("/?").expect("a token");
    assert_eq!(status(&get(at, "/", "Host: robot\r\n")), 403);
    assert_eq!(status(&get(at, "/?token=0123", "Host: robot\r\n")), 403);
    assert_eq!(status(&get(at, &format!("/?{token}"), "Host: robot\r\n")), 200);
    assert!(Browser::try_open(at, "/ws", None).is_err());
    assert!(Browser::try_open(at, &format!("/ws?{token}"), Some("http://evil.example")).is_err());
    assert!(Browser::try_open(at, &format!("/ws?{token}"), None).is_ok());
}

#[test]
fn a_taken_port_gives_the_next_free_one() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let show = Scenes::of_maps(vec![Scene::of_map("small", map(1), Vec::new(), None)]);
    let server = Server::start(&ServeOptions { port, ..ServeOptions::default() }, show).unwrap();
    assert!(server.address().port() > port);
    let host = [203, 0, 113, 1].into();
    let show = Scenes::of_maps(Vec::new());
    let nowhere = Server::start(&ServeOptions { host, port: 0 }, show).err().expect("not our address");
    assert!(nowhere.to_string().contains("203.0.113.1") && nowhere.to_string().contains("--host"), "{nowhere}");
}
