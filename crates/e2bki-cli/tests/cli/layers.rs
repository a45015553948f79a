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
        (vec!["layers", map, "-o", out], "take them for obstacles with --unknown-lethal"),
        (vec!["plan", map, "--from", "0,0", "--to", "1,1"], "take them for obstacles with --unknown-lethal"),
        (vec!["layers", map, "-o", "map.bmp"], "yaml, tif, npz or png"),
        (vec!["layers", map, "-o", "map.png", "--draw", ","], "--draw names no layer"),
        (vec!["layers", map, "-o", "map.png", "--draw", "slope,steep"], "--draw: unknown layer `steep`"),
        (vec!["layers", map, "-o", out, "--unknown-lethal", "--resolution", "-1"], "a resolution of -1 m"),
        (vec!["plan", map, "--from", "0,0", "--to", "1,1", "--picture", "way.jpg"], "must be png"),
        (vec!["layers", map, "-o", out, "--unknown-lethal", "--resolution", "0.001"], "resolution"),
        (vec!["layers", map, "-o", out, "--unknown-lethal", "--epsg", "4326"], "projected"),
        (vec!["layers", map, "-o", out, "--robot", name(&missing)], "none.toml"),
        (vec!["layers", map, "-o", out, "--region", "5,5,1,1"], "wrong order"),
        (
            vec!["layers", map, "-o", out, "--region", "905,901,901,905"],
            "wrong order; it takes the lower x and y first, then the higher: 901,901,905,905",
        ),
        (vec!["layers", map, "-o", out, "--region", "900,900,900,905"], "north-east of the first"),
        (
            vec!["layers", map, "-o", out, "--region", "900,900,905,905"],
            "the map is empty in this region; `e2bki info ",
        ),
        (vec!["plan", map, "--from", "0,0", "--to", "1,1", "--region", "905,905,901,901"], "--region 905,905,901,901"),
        (vec!["layers", map, "-o", out, "--region", "nan,0,1,1"], "--region: NaN"),
        (vec!["layers", map, "-o", out, "--unknown-lethal", "--region=-1e9,-1e9,1e9,1e9"], "within ±"),
        (vec!["plan", map, "--from", "0", "--to", "1,1"], "--from takes 2 numbers"),
        (vec!["plan", map, "--from", "nan,0", "--to", "1,1"], "--from: NaN"),
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

#[test]
fn questions_are_answered_in_words_numbers_and_sql() {
    let folder = tempfile::tempdir().unwrap();
    let (map, way) = (golden(), folder.path().join("way.csv"));
    let rows: String = (0..40).map(|i| format!("{},0,0,0.1,0.0\n", 0.5 * f64::from(i) - 10.0)).collect();
    std::fs::write(&way, "x,y,z,cost,risk\n".to_string() + &rows).unwrap();
    let all = e2bki(&["ask", name(&map), "count of anything", "--json", "-"]);
    let answer: serde_json::Value = serde_json::from_slice(&all.stdout).unwrap();
    assert!(answer["value"].as_f64().unwrap() > 0.0 && answer["unit"] == "primitives", "{answer}");
    let area = e2bki(&["ask", name(&map), "area of road or grass within 20 m of the way", "--way", name(&way)]);
    assert!(text(&area.stdout).trim().ends_with(" m²"), "{}{}", text(&area.stdout), text(&area.stderr));
    let sql = e2bki(&["ask", name(&map), "length of road", "--way", name(&way), "--sql"]);
    assert!(text(&sql.stdout).contains("read_parquet(") && text(&sql.stdout).contains("t.class IN ('road')"));
    for (arguments, part) in [
        (["area of lava", "--sql"], "road"),
        (["how much road is there?", "--sql"], "area, volume, count, length"),
        (["length of road", "--sql"], "--way"),
    ] {
        let refused = e2bki(&["ask", name(&map), arguments[0], arguments[1]]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused.stderr).contains(part), "{}", text(&refused.stderr));
    }
}
