//! Commands on map files as a user meets them.

use std::path::Path;
use std::process::{Command, Output};

use crate::{done, e2bki, golden, name, text};

#[test]
fn a_whole_map_is_described_checked_queried_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let map = golden();
    let info = e2bki(&["info", name(&map), "--json", "-"]);
    assert!(info.status.success(), "{}", text(&info.stderr));
    let value: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!(value["sources"][0], "golden drive");
    let printed = text(&e2bki(&["info", name(&map)]).stdout);
    assert!(printed.contains("golden drive") && printed.contains("road, grass, wall, pole, bush"), "{printed}");
    assert!(text(&e2bki(&["info", name(&map), "--config"]).stdout).contains("gated = \"mute\""));
    assert_eq!(e2bki(&["check", name(&map)]).status.code(), Some(0));
    let csv = folder.path().join("map.csv");
    assert!(e2bki(&["export", name(&map), "-o", name(&csv)]).status.success());
    let rows = std::fs::read_to_string(&csv).unwrap();
    let row: Vec<&str> = rows.lines().nth(1).unwrap().split(',').collect();
    let at = format!("{},{},{}", row[1], row[2], row[3]);
    let answer = e2bki(&["query", name(&map), "--at", &at, "--at", "900,900,900"]);
    assert!(text(&answer.stdout).contains("unobserved"), "{}", text(&answer.stderr));
    let points = folder.path().join("points.txt");
    std::fs::write(&points, format!("# places\n{}\n", at.replace(',', " "))).unwrap();
    let json = e2bki(&["query", name(&map), "--points", name(&points), "--json", "-"]);
    let value: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(value["answers"].as_array().unwrap().len(), 1);
    assert_eq!(value["answers"][0]["alpha"].as_array().unwrap().len(), 5);
    // Out to NumPy and back is the same map.
    let (npz, again) = (folder.path().join("map.npz"), folder.path().join("again.e2bki"));
    assert!(e2bki(&["export", name(&map), "-o", name(&npz)]).status.success());
    let merged = e2bki(&["merge", name(&npz), "-o", name(&again)]);
    assert!(merged.status.success(), "{}", text(&merged.stderr));
    let second = folder.path().join("second.csv");
    assert!(e2bki(&["export", name(&again), "-o", name(&second)]).status.success());
    assert_eq!(rows, std::fs::read_to_string(&second).unwrap());
}

#[test]
fn damage_is_a_finding_and_recovery_states_its_loss() {
    let folder = tempfile::tempdir().unwrap();
    let (broken, saved) = (folder.path().join("broken.e2bki"), folder.path().join("saved.e2bki"));
    let mut bytes = std::fs::read(golden()).unwrap();
    bytes.truncate(bytes.len() * 6 / 10);
    std::fs::write(&broken, &bytes).unwrap();
    let check = e2bki(&["check", name(&broken)]);
    assert_eq!(check.status.code(), Some(1));
    assert!(text(&check.stdout).contains("at byte"), "{}", text(&check.stdout));
    assert_eq!(e2bki(&["info", name(&broken)]).status.code(), Some(2));
    let recovered = e2bki(&["recover", name(&broken), "-o", name(&saved)]);
    assert_eq!(recovered.status.code(), Some(1), "{}", text(&recovered.stderr));
    assert!(text(&recovered.stdout).contains("lost:"));
    assert_eq!(e2bki(&["check", name(&saved)]).status.code(), Some(0));
    // Nothing lost of a whole one; nothing to be saved from what never was one.
    assert_eq!(e2bki(&["recover", name(&golden()), "-o", name(&saved)]).status.code(), Some(0));
    std::fs::write(&broken, "no map").unwrap();
    assert_eq!(e2bki(&["recover", name(&broken), "-o", name(&saved)]).status.code(), Some(2));
    assert_eq!(e2bki(&["check", name(&broken)]).status.code(), Some(2));
}

#[test]
fn mistakes_with_maps_end_with_code_two_and_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.ply");
    let map = golden();
    let (map, out) = (name(&map), name(&out));
    for (arguments, hint) in [
        (vec!["info", "no-such-map"], "no-such-map"),
        (vec!["export", map, "-o", "out"], "--format"),
        (vec!["export", map, "-o", out, "--format", "obj"], "splat"),
        (vec!["export", map, "-o", out, "--region", "1,2,3"], "4 numbers"),
        (vec!["export", map, "-o", out, "--region=5000,5000,5001,5001"], "nothing to export"),
        (vec!["export", map, "-o", out, "--region=5001,5001,5000,5000"], "wrong order"),
        (vec!["export", map, "-o", out, "--heights=2,-1"], "--heights 2,-1"),
        (vec!["export", map, "-o", out, "--resolution", "0", "--format", "voxels"], "0.005 to 10"),
        (vec!["export", map, "-o", out, "--format", "grid", "--cost", "lava=3"], "lava"),
        (vec!["query", map], "--at"),
        (vec!["query", map, "--at", "1,2,x"], "`x` is not a number"),
        (vec!["merge", map, map, "-o", out], "golden drive"),
        (vec!["merge", map, "-o", out, "--transform", "other=1"], "not among the maps"),
        (vec!["recover", map, "-o", map], "another name"),
    ] {
        let output = e2bki(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let message = text(&output.stderr);
        assert!(message.contains(hint) && !message.contains("panicked"), "{arguments:?}: {message}");
    }
    assert!(!Path::new(out).exists());
}

/// Maps frames of a drive; returns the output and the map as rows of text.
fn mapped(drive: &str, map: &Path, more: &[&str]) -> (Output, String) {
    let output = e2bki(&[&["map", drive, "-o", name(map)], more].concat());
    (output, rows(map))
}

fn rows(map: &Path) -> String {
    let csv = map.with_extension("csv");
    let exported = e2bki(&["export", name(map), "-o", name(&csv)]);
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    std::fs::read_to_string(&csv).unwrap()
}

#[test]
fn a_run_that_stops_early_loses_nothing_and_goes_on_as_if_it_never_had() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let drive = place("drive");
    let made = e2bki(&[
        "simulate",
        "--world",
        "urban",
        "--frames",
        "8",
        "--format",
        "semantickitti",
        "--no-images",
        "--out",
        name(&drive),
    ]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let drive = name(&drive);
    let (output, whole) = mapped(drive, &place("whole.e2bki"), &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));

    // In two runs.
    let (first, both) = (place("first.e2bki"), place("both.e2bki"));
    let (_, part) = mapped(drive, &first, &["--frames", "0..3"]);
    let (output, rows_of_both) = mapped(drive, &both, &["--onto", name(&first), "--frames", "3.."]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(part != whole && rows_of_both == whole);
    let other = e2bki(&["map", drive, "--onto", name(&first), "--set", "cell_size=0.5"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("cell_size = 0.25"), "{}", text(&other.stderr));
    let classes = e2bki(&["map", drive, "--onto", name(&golden())]);
    assert!(text(&classes.stderr).contains("classes"), "{}", text(&classes.stderr));

    // Interrupted after the first save.
    #[cfg(unix)]
    {
        let map = place("interrupted.e2bki");
        let mut running = Command::new(env!("CARGO_BIN_EXE_e2bki"))
            // Slowly enough not to be done before the signal.
            .args(["map", drive, "-o", name(&map), "--save-every", "1", "--rate", "4"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        while !map.exists() && running.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let id = running.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let output = running.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let next = said.split("--frames ").nth(1).unwrap().split('`').next().unwrap();
        let (output, rows) = mapped(drive, &map, &["--onto", name(&map), "--frames", next]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(rows == whole, "went on from {next}");
    }

    // A scan that was cut off: what came before it is kept, and the advice leads past it.
    let scan = Path::new(drive).join("sequences/00/velodyne/000003.bin");
    let bytes = std::fs::read(&scan).unwrap();
    std::fs::write(&scan, &bytes[..bytes.len() - 7]).unwrap();
    let (output, kept) = mapped(drive, &place("kept.e2bki"), &[]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("000003.bin") && said.contains("--frames 4.."), "{said}");
    assert!(kept == part);
}

#[test]
fn what_scans_saw_through_is_counted_unless_told_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let [with, without, again] = ["with.e2bki", "without.e2bki", "again.e2bki"].map(|file| folder.path().join(file));
    let drive = ["map", "sim:urban", "--frames", "0..3"];
    done(&[&drive[..], &["-o", name(&with)]].concat());
    done(&[&drive[..], &["-o", name(&without), "--set", "free_space.enabled=false"]].concat());
    assert!(done(&["info", name(&with)]).contains("3 frames counted"));
    assert!(done(&["info", name(&without)]).contains("not counted"));
    // A map is gone on with as it was made.
    done(&["map", "sim:urban", "--frames", "3..4", "--onto", name(&without), "-o", name(&again)]);
    assert!(done(&["info", name(&again)]).contains("not counted"));
    // Deep below the ground nothing is known, and that is said.
    let at = ["--at", "0,0,-30"];
    let places = done(&[&["query", name(&with)], &at[..]].concat());
    assert!(places.contains("existence") && places.contains("unknown"), "{places}");
    assert!(!done(&[&["query", name(&without)], &at[..]].concat()).contains("existence"));
    // From above: three pictures, the last one of what is free.
    let picture = folder.path().join("above.png");
    let wrote = done(&["export", name(&with), "--format", "bev", "--resolution", "0.5", "-o", name(&picture)]);
    assert!(wrote.contains("above-state.png") && folder.path().join("above-state.png").is_file(), "{wrote}");
    let states = std::fs::metadata(folder.path().join("above-state.png")).unwrap().len();
    assert!(states > 200, "{states} bytes");
    let wrote = done(&["export", name(&without), "--format", "bev", "--resolution", "0.5", "-o", name(&picture)]);
    assert!(!wrote.contains("above-state.png"), "{wrote}");
}
