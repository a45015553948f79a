//! Maps as sums, as a user meets them: hashes, submaps listed, taken out, corrected, and trusted less.

use std::path::{Path, PathBuf};

use crate::{done, e2bki, name, text};

/// A command that must fail with a message that names what is wrong.
fn refused(arguments: &[&str], hint: &str) {
    let output = e2bki(arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
    assert!(message.contains(hint) && !message.contains("panicked"), "{arguments:?}: {message}");
}

/// Maps some frames of a simulated drive.
fn map(out: &Path, frames: &str, more: &[&str]) {
    let drive = ["map", "sim:urban", "--max-range", "12", "--every", "10", "--frames", frames, "-o", name(out)];
    done(&[&drive, more].concat());
}

fn hash(map: &Path) -> String {
    done(&["info", name(map), "--hash"]).trim().to_string()
}

/// The submaps as `--json` lists them.
fn listed(map: &Path) -> Vec<serde_json::Value> {
    let value: serde_json::Value = serde_json::from_str(&done(&["submaps", name(map), "--json", "-"])).unwrap();
    value["submaps"].as_array().unwrap().clone()
}

/// Poses of submaps as a file of KITTI's lines, each moved along x.
fn poses(file: &Path, submaps: &[serde_json::Value], by: f64) {
    let line = |submap: &serde_json::Value| {
        let number = |i: usize, j: usize| submap["world_from_submap"][i][j].as_f64().unwrap();
        let all = (0..3).flat_map(|i| (0..4).map(move |j| number(i, j) + if (i, j) == (0, 3) { by } else { 0.0 }));
        all.map(|v| v.to_string()).collect::<Vec<_>>().join(" ")
    };
    let lines: Vec<String> = submaps.iter().map(line).collect();
    std::fs::write(file, lines.join("\n")).unwrap();
}

#[test]
fn maps_of_the_same_frames_are_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let [whole, first, second, merged, onto] =
        ["whole", "first", "second", "merged", "onto"].map(|name| at(&format!("{name}.e2bki")));
    map(&whole, "0..60", &["--source", "monday", "--set", "run.threads=1"]);
    map(&first, "0..30", &["--source", "monday", "--set", "run.threads=2"]);
    map(&second, "30..60", &["--source", "monday", "--set", "views.live_voxels=false"]);
    done(&["merge", name(&second), name(&first), "--allow-duplicates", "-o", name(&merged)]);
    map(&onto, "0..30", &["--source", "monday", "--onto", name(&second)]);
    let bytes = |path: &PathBuf| std::fs::read(path).unwrap();
    assert!(bytes(&merged) == bytes(&whole) && bytes(&onto) == bytes(&whole));
    assert_eq!(hash(&whole), hash(&merged));
    assert_ne!(hash(&whole), hash(&first));
    assert_eq!(hash(&whole).len(), 32);
    refused(&["info", name(&at("none.e2bki")), "--hash"], "none.e2bki");
}

#[test]
fn submaps_are_listed_taken_out_corrected_and_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let [street, plain, rest, other, both] =
        ["street", "plain", "rest", "other", "both"].map(|name| at(&format!("{name}.e2bki")));
    map(&street, "0..60", &["--submaps", "2f", "--source", "monday"]);
    let submaps = listed(&street);
    assert_eq!(submaps.len(), 3);
    assert!(submaps.iter().all(|one| one["source"] == "monday" && one["frames"] == 2 && one["trust"] == 1.0));
    assert!(done(&["submaps", name(&street)]).contains("monday"));
    // What is left is the map of the others.
    done(&["remove", name(&street), "--submap", "2", "-o", name(&rest)]);
    map(&plain, "0..40", &["--source", "monday"]);
    assert!(std::fs::read(&rest).unwrap() == std::fs::read(&plain).unwrap());
    // Moved away and back again.
    let (moved, file) = (at("moved.e2bki"), at("poses.txt"));
    poses(&file, &submaps, 3.0);
    done(&["correct", name(&street), "--poses", name(&file), "--per", "submap", "-o", name(&moved)]);
    assert_ne!(hash(&moved), hash(&street));
    poses(&file, &submaps, 0.0);
    done(&["correct", name(&moved), "--poses", name(&file), "--per", "submap", "-o", name(&moved)]);
    assert!(std::fs::read(&moved).unwrap() == std::fs::read(&street).unwrap());
    // Two drives, one of which is believed half, and then not at all.
    map(&other, "60..90", &["--submaps", "2f", "--source", "robot-b"]);
    done(&["merge", name(&street), name(&other), "--trust", "robot-b=0.5", "-o", name(&both)]);
    let trusts: Vec<f64> = listed(&both).iter().map(|one| one["trust"].as_f64().unwrap()).collect();
    assert_eq!(trusts, [1.0, 1.0, 1.0, 0.5, 0.5]);
    done(&["remove", name(&both), "--source", "robot-b", "-o", name(&both)]);
    assert_eq!(hash(&both), hash(&street));
    assert_eq!(listed(&both).len(), 3);
}

#[test]
fn a_memory_budget_changes_nothing_of_submaps() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let [whole, small, half, rest] = ["whole", "small", "half", "rest"].map(|name| at(&format!("{name}.e2bki")));
    let submaps = ["--submaps", "2f", "--source", "monday"];
    let budget = ["--memory", "40MB"];
    map(&whole, "0..80", &submaps);
    map(&small, "0..80", &[&submaps[..], &budget].concat());
    // In two runs, the second of which goes on with the submaps of the first, into another file.
    map(&half, "0..40", &[&submaps[..], &budget].concat());
    map(&rest, "40..80", &[&submaps[..], &budget, &["--onto", name(&half)]].concat());
    let bytes = |path: &Path| std::fs::read(path).unwrap();
    for other in [&small, &rest] {
        assert!(bytes(other) == bytes(&whole));
        assert_eq!(listed(other), listed(&whole));
        done(&["remove", name(other), "--submap", "1", "-o", name(other)]);
    }
    done(&["remove", name(&whole), "--submap", "1", "-o", name(&whole)]);
    assert!(bytes(&small) == bytes(&whole) && bytes(&rest) == bytes(&whole));
    // What was saved without submaps cannot have them under a budget.
    map(&half, "0..20", &[]);
    let onto = ["map", "sim:urban", "--frames", "20..30", "-o", name(&half), "--onto", name(&half), "--memory", "40MB"];
    refused(&[&onto[..], &["--submaps", "2f"]].concat(), "keeps no submaps");
}

#[test]
fn what_cannot_be_done_is_said_and_nothing_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let [street, plain, out] = ["street", "plain", "out"].map(|name| at(&format!("{name}.e2bki")));
    map(&street, "0..40", &["--submaps", "2f", "--source", "monday"]);
    map(&plain, "0..20", &["--source", "tuesday"]);
    let (kept, file) = (std::fs::read(&street).unwrap(), at("poses.txt"));
    let map = name(&street);
    refused(&["remove", map, "--submap", "7", "-o", map], "submap 7");
    refused(&["remove", map, "--source", "friday", "-o", map], "monday");
    refused(&["remove", map, "-o", map], "--submap");
    refused(&["remove", name(&plain), "--submap", "0", "-o", name(&out)], "--submaps");
    refused(&["submaps", name(&plain)], "--submaps");
    std::fs::write(&file, "1 0 0 0 0 1 0 0 0 0 1 0\n").unwrap();
    refused(&["correct", name(&plain), "--poses", name(&file), "-o", name(&out)], "--submaps");
    // A submap that there is none of, by its number.
    std::fs::write(&file, "7 1 0 0 0 0 1 0 0 0 0 1 0\n").unwrap();
    refused(&["correct", map, "--poses", name(&file), "--per", "submap", "-o", map], "submap 7");
    refused(&["map", "sim:urban", "--frames", "0..2", "--submaps", "0", "-o", name(&out)], "--submaps");
    // Not rigid, not a number, too few, outside of the world.
    for (line, hint) in [
        ("2 0 0 0 0 2 0 0 0 0 2 0\n", "line 1"),
        ("1 0 0 x 0 1 0 0 0 0 1 0\n", "line 1"),
        ("1 0 0 0 0 1 0 0 0 0 1 0\n", "1 poses for 2 submaps"),
        ("1 0 0 1e9 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 0 0 0 1 0\n", "1"),
    ] {
        std::fs::write(&file, line).unwrap();
        refused(&["correct", map, "--poses", name(&file), "--per", "submap", "-o", map], hint);
    }
    refused(&["correct", map, "--poses", name(&at("none.txt")), "-o", map], "none.txt");
    refused(&["merge", map, name(&plain), "--trust", "friday=0.5", "-o", name(&out)], "monday, tuesday");
    refused(&["merge", map, name(&plain), "--trust", "monday=0", "-o", name(&out)], "1/256");
    refused(&["merge", map, name(&plain), "--trust", "monday", "-o", name(&out)], "SOURCE=FACTOR");
    assert!(std::fs::read(&street).unwrap() == kept && !out.exists());
    assert_eq!(listed(&street).len(), 2);
    // A damaged contribution names its file, and the map itself can still be used.
    let beside = at("street.e2bki.submaps");
    let part = std::fs::read_dir(&beside).unwrap().map(|e| e.unwrap().path());
    let part = part.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "part")).unwrap();
    let mut bytes = std::fs::read(&part).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&part, bytes).unwrap();
    std::fs::write(&file, "1 0 0 1 0 1 0 0 0 0 1 0\n1 0 0 6 0 1 0 0 0 0 1 0\n").unwrap();
    refused(&["remove", map, "--submap", "0", "-o", map], "damaged");
    refused(&["correct", map, "--poses", name(&file), "--per", "submap", "-o", map], "damaged");
    refused(&["merge", map, "--trust", "monday=0.5", "-o", name(&out)], "damaged");
    assert!(std::fs::read(&street).unwrap() == kept);
    done(&["check", map]);
}

#[test]
fn poses_of_the_camera_are_noticed_and_brought_to_the_sensor() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (drive, map, out) = (at("drive"), at("loop.e2bki"), at("corrected.e2bki"));
    let simulated = ["simulate", "--world", "urban", "--frames", "20", "--route", "loop", "--drift", "1%,1deg"];
    done(&[&simulated[..], &["--no-images", "--format", "semantickitti", "--out", name(&drive)]].concat());
    done(&["map", name(&drive), "--max-range", "12", "--submaps", "5f", "-o", name(&map)]);
    let kept = std::fs::read(&map).unwrap();
    let find = |ending: &str| {
        let sequence = std::fs::read_dir(drive.join("sequences")).unwrap().next().unwrap().unwrap().path();
        sequence.join(ending)
    };
    let (poses, calibration, truth) = (find("poses.txt"), find("calib.txt"), find("true_poses.txt"));
    let correct = ["correct", name(&map), "-o", name(&out), "--poses"];
    // The folder's own poses are of the camera, as KITTI's are: 90° elsewhere, which nobody means.
    refused(&[&correct[..], &[name(&poses)]].concat(), "--calibration calib.txt");
    assert!(!out.exists() && std::fs::read(&map).unwrap() == kept);
    // Brought to the LiDAR they are the poses that the map was made with.
    done(&[&correct[..], &[name(&poses), "--calibration", name(&calibration)]].concat());
    assert!(std::fs::read(&out).unwrap() == kept);
    // Who insists may.
    let insists = ["--body-from-sensor", "1 0 0 0  0 1 0 0  0 0 1 0"];
    done(&[&correct[..], &[name(&poses)], &insists].concat());
    assert!(std::fs::read(&out).unwrap() != kept);
    // True poses of the LiDAR need nothing; of a base they need to know where it is.
    let middle = |map: &Path| -> [f64; 4] {
        let states: Vec<_> = e2bki_store::load(map).unwrap().states().collect();
        let sum = |i: usize| states.iter().map(|s| s.sums.mean()[i] * s.sums.weight).sum::<f64>();
        let points = states.iter().map(|s| s.sums.weight).sum::<f64>();
        [points, sum(0) / points, sum(1) / points, sum(2) / points]
    };
    done(&[&correct[..], &[name(&truth)]].concat());
    let by_sensor: Vec<f64> = middle(&out).to_vec();
    let turned = at("base.txt");
    let line = |line: &str| {
        let mut numbers: Vec<f64> = line.split_whitespace().map(|v| v.parse().unwrap()).collect();
        // The base is turned by half a turn about z: (x, y, z, w) · (0, 0, 1, 0).
        let [x, y, z, w] = [numbers[4], numbers[5], numbers[6], numbers[7]];
        numbers.splice(4.., [y, -x, w, -z]);
        numbers.iter().map(|v| v.to_string()).collect::<Vec<_>>().join(" ")
    };
    let text = std::fs::read_to_string(&truth).unwrap();
    let text: Vec<String> = text.lines().filter(|l| !l.starts_with('#')).map(line).collect();
    std::fs::write(&turned, text.join("\n")).unwrap();
    refused(&[&correct[..], &[name(&turned)]].concat(), "--body-from-sensor");
    done(&[&correct[..], &[name(&turned), "--body-from-sensor=-1 0 0 0  0 -1 0 0  0 0 1 0"]].concat());
    for (a, b) in middle(&out).iter().zip(by_sensor) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
    refused(&[&correct[..], &[name(&poses), "--calibration", name(&truth)]].concat(), "Tr");
    refused(&[&correct[..], &[name(&poses), "--body-from-sensor", "1 2 3"]].concat(), "--body-from-sensor");
}

#[test]
fn submaps_of_other_classes_are_refused_by_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(format!("{name}.e2bki"));
    let [a, b, out] = ["a", "b", "out"].map(at);
    let points: Vec<[f32; 3]> = (0..600).map(|i| [3.0, 0.02 * i as f32, 0.5]).collect();
    let map_of = |names: [&str; 2], source: &str, path: &Path| {
        let classes = e2bki::ClassSet::from_names(names).unwrap();
        let mut map = e2bki::Mapper::new(classes, e2bki::Config::default()).unwrap();
        map.keep_submaps(e2bki::submaps::SubmapRule::Frames(1), source).unwrap();
        for x in [0.0, 5.0] {
            let world_from_sensor = e2bki::Pose::from_translation([x, 0.0, 0.0]).unwrap();
            let semantics = e2bki::Semantics::Labels(&[1; 600]);
            map.insert(&e2bki::Frame { points: &points, semantics, world_from_sensor, scan: None }).unwrap();
        }
        e2bki_store::save_with(&map, &[source.to_string()], path).unwrap();
    };
    map_of(["road", "wall"], "monday", &a);
    map_of(["road", "hedge"], "tuesday", &b);
    // Merged by the names of classes: no submap has all of them, and that is said.
    let said = done(&["merge", name(&a), name(&b), "-o", name(&out)]);
    assert!(said.contains("none kept") && said.contains("other classes"), "{said}");
    refused(&["submaps", name(&out)], "keeps no submaps");
    std::fs::remove_file(&out).unwrap();
    // The submaps of another map, equal but for the name of a class.
    let beside = |map: &Path| PathBuf::from(format!("{}.submaps", map.display()));
    std::fs::remove_dir_all(beside(&b)).unwrap();
    std::fs::rename(beside(&a), beside(&b)).unwrap();
    let (kept, file) = (std::fs::read(&b).unwrap(), folder.path().join("poses.txt"));
    std::fs::write(&file, "1 0 0 1 0 1 0 0 0 0 1 0\n1 0 0 6 0 1 0 0 0 0 1 0\n").unwrap();
    let map = name(&b);
    refused(&["submaps", map], "other classes");
    refused(&["remove", map, "--submap", "0", "-o", map], "other classes");
    refused(&["correct", map, "--poses", name(&file), "--per", "submap", "-o", map], "other classes");
    assert!(std::fs::read(&b).unwrap() == kept && !out.exists());
    done(&["check", map]);
}
