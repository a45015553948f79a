//! The program as a user meets it: one process per command, its exit code and what it says.

#![allow(clippy::expect_used, clippy::unwrap_used)] // a test may fail loudly

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

mod bags;
mod experiments;
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
