//! The program as a user meets it: one process per command, its exit code and what it says.

#![allow(clippy::expect_used, clippy::unwrap_used)] // a test may fail loudly

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

mod bags;
mod experiments;
#[cfg(feature = "fleet")]
mod fleet;
#[cfg(target_os = "linux")]
mod full_disk;
mod layers;
mod long_runs;
mod maps;
mod program;
mod protocol;
mod rerun;
#[cfg(feature = "segment")]
mod segment;
mod submaps;
mod view;

fn e2bki(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_e2bki")).args(arguments).output().expect("the program starts")
}

/// What a command prints, which must work.
fn done(arguments: &[&str]) -> String {
    let output = e2bki(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn name(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A small map of more than one tile, whose classes are of no table: road, grass, wall, pole, bush.
fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../e2bki-store/tests/golden/version-1.e2bki")
}

/// A drive over an uneven field with trees, `side` × `side` points a frame: small, where many runs are more than long ones.
fn small_drive(folder: &Path, frames: usize, side: usize) {
    for part in ["frames", "labels"] {
        std::fs::create_dir_all(folder.join(part)).unwrap();
    }
    let (mut points, mut labels) = (Vec::new(), Vec::new());
    for k in 0..side * side {
        let (i, j) = (k % side, k / side);
        let place = [i, j].map(|n| 0.4 * (n as f32 - 0.5 * side as f32));
        let tree = k % 17 == 0;
        let height = if tree { 0.1 * (k % 23) as f32 } else { -1.5 + 0.05 * (k % 5) as f32 };
        points.extend([place[0], place[1], height, 0.0].map(f32::to_le_bytes).concat());
        labels.extend(u32::from(tree).to_le_bytes());
    }
    let mut poses = String::new();
    for frame in 0..frames {
        std::fs::write(folder.join(format!("frames/{frame:06}.bin")), &points).unwrap();
        std::fs::write(folder.join(format!("labels/{frame:06}.label")), &labels).unwrap();
        poses += &format!("1 0 0 {:.1} 0 1 0 0 0 0 1 0\n", 0.7 * frame as f32);
    }
    std::fs::write(folder.join("poses.txt"), poses).unwrap();
    std::fs::write(folder.join("e2bki.toml"), "classes = [\"ground\", \"tree\"]\nids = \"classes\"\n").unwrap();
}
