//! The program as a user meets it: exit codes, messages, JSON.

use std::process::Command;

use crate::{e2bki, text};

#[test]
fn configuration_is_printed_and_can_be_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let printed = e2bki(&["config", "--preset", "paper-urban", "--set", "resolution=0.1"]);
    assert!(printed.status.success());
    let file = folder.path().join("my.toml");
    std::fs::write(&file, &printed.stdout).unwrap();
    let again = e2bki(&["config", "--config", file.to_str().unwrap()]);
    assert_eq!(printed.stdout, again.stdout);
    assert!(text(&again.stdout).contains("clusters = 1024"));
}

#[test]
fn mistakes_end_with_code_two_and_a_way_out() {
    for (arguments, hint) in [
        (vec!["config", "--set", "resolutoin=0.1"], "did you mean `views.resolution`"),
        (vec!["config", "--set", "resolution"], "KEY=VALUE"),
        (vec!["config", "--preset", "papr"], "paper-rellis"),
        (vec!["config", "--config", "no-such-file.toml"], "no-such-file.toml"),
        (vec!["demo", "--world", "moon"], "urban"),
        (vec!["demo", "--frames", "0"], "at least 1"),
        (vec!["demo", "--network", "7", "--out", "never-made"], "0.02"),
        (vec!["bench", "--only", "nothing"], "known: scan"),
        (vec!["bench", "--only", "scan", "--data", "no-such-folder"], "no-such-folder"),
        (vec!["simulate", "--world", "moon", "--format", "kitti360", "--out", "never-made"], "offroad"),
        (vec!["simulate", "--format", "tarball", "--out", "never-made"], "rellis3d"),
        (vec!["simulate", "--format", "kitti360", "--frames", "0", "--out", "never-made"], "at least 1"),
        (vec!["map", "no-such-folder"], "no-such-folder does not exist"),
        (vec!["map", "."], "Looked for"),
        (vec!["map", ".", "--frames", "7..3"], "is empty"),
        // Builds that can run such models look for the file.
        (vec!["map", ".", "--semantics", "net.onnx"], if cfg!(feature = "onnxruntime") { "net.onnx" } else { "ONNX" }),
        (vec!["map", ".", "--semantics", "tarot"], "ground-truth"),
        (vec!["map", ".", "--format", "tarball"], "known: rellis3d"),
        (vec!["map", ".", "--classes", "no-such-table"], "urban11"),
        (vec!["map", ".", "-o", "map.docx"], ".ply"),
        (vec!["inspect", "no-such-folder"], "no-such-folder does not exist"),
        (vec!["no-such-command"], "no-such-command"),
    ] {
        let output = e2bki(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let message = text(&output.stderr);
        assert!(message.contains(hint), "{arguments:?}: {message}");
        assert!(!message.contains("panicked"), "{message}");
    }
    assert!(!std::path::Path::new("never-made").join("manifest.json").exists());
}

#[test]
fn a_simulated_drive_is_written_resumed_and_never_overwrites() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("drive");
    let arguments =
        ["simulate", "--world", "urban", "--frames", "2", "--format", "semantickitti", "--no-images", "--out"];
    let with = |out: &std::path::Path| {
        let mut all = arguments.to_vec();
        let out = out.to_str().unwrap().to_string();
        all.push(&out);
        e2bki(&all)
    };
    let first = with(&out);
    assert!(first.status.success(), "{}", text(&first.stderr));
    assert!(text(&first.stdout).contains("frames written"));
    let again = with(&out);
    assert!(again.status.success() && text(&again.stdout).contains("frames already there"));
    let foreign = folder.path().join("mine");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("thesis.txt"), "precious").unwrap();
    let refused = with(&foreign);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("thesis.txt"));
    assert_eq!(std::fs::read_to_string(foreign.join("thesis.txt")).unwrap(), "precious");
}

#[test]
fn the_demo_scores_draws_and_reports_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("demo");
    let json = folder.path().join("demo.json");
    let output = e2bki(&[
        "demo",
        "--world",
        "offroad",
        "--frames",
        "2",
        "--out",
        out.to_str().unwrap(),
        "--json",
        json.to_str().unwrap(),
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let value: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert!(value["primitives"].as_u64().unwrap() > 1000);
    let score = &value["scores"][1];
    assert!(score["acc"].as_f64().unwrap() > 50.0, "{score}");
    assert_eq!(value["points"]["received"], value["points"]["kept"]);
    for picture in ["bev-semantic.png", "bev-uncertainty.png", "primitives.png"] {
        assert!(image::open(out.join(picture)).unwrap().width() > 100);
    }
    let ply = std::fs::read(out.join("primitives.ply")).unwrap();
    assert!(ply.starts_with(b"ply\nformat binary_little_endian 1.0\n"));
}

/// A small simulated drive in a dataset's layout.
fn drive(format: &str, folder: &std::path::Path) -> String {
    let out = folder.join(format).display().to_string();
    let made = e2bki(&["simulate", "--world", "urban", "--frames", "3", "--format", format, "--out", &out]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    out
}

#[test]
fn a_simulated_drive_is_mapped_inspected_and_accounted_for() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let dir = drive("kitti360", folder.path());
    let (map, json) = (place("map.ply"), place("map.json"));
    for (method, more) in [("e2bki", ["--every", "2"]), ("s-bki", ["--frames", "1..3"])] {
        let mut arguments = vec!["map", &dir, "-o", &map, "--json", &json, "--method", method, "--max-range", "30"];
        arguments.extend(more);
        let output = e2bki(&arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let value: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        assert_eq!((value["frames"]["mapped"].as_u64(), value["frames"]["not_chosen"].as_u64()), (Some(2), Some(1)));
        let points = &value["points"];
        let dropped: u64 = points["dropped"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        let (received, kept) = (points["received"].as_u64().unwrap(), points["kept"].as_u64().unwrap());
        assert!(kept > 5_000 && received == kept + dropped, "{points}");
        assert!(points["dropped"]["outside the image"].as_u64().unwrap() > 10_000, "{points}");
        assert!(points["dropped"]["too far"].as_u64().unwrap() > 0, "{points}");
        assert!(std::fs::read(&map).unwrap().starts_with(b"ply\nformat binary_little_endian 1.0\n"));
        assert!(text(&output.stdout).contains("frames per second"));
    }
    let picture = place("look.png");
    let looked = e2bki(&["inspect", &dir, "--overlay", &picture, "--json", &json]);
    assert_eq!(looked.status.code(), Some(0), "{}", text(&looked.stdout));
    assert!(text(&looked.stdout).contains("Nothing looks wrong"), "{}", text(&looked.stdout));
    assert_eq!(image::open(&picture).unwrap().width(), 1408);
}

#[test]
fn a_reader_that_went_away_costs_no_map() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, map) = (drive("kitti360", folder.path()), folder.path().join("map.ply"));
    let arguments = ["map", &dir, "--frames", "0..1", "-o", map.to_str().unwrap()];
    let program = Command::new(env!("CARGO_BIN_EXE_e2bki"));
    let mut running =
        { program }.args(arguments).stdout(std::process::Stdio::piped()).spawn().expect("the program starts");
    drop(running.stdout.take());
    assert!(running.wait().unwrap().success());
    assert!(std::fs::read(&map).unwrap().starts_with(b"ply"));
}

#[test]
fn a_source_is_calibrated_and_the_map_takes_what_was_learned() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let dir = drive("kitti360", folder.path());
    let (toml, json) = (place("learned.toml"), place("learned.json"));
    let source = ["calibrate", &dir, "--semantics", "ground-truth"];
    let learned = e2bki(&[&source[..], &["-o", &toml, "--json", &json]].concat());
    assert!(learned.status.success(), "{}", text(&learned.stderr));
    assert!(text(&learned.stdout).contains("as it is"), "{}", text(&learned.stdout));
    let value: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!((value["key"].as_str(), value["tried"].as_array().map(Vec::len)), (Some("label_strength"), Some(12)));
    assert!(value["asked"].as_u64() > Some(1_000) && value["before"]["right"].as_f64() > Some(90.0), "{value}");
    let by_class = e2bki(&[&source[..], &["--by-class", "-o", &toml, "--json", &json]].concat());
    assert!(by_class.status.success(), "{}", text(&by_class.stderr));
    let value: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let worth = |which: &str, score: &str| value["by_class"][which][score].as_f64().unwrap();
    assert!(worth("after", "volume_m3") <= 1.3 * worth("before", "volume_m3"), "{value}");
    assert!(worth("after", "acc") + 0.5 >= worth("before", "acc"), "{value}");
    assert!(value["by_class"]["reach"]["road"].is_number(), "{value}");
    let mapped = e2bki(&["map", &dir, "--config", &toml, "--frames", "0..1"]);
    assert!(mapped.status.success(), "{}", text(&mapped.stderr));
    let alone = e2bki(&[&source[..], &["--frames", "0..1"]].concat());
    assert_eq!(alone.status.code(), Some(2));
    assert!(text(&alone.stderr).contains("at least two"), "{}", text(&alone.stderr));
}

#[test]
fn inspect_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let dir = drive("semantickitti", folder.path());
    let sequence = std::path::Path::new(&dir).join("sequences/00");
    let picture = folder.path().join("look.png").to_str().unwrap().to_string();
    let look = || {
        let output = e2bki(&["inspect", &dir, "--overlay", &picture]);
        (output.status.code(), text(&output.stdout))
    };
    assert_eq!(look().0, Some(0), "{}", look().1);
    // Poses that do not move.
    std::fs::write(sequence.join("poses.txt"), "1 0 0 0 0 1 0 0 0 0 1 0\n".repeat(3)).unwrap();
    assert!(look().0 == Some(1) && look().1.contains("all poses are the same"), "{}", look().1);
    // Millimetres, and axes of a camera.
    for (k, scale, swap, words) in [(0, 1000.0, false, "millimetres"), (0, 1.0, true, "camera axes")] {
        let path = sequence.join(format!("velodyne/{k:06}.bin"));
        let bytes = std::fs::read(&path).unwrap();
        let value = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]) * scale;
        let changed: Vec<u8> = bytes
            .chunks_exact(16)
            .flat_map(|r| {
                let (x, y, z) = (value(r), value(&r[4..]), value(&r[8..]));
                if swap { [-y, -z, x, 0.0] } else { [x, y, z, 0.0] }
            })
            .flat_map(f32::to_le_bytes)
            .collect();
        std::fs::write(&path, changed).unwrap();
        let (code, said) = look();
        assert!(code == Some(1) && said.contains(words), "{said}");
        std::fs::write(&path, bytes).unwrap();
    }
    // Labels of another space.
    for k in 0..3 {
        let path = sequence.join(format!("labels/{k:06}.label"));
        let length = std::fs::read(&path).unwrap().len();
        std::fs::write(&path, 7_u32.to_le_bytes().repeat(length / 4)).unwrap();
    }
    assert!(look().1.contains("gives no point a class"), "{}", look().1);
    // A picture of another size.
    image::RgbImage::new(320, 200).save(sequence.join("image_2/000001.png")).unwrap();
    let output = e2bki(&["inspect", &dir, "--frame", "1", "--overlay", &picture]);
    assert!(text(&output.stdout).contains("the image is 320×200"), "{}", text(&output.stdout));
}
