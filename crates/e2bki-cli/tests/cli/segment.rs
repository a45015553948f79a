//! Networks as a user meets them: training, looking at images, mapping by what they see.
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::{done, e2bki, text};

fn refused(arguments: &[&str], words: &[&str]) {
    let output = e2bki(arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    for word in words {
        assert!(message.contains(word), "{arguments:?}: `{word}` is not in: {message}");
    }
    assert!(!message.contains("panicked"), "{message}");
}

/// The smallest training that does everything; the folder comes last.
const TRAIN: [&str; 14] = [
    "train",
    "offroad-like",
    "--size",
    "64x40",
    "--width",
    "0.25",
    "--epochs",
    "1",
    "--batch",
    "4",
    "--images",
    "8",
    "--places",
    "4",
];

fn train<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    TRAIN.iter().copied().chain(["--out", out]).chain(more.iter().copied()).collect()
}

/// A network and a drive to map, made once for all tests.
fn shared() -> &'static (PathBuf, PathBuf) {
    static SHARED: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
    SHARED.get_or_init(|| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("segment");
        std::fs::remove_dir_all(&folder).ok();
        let (run, drive) = (folder.join("run"), folder.join("drive"));
        let printed = done(&train(run.to_str().unwrap(), &["--json", run.with_extension("json").to_str().unwrap()]));
        assert!(printed.contains("8 images to learn from, 8 held back, 7 classes"), "{printed}");
        let drive_text = drive.to_str().unwrap();
        done(&["simulate", "--world", "offroad", "--frames", "3", "--format", "rellis3d", "--out", drive_text]);
        (run, drive)
    })
}

fn images(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "jpg") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn training_writes_a_network_and_a_report_and_goes_on_only_with_the_same_images() {
    let (run, _) = shared();
    let record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(run.with_extension("json")).unwrap()).unwrap();
    assert_eq!(record["epochs"].as_array().unwrap().len(), 1);
    assert!(record["test"]["accuracy"].is_number() && record["calibration"]["temperature"].is_number());
    let report = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(report.contains("<svg") && report.contains("Predictions"));

    let out = run.to_str().unwrap();
    for (more, words) in [
        (["--fraction", "0.5"], ["--fraction was 1, is 0.5", "another --out"]),
        (["--images", "12"], ["--images was 8, is 12", "another --out"]),
        (["--seed", "9"], ["--seed was 1, is 9", "another --out"]),
        (["--loss", "mse"], ["--loss was log, is mse", "another --out"]),
    ] {
        let mut arguments: Vec<&str> = train(out, &[]);
        match arguments.iter().position(|a| *a == more[0]) {
            Some(at) => arguments[at + 1] = more[1],
            None => arguments.extend(more),
        }
        refused(&arguments, &words);
    }
    // The same command has nothing left to do but says its result again.
    assert!(done(&train(out, &[])).contains("resuming after epoch 1 of 1"));
}

#[test]
fn training_that_learns_nothing_says_so_and_what_to_try() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let mut arguments = train(out.to_str().unwrap(), &["--learning-rate", "5"]);
    let epochs = arguments.iter().position(|a| *a == "--epochs").unwrap();
    arguments[epochs + 1] = "3";
    let output = e2bki(&arguments);
    let message = text(&output.stderr);
    assert!(output.status.success(), "{message}");
    assert!(message.contains("learned little or nothing") && message.contains("--learning-rate 3e-3"), "{message}");
}

#[test]
fn bad_requests_say_what_would_be_right() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let out = out.to_str().unwrap();
    refused(&["train", "offroad-like", "--out", out, "--size", "64"], &["WIDTHxHEIGHT"]);
    refused(&["train", "offroad-like", "--out", out, "--preset", "huge"], &["paper-rellis"]);
    refused(&["train", "offroad-like", "--out", out, "--fraction", "0"], &["--fraction is 0"]);
    refused(&["train", "offroad-like", "--out", out, "--places", "100"], &["1 to 99"]);
    refused(&["train", "offroad-like", "--out", out, "--init", "no-such.safetensors"], &["no-such.safetensors"]);
    refused(&["train", "no-such-folder", "--out", out], &["no-such-folder"]);
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    refused(&["train", "offroad-like", "--out", file.to_str().unwrap()], &["is a file; give the name of a folder"]);
}

#[test]
fn it_looks_at_images_and_what_it_saw_can_be_mapped() {
    let (run, drive) = shared();
    let network = run.join("network.safetensors");
    let (network, drive) = (network.to_str().unwrap(), drive.to_str().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("seen");
    let pictures = images(Path::new(drive));
    assert_eq!(pictures.len(), 3);
    let of_pictures = pictures[0].parent().unwrap().to_str().unwrap();
    let seen = out.to_str().unwrap();
    let printed = done(&["segment", network, of_pictures, "-o", seen, "--classes", "offroad7", "--values=1"]);
    assert!(printed.contains("64 × 40") && printed.contains("images"), "{printed}");
    let stem = pictures[0].file_stem().unwrap().to_str().unwrap();
    let labels = image::open(out.join(format!("{stem}.png"))).unwrap().into_luma8();
    let picture = image::open(out.join(format!("{stem}_color.png"))).unwrap();
    assert_eq!(labels.dimensions(), (picture.width(), picture.height()));
    assert!(labels.pixels().all(|p| p.0[0] < 7));
    assert!(out.join(format!("{stem}_evidence_7x40x64_f16.bin")).is_file());

    let json = folder.path().join("map.json");
    let map = |semantics: &str| {
        done(&["map", drive, "--semantics", semantics, "--json", json.to_str().unwrap()]);
        serde_json::from_slice::<serde_json::Value>(&std::fs::read(&json).unwrap()).unwrap()
    };
    let (by_network, by_files) = (map(network), map(&format!("evidence:{seen}")));
    assert_eq!(by_network["frames"]["mapped"], 3);
    // The same evidence, once through files in half precision.
    let primitives = |map: &serde_json::Value| map["primitives"].as_f64().unwrap();
    let (a, b) = (primitives(&by_network), primitives(&by_files));
    assert!(a > 100.0 && (a / b - 1.0).abs() < 0.02, "{a} {b}");
}

#[test]
fn networks_that_do_not_fit_are_refused() {
    let (run, drive) = shared();
    let network = run.join("network.safetensors");
    let drive = drive.to_str().unwrap();
    refused(&["map", drive, "--semantics", network.to_str().unwrap(), "--classes", "urban11"], &["7", "11"]);
    let folder = tempfile::tempdir().unwrap();
    let damaged = folder.path().join("damaged.safetensors");
    let bytes = std::fs::read(&network).unwrap();
    std::fs::write(&damaged, &bytes[..bytes.len() / 2]).unwrap();
    let damaged = damaged.to_str().unwrap();
    refused(&["map", drive, "--semantics", damaged], &["damaged.safetensors", "safetensors file"]);
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    refused(&["segment", damaged, drive, "-o", out], &["no images"]);
    let picture = images(Path::new(drive)).remove(0);
    refused(&["segment", damaged, picture.to_str().unwrap(), "-o", out], &["damaged.safetensors"]);
    let other = ["segment", network.to_str().unwrap(), picture.to_str().unwrap(), "-o", out, "--classes", "urban11"];
    refused(&other, &["urban11 has 11 classes", "7 channels"]);
    let broken = folder.path().join("broken.png");
    std::fs::write(&broken, b"not a picture").unwrap();
    refused(&["segment", network.to_str().unwrap(), broken.to_str().unwrap(), "-o", out], &["broken.png"]);
    refused(&["segment", "no-such.safetensors", broken.to_str().unwrap(), "-o", out], &["no-such.safetensors"]);
}

#[test]
fn a_fold_is_tested_with_the_network_that_never_saw_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (data, run, out) = (path("kitti"), path("run-2013_05_28_drive_0010_sync"), path("out"));
    let simulate = ["simulate", "--standard", "kitti360-like", "--drives", "matched", "--format", "kitti360"];
    done(&[simulate.as_slice(), &["--frames", "3", "--out", &data]].concat());
    // By its number, as --sequence takes it.
    let train =
        ["train", &data, "--without", "10", "--size", "64x40", "--width", "0.25", "--epochs", "1", "--batch", "4"];
    let printed = done(&[train.as_slice(), &["--out", &run]].concat());
    assert!(printed.contains("11 images to learn from, 1 held back"), "{printed}");
    let other: Vec<&str> = train.iter().map(|word| if *word == "10" { "99" } else { *word }).collect();
    refused(
        &[other.as_slice(), &["--out", &out]].concat(),
        &["has no sequence `99`; it has 2013_05_28_drive_0000_sync"],
    );
    let source = format!("{}/network.safetensors", path("run-{sequence}"));
    let printed = done(&["experiment", "table-urban", "--data", &data, "--semantics", &source, "--out", &out]);
    assert!(
        printed.contains("Semantics:") && printed.contains("run-2013_05_28_drive_0010_sync/network.safetensors"),
        "{printed}"
    );
}
