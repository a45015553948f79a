//! A process that is killed at any moment of a save leaves the old or the new map, whole.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{drive, map_of};
use e2bki::{Config, Mapper};
use e2bki_store::{Folder, Header, check, load, save_with};

fn map(points: usize) -> Mapper {
    map_of(&drive(20, points), &Config::default().with(|c| c.views.live_voxels = false)).0
}

/// Not a test: what the tests below start and kill. Saves two maps in turn until it is killed.
#[test]
#[ignore = "only started by the other tests"]
fn saves_for_ever() {
    let Ok(path) = std::env::var("E2BKI_SAVE_TO") else { return };
    let (old, new) = (map(400), map(700));
    if std::env::var("E2BKI_SAVE_AS").as_deref() == Ok("folder") {
        let mut folder = Folder::open(&path).unwrap();
        println!("ready");
        loop {
            folder.save(&new).unwrap();
            folder.save(&old).unwrap();
        }
    }
    println!("ready");
    loop {
        save_with(&new, &["drive".into()], &path).unwrap();
        save_with(&old, &["drive".into()], &path).unwrap();
    }
}

/// Starts the saver, lets it go on for a while, kills it, and asks what is there; many times.
fn kill_often(path: &std::path::Path, kind: &str) {
    let [old, new] = [400, 700].map(|points| map(points).states().collect::<Vec<_>>());
    let (mut olds, mut news) = (0, 0);
    for round in 0..20_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::saves_for_ever", "--ignored", "--nocapture"])
            .env("E2BKI_SAVE_TO", path)
            .env("E2BKI_SAVE_AS", kind)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Saving has begun once it says so.
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
        assert!(lines.any(|line| line.unwrap().contains("ready")));
        std::thread::sleep(Duration::from_micros(1 + round * round * 97 % 61_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let found: Vec<_> = load(path).unwrap().states().collect();
        olds += usize::from(found == old);
        news += usize::from(found == new);
        assert_eq!(olds + news, round as usize + 1, "neither the old nor the new map after round {round}");
    }
    assert!(check(path).unwrap().findings.is_empty());
    eprintln!("{kind}: killed {} times; {olds} old, {news} new", olds + news);
}

#[test]
fn a_file_is_the_old_or_the_new_map_whenever_its_writer_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    save_with(&map(400), &["drive".into()], &path).unwrap();
    kill_often(&path, "file");
}

#[test]
fn a_folder_is_the_old_or_the_new_map_whenever_its_writer_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map");
    let old = map(400);
    Folder::create(&path, Header::of(&old, &[])).unwrap().save(&old).unwrap();
    kill_often(&path, "folder");
}
