//! The paper's protocol on folders in the layouts of the public datasets, as a user with the downloads runs it.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::{e2bki, text};

fn simulate(standard: &str, format: &str, out: &Path) {
    let out = out.to_str().unwrap();
    let args =
        ["simulate", "--standard", standard, "--drives", "matched", "--format", format, "--frames", "4", "--out", out];
    let output = e2bki(&args);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn experiment(name: &str, data: &Path, out: &Path, more: &[&str]) -> Output {
    let given = ["experiment", name, "--data", data.to_str().unwrap(), "--out", out.to_str().unwrap()];
    e2bki(&[given.as_slice(), more].concat())
}

fn records(out: &Path, name: &str) -> Vec<Value> {
    serde_json::from_slice(&std::fs::read(out.join(format!("{name}.json"))).unwrap()).unwrap()
}

#[test]
fn rellis_3d_is_scored_in_five_folds_in_the_cameras_view() {
    let folder = tempfile::tempdir().unwrap();
    let (data, out) = (folder.path().join("rellis"), folder.path().join("out"));
    simulate("rellis-like", "rellis3d", &data);
    // The label images stand for a network's: then it is right wherever it is asked.
    let source = ["--semantics", "labels:pylon_camera_node_label_id"];
    let output = experiment("table-offroad", &data, &out, &source);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    for words in [
        "RELLIS-3D 00000: 4 frames by the paper's protocol",
        "Means of 5 sequences ± standard error",
        "± ",
        "47.3 / 83.5",
    ] {
        assert!(printed.contains(words), "{words} is missing in\n{printed}");
    }
    assert!(printed.contains("ConvBKI learned from the sequences 00001, 00002, 00003, 00004"), "{printed}");
    let all = records(&out, "table-offroad");
    let sets: std::collections::BTreeSet<&str> = all.iter().map(|r| r["dataset"].as_str().unwrap()).collect();
    assert_eq!(sets.len(), 5);
    for record in &all {
        assert_eq!(record["semantics"], format!("ground-truth ({})", source[1]));
        assert_eq!(
            (&record["frames"], &record["asked_frames"], &record["labelled_frames"]),
            (&4.into(), &4.into(), &4.into())
        );
    }
    let network: Vec<&Value> = all.iter().filter(|r| r["method"] == "network, no map").collect();
    // Cells whose points have several labels are not asked about, and the picture is the truth.
    assert!(network.iter().all(|r| r["acc"].as_f64().unwrap() > 95.0), "{network:?}");

    // One sequence by its number, the whole scans, and from above.
    let one = [source.as_slice(), &["--sequence", "4", "--points", "scan"]].concat();
    let output = experiment("table-bev", &data, &folder.path().join("bev"), &one);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(records(&folder.path().join("bev"), "table-bev").iter().all(|r| r["dataset"] == "RELLIS-3D 00004"));

    for (more, hint) in [
        (vec![], "name another source with --semantics"),
        (vec!["--semantics", source[1], "--sequence", "7"], "it has 00000, 00001"),
        (vec!["--semantics", source[1], "--seeds", "3"], "--seeds is for simulated drives"),
        (vec!["--semantics", source[1], "--points", "all"], "known: camera, scan"),
        (vec!["--semantics", "none"], "leaves nothing to map"),
        (vec!["--semantics", "run-{sequnce}/network.safetensors"], "{sequnce} stands for nothing"),
        // The sequence that has none is named.
        (vec!["--semantics", "labels:net-{sequence}"], "net-00000"),
    ] {
        let output = experiment("table-offroad", &data, &out, &more);
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(text(&output.stderr).contains(hint), "{}", text(&output.stderr));
    }
    // A figure of one drive says which to choose from.
    let output = experiment("figure-maps", &data, &out, &source);
    assert!(text(&output.stderr).contains("choose one with --sequence"), "{}", text(&output.stderr));

    // Without its calibration it is the camera that is missing, not the semantics.
    let lost = data.join("Rellis_3D_cam2lidar_20210224/Rellis_3D/00002/transforms.yaml");
    std::fs::remove_file(&lost).unwrap();
    let output = experiment("table-offroad", &data, &folder.path().join("lost"), &source);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    for words in ["sequence 00002, has no camera", "transforms.yaml not found", "--points scan"] {
        assert!(message.contains(words), "{words} is missing in\n{message}");
    }
    assert!(!message.contains("--semantics"), "{message}");
}

#[test]
fn kitti_360_is_scored_on_sequence_10_with_labels_of_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let (data, out) = (folder.path().join("kitti"), folder.path().join("out"));
    simulate("kitti360-like", "kitti360", &data);
    let output = experiment("table-urban", &data, &out, &["--semantics", "ground-truth-2d"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("by the paper's protocol") && printed.contains("drive_0010_sync"), "{printed}");
    assert!(printed.contains("drive_0000_sync, 2013_05_28_drive_0002_sync"), "{printed}");
    let all = records(&out, "table-urban");
    assert!(all.iter().all(|r| r["semantics"] == "ground-truth-2d" && r["labelled_frames"].as_u64().unwrap() >= 3));
    assert!(all.iter().any(|r| r["method"] == "E2-BKI" && r["acc"].as_f64().unwrap() > 60.0), "{all:?}");

    // Without labels of pixels those of points are the truth, and that is said.
    std::fs::remove_dir_all(data.join("data_2d_semantics")).unwrap();
    let output = experiment("table-full", &data, &out, &["--semantics", "ground-truth-3d", "--sequence", "7"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("labels of points are the truth"), "{}", text(&output.stdout));
}

#[test]
fn other_predictions_in_the_same_folder_are_other_results() {
    let folder = tempfile::tempdir().unwrap();
    let (data, out) = (folder.path().join("drive"), folder.path().join("out"));
    crate::small_drive(&data, 4, 40);
    let predictions = data.join("predictions");
    std::fs::create_dir(&predictions).unwrap();
    let frames: Vec<String> = (0..4).map(|frame| format!("{frame:06}.label")).collect();
    for name in &frames {
        std::fs::copy(data.join("labels").join(name), predictions.join(name)).unwrap();
    }
    let of_network = || {
        let output = experiment("table-full", &data, &out, &[]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        records(&out, "table-full").iter().find(|r| r["method"] == "network, no map").unwrap()["acc"].as_f64().unwrap()
    };
    let right = of_network();
    assert!(right > 99.0, "{right}");
    assert_eq!(of_network(), right);
    // Another network wrote its labels over these: as many of them, and all of the first class.
    for name in &frames {
        std::fs::write(predictions.join(name), vec![0; 4 * 40 * 40]).unwrap();
    }
    assert!(of_network() < right);
}

#[test]
fn the_real_frames_at_hand_go_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    let source = ["--semantics", "logits:espnetv2_pred"];
    if let Some(data) = e2bki_testdata::real("rellis3d") {
        let output = experiment("table-offroad", &data, folder.path(), &source);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let printed = text(&output.stdout);
        // What is assumed is said: no poses, and frames that the network did not see.
        for words in ["1 frames by the paper's protocol", "taken to be at the origin", "have no semantics"] {
            assert!(printed.contains(words), "{words} is missing in\n{printed}");
        }
        let all = records(folder.path(), "table-offroad");
        assert!(all.iter().all(|r| r["labelled_frames"] == 1 && r["queries"].as_u64().unwrap() > 5000), "{all:?}");
    }
    if let Some(data) = e2bki_testdata::real("kitti360") {
        let output = experiment("table-urban", &data, folder.path(), &source);
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("No ground truth was found"), "{}", text(&output.stdout));
    }
}
