//! Runs that do not end as they were meant to: signals, kills, outputs that cannot be written, two programs at once.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use e2bki::{ClassSet, Config, Mapper};

use crate::{e2bki, name, small_drive, text};

/// A drive that goes on until it is stopped, of small frames.
const DRIVE: [&str; 8] = ["map", "sim:urban", "--max-range", "15", "--every", "10", "--set", "views.live_voxels=false"];

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_e2bki"))
}

/// An endless run that saves after every frame.
fn endless(out: &Path, more: &[&str]) -> Child {
    let mut command = program();
    command.args(DRIVE).args(["--save-every", "1", "-o", name(out)]).args(more);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_for(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(120), "waited too long");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

fn ended(mut child: Child) -> (Option<i32>, String) {
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}

fn inside(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(unix)]
#[test]
fn every_signal_that_ends_a_run_keeps_its_map() {
    let folder = tempfile::tempdir().unwrap();
    let mut maps = 0;
    for (signal_name, number, more) in
        [("-TERM", 15, vec![]), ("-HUP", 1, vec![]), ("-INT", 2, vec![]), ("-TERM", 15, vec!["--memory", "1GB"])]
    {
        if is_ignored(number) {
            // A run would go on for ever, as whoever started these tests wished (`nohup`, a job in the background of a script).
            e2bki_testdata::skip(&format!("signal {signal_name} is ignored by everything started from here"));
            continue;
        }
        maps += 1;
        let out = folder.path().join(format!("map{signal_name}{}.e2bki", more.len()));
        let child = endless(&out, &more);
        wait_for(|| out.exists());
        signal(&child, signal_name);
        let (code, said) = ended(child);
        assert_eq!(code, Some(1), "{signal_name}: {said}");
        assert!(said.contains("stopped; the map of the") && said.contains("--onto"), "{said}");
        assert_eq!(e2bki(&["check", name(&out)]).status.code(), Some(0));
    }
    // Nothing else is left: no lock, no part, no tiles.
    assert_eq!(inside(folder.path()).len(), maps, "{:?}", inside(folder.path()));
}

/// Whether processes started from here ignore a signal, because this one does.
fn is_ignored(signal: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(unix)]
#[test]
fn a_second_signal_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("map.e2bki");
    // Large frames, so that the second one comes before the end of the first frame after it.
    let mut child = program()
        .args(["map", "sim:urban", "-o", name(&out)])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    signal(&child, "-TERM");
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("stopping after this frame")));
    signal(&child, "-TERM");
    let code = child.wait().unwrap().code();
    // It may have been done with the frame before.
    assert!(code == Some(143) || code == Some(1), "{code:?}");
}

/// `E2BKI_KILLS` sets how often each way (default 3): `E2BKI_KILLS=1000 cargo test -p e2bki-cli --test cli killed`.
#[cfg(unix)]
#[test]
fn a_run_that_is_killed_leaves_the_last_map_whole() {
    let kills: u64 = std::env::var("E2BKI_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let folder = tempfile::tempdir().unwrap();
    let drive = folder.path().join("drive");
    // Longer than any run of it is let go on.
    small_drive(&drive, 1000, 12);
    let (out, tiles) = (folder.path().join("map.e2bki"), folder.path().join("map.e2bki.tiles"));
    let mut ends = [0_u64; 2];
    let mut round = 0;
    while ends.iter().any(|count| *count < kills) {
        round += 1;
        assert!(round <= 4 * kills + 10, "most runs end before they are killed: {ends:?}");
        let way = usize::from(ends[1] < ends[0]);
        let mut command = program();
        command.args(["map", name(&drive), "--save-every", "1", "-o", name(&out)]);
        if round % 3 == 2 {
            command.args(["--memory", "1GB"]);
        }
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(|| out.exists());
        let before = e2bki_store::MapFile::open(&out).unwrap().header().frames;
        std::thread::sleep(Duration::from_micros(round * 7_919_317 % 60_000));
        let running = child.try_wait().unwrap().is_none();
        signal(&child, ["-KILL", "-TERM"][way]);
        let (code, said) = ended(child);
        let checked = e2bki_store::check(&out).unwrap();
        assert!(checked.findings.is_empty(), "round {round}: {:?}", checked.findings);
        let frames = e2bki_store::MapFile::open(&out).unwrap().header().frames;
        assert!(frames >= before, "round {round}: {frames} frames after {before}");
        // Who is asked to end says how many frames are in the file, and they are.
        if running && way == 1 {
            assert!(
                code == Some(1) && said.contains(&format!("the first {frames} frames")),
                "{round}: {frames} {said}"
            );
        }
        ends[way] += u64::from(running);
        if tiles.exists() {
            assert!(e2bki_store::check(&tiles).unwrap().findings.is_empty(), "round {round}");
            std::fs::remove_dir_all(&tiles).unwrap();
        }
        std::fs::remove_file(&out).unwrap();
    }
    eprintln!("killed {} times, asked to end {} times, in {round} runs", ends[0], ends[1]);
}

#[test]
fn two_programs_do_not_write_one_map() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("map.e2bki");
    let mut first = endless(&out, &[]);
    wait_for(|| out.exists());
    let second = e2bki(&["map", "sim:urban", "--frames", "0..1", "-o", name(&out)]);
    assert_eq!(second.status.code(), Some(2));
    assert!(text(&second.stderr).contains(&format!("process {}", first.id())), "{}", text(&second.stderr));
    // Nor is it changed in place meanwhile.
    let poses = folder.path().join("poses.txt");
    std::fs::write(&poses, "1 0 0 0 0 1 0 0 0 0 1 0\n").unwrap();
    for change in [&["remove", "--submap", "0"][..], &["correct", "--poses", name(&poses)]] {
        let refused = e2bki(&[&change[..1], &[name(&out)], &change[1..], &["-o", name(&out)]].concat());
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused.stderr).contains(&format!("process {}", first.id())), "{}", text(&refused.stderr));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(e2bki_store::check(&out).unwrap().findings.is_empty());
}

#[cfg(unix)]
#[test]
fn a_save_that_fails_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let (place, away) = (folder.path().join("place"), folder.path().join("away"));
    std::fs::create_dir(&place).unwrap();
    let out = place.join("map.e2bki");
    let mut child = endless(&out, &[]);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    wait_for(|| out.exists());
    std::fs::rename(&place, &away).unwrap();
    assert!(lines.any(|line| line.unwrap().contains("warning: the map of")));
    std::fs::create_dir(&place).unwrap();
    wait_for(|| out.exists());
    signal(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(e2bki_store::check(&out).unwrap().findings.is_empty());
}

#[cfg(unix)]
#[test]
fn a_rate_is_kept_and_a_run_that_waits_can_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let (paced, hurried) = (folder.path().join("paced.e2bki"), folder.path().join("hurried.e2bki"));
    let start = Instant::now();
    for (out, more) in [(&paced, &["--rate", "4"][..]), (&hurried, &[])] {
        let made = e2bki(&[&DRIVE[..], &["--frames", "0..50", "-o", name(out)], more].concat());
        assert!(made.status.success(), "{}", text(&made.stderr));
        // Five frames: four periods between them.
        assert!(start.elapsed() >= Duration::from_secs(1));
    }
    assert!(std::fs::read(&paced).unwrap() == std::fs::read(&hurried).unwrap());
    let slow = folder.path().join("slow.e2bki");
    let child = endless(&slow, &["--rate", "0.01"]);
    wait_for(|| slow.exists());
    let asked = Instant::now();
    signal(&child, "-TERM");
    let (code, said) = ended(child);
    assert!(code == Some(1) && said.contains("the map of the first 1 frames"), "{said}");
    assert!(asked.elapsed() < Duration::from_secs(30), "{:?}", asked.elapsed());
    assert_eq!(e2bki(&[&DRIVE[..], &["--rate", "0"]].concat()).status.code(), Some(2));
}

#[test]
fn outputs_that_cannot_be_written_are_noticed_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let protected = folder.path().join("protected.e2bki");
    std::fs::write(&protected, "mine").unwrap();
    let mut rights = std::fs::metadata(&protected).unwrap().permissions();
    rights.set_readonly(true);
    std::fs::set_permissions(&protected, rights).unwrap();
    let is_folder = folder.path().join("folder.e2bki");
    std::fs::create_dir(&is_folder).unwrap();
    let (none, long) = (folder.path().join("none/map.e2bki"), folder.path().join(format!("{}.e2bki", "m".repeat(250))));
    for bad in [&protected, &is_folder, &none, &long] {
        for option in ["-o", "--json", "--report"] {
            let start = Instant::now();
            let output = e2bki(&["map", "sim:urban", option, name(bad)]);
            assert_eq!(output.status.code(), Some(2), "{option} {bad:?}: {}", text(&output.stderr));
            assert!(text(&output.stderr).contains(name(bad)), "{}", text(&output.stderr));
            assert!(start.elapsed() < Duration::from_secs(30));
        }
    }
    for arguments in [
        vec!["demo", "--json"],
        vec!["info", "map", "--json"],
        vec!["bench", "--json"],
        vec!["merge", "a", "-o"],
        vec!["remove", "a", "--submap", "0", "-o"],
        vec!["correct", "a", "--poses", "p", "-o"],
    ] {
        let output = e2bki(&[&arguments[..], &[name(&is_folder)]].concat());
        assert!(text(&output.stderr).contains("is a folder"), "{arguments:?}: {}", text(&output.stderr));
    }
    // As long as a name may be.
    let longest: PathBuf = folder.path().join(format!("{}.e2bki", "m".repeat(249)));
    let written = e2bki(&[&DRIVE[..], &["--frames", "0..1", "-o", name(&longest)]].concat());
    assert!(written.status.success(), "{}", text(&written.stderr));
    assert_eq!(e2bki(&["check", name(&longest)]).status.code(), Some(0));
    // What a simulated drive has by itself is not left out without a word.
    let other = e2bki(&["map", "sim:urban", "--classes", "urban11", "--frames", "0..1"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("leave --classes out"), "{}", text(&other.stderr));
    let zero = e2bki(&["map", "sim:urban", "--every", "0"]);
    assert_eq!(zero.status.code(), Some(2));
}

#[test]
fn a_map_with_a_budget_is_the_same_file_also_when_it_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let run = |frames: &str, out: &Path, more: &[&str]| {
        let made = e2bki(&[&DRIVE[..], &["--frames", frames, "-o", name(out)], more].concat());
        assert!(made.status.success(), "{}", text(&made.stderr));
    };
    run("0..600", &path("plain.e2bki"), &[]);
    run("0..600", &path("small.e2bki"), &["--memory", "40MB", "--json", name(&path("small.json"))]);
    let read = |name: &str| std::fs::read(path(name)).unwrap();
    assert!(read("plain.e2bki") == read("small.e2bki"));
    let numbers: serde_json::Value = serde_json::from_slice(&read("small.json")).unwrap();
    assert!(numbers["bytes"].as_u64().unwrap() <= 40_000_000, "{numbers}");
    run("0..300", &path("half.e2bki"), &["--memory", "40MB"]);
    run("0..300", &path("whole.e2bki"), &[]);
    for (half, more) in [("half.e2bki", vec!["--memory", "40MB"]), ("whole.e2bki", vec![])] {
        run("300..600", &path(half), &[&["--onto", name(&path(half))], &more[..]].concat());
    }
    assert!(read("half.e2bki") == read("whole.e2bki"));
    assert_eq!(inside(folder.path()), ["half.e2bki", "plain.e2bki", "small.e2bki", "small.json", "whole.e2bki"]);
    let refused =
        e2bki(&[&DRIVE[..], &["--frames", "0..100", "-o", name(&path("x.e2bki")), "--memory", "5 parsecs"]].concat());
    assert!(text(&refused.stderr).contains("no unit of memory"), "{}", text(&refused.stderr));
}

#[test]
fn a_terminal_obeys_no_name_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.e2bki");
    let classes = ClassSet::from_names(["road\u{1b}]0;owned\u{7}", "tree\r\u{9b}2J"]).unwrap();
    let map = Mapper::new(classes, Config::default()).unwrap();
    e2bki_store::save_with(&map, &["drive\u{1b}[31m".into()], &path).unwrap();
    let said = [
        e2bki(&["info", name(&path)]),
        e2bki(&["check", name(&path)]),
        e2bki(&["merge", name(&path), name(&path), "-o", name(&folder.path().join("m.e2bki"))]),
        e2bki(&["map", "sim:urban", "--frames", "0..1", "--onto", name(&path)]),
        e2bki(&["merge", name(&path), "-o", name(&folder.path().join("n.e2bki"))]),
    ];
    for output in &said {
        let all = [&output.stdout[..], &output.stderr[..]].concat();
        assert!(!all.contains(&0x1b) && !all.contains(&7) && !all.contains(&b'\r'), "{}", text(&all));
    }
    assert!(text(&said[0].stdout).contains("\\u{1b}]0;owned"), "{}", text(&said[0].stdout));
    assert!(text(&said[3].stderr).contains("road\\u{1b}]"), "{}", text(&said[3].stderr));
}
