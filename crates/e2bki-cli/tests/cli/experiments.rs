//! Experiments as a user runs them: tiny drives from end to end, interruption, mistakes.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{e2bki, text};

/// A drive of four coarse frames, seen by the simulated network however the program was built.
const TINY: [&str; 6] = ["--frames", "4", "--columns", "160", "--network", "0.3"];

fn command(name: &str, out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_e2bki"));
    command.args(["experiment", name, "--out"]).arg(out).args(more);
    command
}

fn run(name: &str, out: &Path, more: &[&str]) -> Output {
    command(name, out, more).output().expect("the program starts")
}

/// Records without what depends on the clock.
fn records(out: &Path, name: &str) -> Vec<Value> {
    let bytes = std::fs::read(out.join(format!("{name}.json"))).expect("records are written");
    let mut records: Vec<Value> = serde_json::from_slice(&bytes).expect("records are JSON");
    for record in &mut records {
        let fields = record.as_object_mut().expect("a record is an object");
        fields.remove("hz");
        fields.remove("stage_ms");
    }
    records
}

#[test]
fn a_table_is_printed_drawn_and_written_with_every_method() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("records.json");
    let more = [TINY.as_slice(), &["--json", json.to_str().unwrap()]].concat();
    let output = run("table-urban", folder.path(), &more);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    for name in [
        "S-CSM",
        "S-BKI",
        "SEE-CSOM",
        "ConvBKI",
        "EBS",
        "DST",
        "E2-BKI",
        "clusters in total",
        "network, no map",
        "47.3 / 59.5",
    ] {
        assert!(printed.contains(name), "{name} is missing in\n{printed}");
    }
    assert!(printed.contains("compare orders, not values") && !printed.contains("NaN"));
    assert!(image::open(folder.path().join("table-urban.png")).unwrap().width() > 600);
    assert!(std::fs::read_to_string(folder.path().join("table-urban.svg")).unwrap().contains("reliability"));
    let written: Vec<Value> = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    // The methods, the network, the other reading, baselines with neighbour context and ConvBKI by its own occupancy.
    assert_eq!(written.len(), 17);
    for record in &written {
        for field in ["dataset", "method", "view", "miou", "acc", "bs", "ece", "iou", "queries", "occupied"] {
            assert!(record.get(field).is_some(), "{field} is missing in {record}");
        }
        assert!(record["acc"].as_f64().unwrap() > 20.0, "{record}");
        if record["method"] != "network, no map" {
            assert!(record["miou_common"].as_f64().is_some() && record["bytes"].as_u64().unwrap() > 0);
            assert!(record["hz"].as_f64().unwrap() > 0.0 && record["volume_m3"].as_f64().unwrap() > 0.0);
        }
    }
}

#[test]
fn simulated_drives_are_seen_by_the_networks_of_the_program_and_whatever_else_it_is_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let coarse = &TINY[..4];
    let output = run("table-urban", folder.path(), coarse);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (printed, sources) = (text(&output.stdout), sources(folder.path()));
    let looks = "network that sees the images, trained on other matched drives of this set";
    if cfg!(feature = "segment") {
        assert!(printed.contains(&format!("Semantics: {looks}.")) && sources == [looks], "{sources:?} {printed}");
    } else {
        assert!(printed.contains("this program was built without trained ones"), "{printed}");
        assert_eq!(sources, ["simulated network, trained with 0.3 of the data"]);
    }
    // Asked for, it needs no word more than any source; and drives that no network of the program is of are said.
    let asked = text(&run("table-urban", folder.path(), &TINY).stdout);
    assert!(asked.contains("Semantics: simulated network") && !asked.contains("Seen by the"), "{asked}");
    let first = text(&run("table-urban", folder.path(), &[coarse, &["--drives", "first"]].concat()).stdout);
    assert!(first.contains("Seen by the simulated network, trained with 0.3 of the data:"), "{first}");
}

/// Sources of the semantics of all records of the table.
fn sources(out: &Path) -> Vec<String> {
    let mut sources: Vec<String> =
        records(out, "table-urban").iter().map(|record| record["semantics"].as_str().unwrap().into()).collect();
    sources.dedup();
    sources
}

#[test]
fn an_interrupted_experiment_continues_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    assert!(run("table-urban", &whole, &TINY).status.success());

    let mut child = command("table-urban", &broken, &TINY)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let state = broken.join("records.jsonl");
    let start = Instant::now();
    let lines = || std::fs::read(&state).map_or(0, |bytes| bytes.iter().filter(|b| **b == b'\n').count());
    while lines() < 3 && start.elapsed() < Duration::from_secs(120) && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let kept = lines();
    assert!(kept >= 3, "nothing was kept");
    // A crash in the middle of a line.
    let mut bytes = std::fs::read(&state).unwrap();
    bytes.extend_from_slice(b"{\"key\":\"12ab\",\"record\":{\"dataset\":\"kit");
    std::fs::write(&state, bytes).unwrap();

    let again = run("table-urban", &broken, &TINY);
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert_eq!(records(&whole, "table-urban"), records(&broken, "table-urban"));
    // A third time there is nothing left to do.
    let size = std::fs::metadata(&state).unwrap().len();
    assert!(run("table-urban", &broken, &TINY).status.success());
    assert_eq!(std::fs::metadata(&state).unwrap().len(), size);
}

#[test]
fn drives_without_end_and_bird_eye_views_run_in_small() {
    let folder = tempfile::tempdir().unwrap();
    for (name, more) in [
        ("figure-scalability", ["--frames", "60"].as_slice()),
        ("figure-density", &TINY),
        ("table-bev", &TINY),
        ("figure-maps", &TINY),
    ] {
        let output = run(name, folder.path(), more);
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        assert!(
            folder.path().join(format!("{name}.png")).is_file() && folder.path().join(format!("{name}.md")).is_file()
        );
    }
    // Two drives: means with their standard errors.
    let two = [TINY.as_slice(), &["--seeds", "2"]].concat();
    for name in ["figure-threshold", "figure-sparsity", "leaderboard"] {
        // Simulated drives alone, whatever recordings there are.
        let output = command(name, folder.path(), &two).env_remove("E2BKI_DATA").output().expect("the program starts");
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        let page = std::fs::read_to_string(folder.path().join(format!("{name}.md"))).unwrap();
        assert!(page.contains(" ± ") && page.contains("2 drives") && page.contains("Semantics: "), "{page}");
    }
    let bev = records(folder.path(), "table-bev");
    assert!(bev.iter().any(|record| record["view"] == "bev-continuous" && record["miou"].is_f64()));
    assert!(bev.iter().all(|record| record["volume_m3"].is_null()));
}

#[test]
fn a_folder_without_labels_gives_dashes_and_bad_folders_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let drive = folder.path().join("drive");
    let simulated = Command::new(env!("CARGO_BIN_EXE_e2bki"))
        .args(["simulate", "--world", "urban", "--frames", "2", "--format", "semantickitti", "--no-images", "--out"])
        .arg(&drive)
        .output()
        .expect("the program starts");
    assert!(simulated.status.success(), "{}", text(&simulated.stderr));
    let sequence = drive.join("sequences");
    let sequence = std::fs::read_dir(&sequence).unwrap().next().unwrap().unwrap().path();
    // The labels become predictions: then nothing is known to be true.
    std::fs::rename(sequence.join("labels"), sequence.join("predictions")).unwrap();
    let out = folder.path().join("out");
    let output = run("table-full", &out, &["--data", sequence.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("No ground truth"), "{printed}");
    // Nor is there anything to learn from, and nothing is said to have been learned.
    assert!(printed.contains("ConvBKI keeps its first kernels") && !printed.contains("ConvBKI learned"), "{printed}");
    let all = records(&out, "table-full");
    assert!(all.iter().all(|record| record["miou"].is_null() && record["acc"].is_null() && record["bs"].is_null()));
    assert!(all.iter().any(|record| record["bytes"].as_u64().unwrap_or(0) > 0));

    assert!(all.iter().all(|record| record["semantics"] == "labels:predictions"));

    // The truth is never mapped unasked.
    std::fs::rename(sequence.join("predictions"), sequence.join("labels")).unwrap();
    let output = run("figure-density", &out, &["--data", sequence.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("--semantics ground-truth"), "{}", text(&output.stderr));
    let output = e2bki(&["bench", "--only", "scan", "--data", sequence.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("--semantics ground-truth"), "{}", text(&output.stderr));
    let output = run("figure-density", &out, &["--data", sequence.to_str().unwrap(), "--semantics", "ground-truth"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(records(&out, "figure-density").iter().all(|record| record["semantics"] == "ground-truth"));
    // The folder of the true labels is the truth by another name, and is mapped where it is asked for.
    let output = run("table-full", &out, &["--data", sequence.to_str().unwrap(), "--semantics", "labels:labels"]);
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(printed.contains("Semantics: ground-truth (labels:labels). ConvBKI learned from"), "{printed}");
    let all = records(&out, "table-full");
    assert!(all.iter().all(|record| record["semantics"] == "ground-truth (labels:labels)"), "{all:?}");
    std::fs::remove_dir_all(sequence.join("labels")).unwrap();
    for (name, more, hint) in [
        ("table-full", vec!["--data", sequence.to_str().unwrap()], "name another source with --semantics"),
        ("table-full", vec!["--data", "no-such-folder"], "no-such-folder"),
        ("table-ful", vec![], "did you mean `table-full`"),
        ("figure-sparsitty", vec![], "figure-sparsity"),
        ("table-full", vec!["--frames", "0"], "at least 1"),
        ("table-full", vec!["--network", "5", "--frames", "1"], "0.02"),
        ("table-full", vec!["--held-out"], "--data"),
        ("table-full", vec!["--semantics", "ground-truth"], "--data"),
        ("figure-scalability", vec!["--data", sequence.to_str().unwrap()], "without --data"),
        (
            "table-full",
            vec!["--data", sequence.to_str().unwrap(), "--columns", "64"],
            "--columns is for simulated drives",
        ),
        ("table-full", vec!["--data", sequence.to_str().unwrap(), "--network", "0.1"], "--network is for simulated"),
        ("table-planning", vec!["--data", sequence.to_str().unwrap()], "without --data"),
        ("table-planning", vec!["--network", "0.1"], "takes no --network"),
        ("leaderboard", vec!["--data", sequence.to_str().unwrap(), "--frames", "1", "--columns", "64"], "holds none"),
    ] {
        let output = run(name, &out, &more);
        assert_eq!(output.status.code(), Some(2), "{name} {more:?}");
        let message = text(&output.stderr);
        assert!(message.contains(hint) && !message.contains("panicked"), "{message}");
    }
    let list = Command::new(env!("CARGO_BIN_EXE_e2bki")).args(["experiment", "list"]).output().unwrap();
    let list = text(&list.stdout);
    assert!(["table-offroad", "table-dynamic", "figure-maps"].iter().all(|name| list.contains(name)), "{list}");
}
