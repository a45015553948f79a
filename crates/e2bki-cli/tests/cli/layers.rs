//! `layers` and `plan` as a user meets them.

use crate::{e2bki, golden, name, text};

#[test]
fn layers_are_written_in_every_format_and_a_way_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (map, robot) = (golden(), file("robot.toml"));
    std::fs::write(
        &robot,
        text(&e2bki(&["config", "--robot"]).stdout) + "road = 0\ngrass = 20\nwall = 100\npole = 100\nbush = 100\n",
    )
    .unwrap();
    for (out, files) in [
        ("nav.yaml", vec!["nav.yaml", "nav.pgm"]),
        ("map.tif", vec!["map.tif"]),
        ("map.npz", vec!["map.npz"]),
        ("map.png", vec!["map-cost.png", "map-class.png"]),
    ] {
        let done =
            e2bki(&["layers", name(&map), "-o", name(&file(out)), "--robot", name(&robot), "--resolution", "0.4"]);
        assert!(done.status.success(), "{out}: {}", text(&done.stderr));
        assert!(text(&done.stdout).contains("% free"), "{}", text(&done.stdout));
        assert!(files.iter().all(|name| file(name).is_file()), "{out}");
    }
    // A way between two free cells, by the grid that a planner would read.
    let raw = e2bki(&["layers", name(&map), "-o", name(&file("raw.yaml")), "--robot", name(&robot), "--mode", "raw"]);
    assert!(raw.status.success(), "{}", text(&raw.stderr));
    let way = e2bki(&[
        "plan",
        name(&map),
        "--from",
        "900,900",
        "--to",
        "0,0",
        "--robot",
        name(&robot),
        "-o",
        name(&file("way.csv")),
    ]);
    assert_eq!(way.status.code(), Some(2));
    assert!(text(&way.stderr).contains("outside of the grid"), "{}", text(&way.stderr));
    assert!(!file("way.csv").exists());
}

#[test]
fn mistakes_name_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let (map, out) = (golden(), folder.path().join("map.tif"));
    let (map, out) = (name(&map), name(&out));
    let missing = folder.path().join("none.toml");
    for (arguments, part) in [
        (vec!["layers", map, "-o", out], "nobody has said what driving on `road`"),
        (vec!["layers", map, "-o", "map.bmp"], "yaml, tif, npz or png"),
        (vec!["layers", map, "-o", out, "--unknown-lethal", "--resolution", "0.001"], "resolution"),
        (vec!["layers", map, "-o", out, "--unknown-lethal", "--epsg", "4326"], "projected"),
        (vec!["layers", map, "-o", out, "--robot", name(&missing)], "none.toml"),
        (vec!["layers", map, "-o", out, "--region", "5,5,1,1"], "region"),
        (vec!["plan", map, "--from", "0", "--to", "1,1"], "--from takes 2 numbers"),
        (vec!["plan", map, "--from", "0,0", "--to", "1,1", "-o", "way.kml"], "geojson or csv"),
    ] {
        let done = e2bki(&arguments);
        assert_eq!(done.status.code(), Some(2), "{arguments:?}");
        assert!(text(&done.stderr).contains(part), "{arguments:?}: {}", text(&done.stderr));
    }
    let said = e2bki(&["layers", map, "-o", out, "--unknown-lethal", "--resolution", "0.5"]);
    assert!(said.status.success(), "{}", text(&said.stderr));
    assert!(text(&said.stderr).contains("taken for obstacles") && text(&said.stderr).contains("pole"));
}
