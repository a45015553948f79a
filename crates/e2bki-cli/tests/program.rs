//! The program as a user meets it: exit codes, messages, JSON.

#![allow(clippy::expect_used)] // a test may fail loudly

use std::process::{Command, Output};

fn e2bki(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_e2bki")).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

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
        (vec!["config", "--set", "resolutoin=0.1"], "did you mean `resolution`"),
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
    assert!(ply.starts_with(b"ply\nformat binary_little_endian 1.0\nelement vertex "));
}
