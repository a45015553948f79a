//! Small fixed workloads whose instructions are counted with valgrind where it is installed: counts do not depend on
//! what else the machine does, so that a small loss of speed is seen at once.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use e2bki::{Config, Frame, Mapper, Semantics};
use serde_json::{Value, json};

use super::measure::every_frame;
use super::{line, machine};
use crate::table;

/// Names of the workloads.
pub(super) const NAMES: [&str; 6] = ["cells", "kmeans", "view", "queries", "save", "load"];

/// Does a workload once, with one thread.
pub(super) fn run(name: &str) -> Result<()> {
    let view = every_frame(&Config::default(), 1);
    let bare = view.clone().with(|c| c.views.live_voxels = false);
    match name {
        "cells" => drive(bare, 8).map(|_| ()),
        "kmeans" => drive(
            Config::preset("paper-rellis")?.with(|c| {
                c.views.live_voxels = false;
                c.clustering.count = e2bki::config::ClusterCount::Total;
                c.run.threads = 1;
            }),
            4,
        )
        .map(|_| ()),
        "view" => drive(view, 4).map(|_| ()),
        "queries" => {
            let map = drive(bare, 4)?;
            let places: Vec<[f64; 3]> =
                (0..30_000).map(|i| [f64::from(i % 300) * 0.03 - 2.0, f64::from(i / 300) * 0.07 - 3.5, 0.05]).collect();
            if !map.query(&places).iter().any(|belief| belief.observed()) {
                bail!("the queries missed the map");
            }
            Ok(())
        }
        "save" | "load" => {
            let path = std::env::temp_dir().join(format!("e2bki-micro-{}.e2bki", std::process::id()));
            let map = drive(bare, 8)?;
            e2bki_store::save(&map, &path)?;
            let again = if name == "load" { e2bki_store::load(&path)?.len() } else { map.len() };
            std::fs::remove_file(&path)?;
            if again != map.len() {
                bail!("{again} of {} primitives came back", map.len());
            }
            Ok(())
        }
        _ => bail!("unknown workload `{name}`; known: {}", NAMES.join(", ")),
    }
}

/// Some metres of the straight drive.
fn drive(config: Config, frames: usize) -> Result<Mapper> {
    let classes = e2bki::ClassSet::from_names((0..line::CLASSES).map(|c| format!("class {c}")))?;
    let mut map = Mapper::new(classes, config)?;
    for metre in 0..frames {
        let (points, evidence) = line::strip(metre as u64);
        let world_from_sensor = line::pose(metre)?;
        map.insert(&Frame {
            points: &points,
            semantics: Semantics::Evidence(&evidence),
            world_from_sensor,
            scan: None,
        })?;
    }
    Ok(map)
}

/// Counts the instructions of every workload; none where valgrind is missing.
pub(super) fn count() -> Result<Value> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        table::line("instructions: not counted, there is no valgrind\n")?;
        return Ok(json!({"name": "instructions", "left_out": "no valgrind"}));
    }
    let program = std::env::current_exe().context("cannot find this program to run it under valgrind")?;
    let mut rows = vec![vec!["instructions".to_string(), "millions".to_string()]];
    let mut counts = serde_json::Map::new();
    for name in NAMES {
        let millions = instructions_of(&program, name)? as f64 / 1e6;
        rows.push(vec![name.to_string(), format!("{millions:.1}")]);
        counts.insert(name.to_string(), millions.into());
    }
    table::print(&rows)?;
    let (compiler, target) = (env!("E2BKI_RUSTC"), machine::target());
    Ok(json!({"name": "instructions", "compiler": compiler, "target": target, "million_instructions": counts}))
}

fn instructions_of(program: &Path, name: &str) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["bench", "--workload", name])
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .context("cannot run valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("workload {name} failed under valgrind: {}", said.trim());
    }
    let total = said.lines().find_map(|line| line.split_once("Collected :").map(|(_, number)| number.trim().parse()));
    total.with_context(|| format!("valgrind did not count: {}", said.trim()))?.context("valgrind printed no number")
}
