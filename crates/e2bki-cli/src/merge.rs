//! `e2bki merge`: one map of several.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use e2bki::{Config, Pose};
use e2bki_store::{Input, MergeOptions, WriteLock};

use crate::{maps, outputs, table};

/// Merge maps of several drives or robots into one
#[derive(Args)]
#[command(after_help = "Examples:\n  e2bki merge monday.e2bki tuesday.e2bki -o week.e2bki\n  \
    e2bki merge a.e2bki b.e2bki -o ab.e2bki --transform b.e2bki=b-in-a.txt\n  \
    e2bki merge a.e2bki b.e2bki -o ab.e2bki --trust robot-b=0.5   # count half of what robot-b saw\n  \
    e2bki merge arrays.npz -o map.e2bki        # import what `export --format npz` wrote\n\n\
    Classes are matched by name. The order of the maps does not matter. A transform is 12 numbers (three rows of a \
    rotation and a translation) or 16, in a file or inline, that take the map's coordinates to the merged ones.")]
pub(crate) struct Options {
    /// Map files or folders, or NumPy archives written by export
    #[arg(required = true)]
    maps: Vec<PathBuf>,
    /// Map file to write
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Pose of a map in the merged one: MAP=FILE or MAP=12 numbers (may be repeated)
    #[arg(long, value_name = "MAP=MOTION")]
    transform: Vec<String>,
    /// Merge even if a drive is in two of the maps: its evidence counts twice
    #[arg(long)]
    allow_duplicates: bool,
    /// Parameters of the merged map, if those of the maps differ
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How far a drive is trusted: a factor of its log-evidence, from 1/256 to 16 in steps of 1/256 (may be repeated)
    #[arg(long, value_name = "SOURCE=FACTOR")]
    trust: Vec<String>,
    /// Write a summary as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    outputs::check_file(&options.out)?;
    outputs::check_files([&options.json])?;
    let _lock = WriteLock::of_file(&options.out)?;
    let mut inputs: Vec<Input> =
        options.maps.iter().map(|path| Input { path: path.clone(), world_from_map: Pose::IDENTITY }).collect();
    for text in &options.transform {
        let (name, motion) =
            text.split_once('=').with_context(|| format!("--transform takes MAP=MOTION; got `{text}`"))?;
        let Some(input) = inputs.iter_mut().find(|input| input.path.as_os_str() == name) else {
            bail!("--transform names `{name}`, which is not among the maps to merge");
        };
        input.world_from_map = motion_of(motion).with_context(|| format!("--transform of {name}"))?;
    }
    let config = match &options.config {
        None => None,
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            Some(Config::from_toml(&text).with_context(|| format!("in {}", path.display()))?)
        }
    };
    let how = MergeOptions { allow_duplicates: options.allow_duplicates, config, trust: trust(&options.trust)? };
    let merged = e2bki_store::merge(&inputs, &how, &options.out)?;
    let submaps = match (merged.submaps, &merged.without_submaps) {
        (Some(count), _) => count.to_string(),
        (None, Some(why)) => format!("none kept: {why}"),
        (None, None) => "none kept".into(),
    };
    table::print(&[
        vec!["merged".into(), options.out.display().to_string()],
        vec!["maps".into(), inputs.len().to_string()],
        vec!["primitives before".into(), merged.rows_before.to_string()],
        vec!["primitives after".into(), merged.rows.to_string()],
        vec!["classes".into(), merged.header.classes.names().join(", ")],
        vec!["sources".into(), merged.header.sources.join(", ")],
        vec!["submaps".into(), submaps],
    ])?;
    if let Some(path) = &options.json {
        let value = serde_json::json!({
            "out": options.out, "maps": options.maps, "primitives_before": merged.rows_before,
            "primitives": merged.rows, "classes": merged.header.classes.names(), "sources": merged.header.sources,
            "submaps": merged.submaps, "without_submaps": merged.without_submaps,
        });
        table::write_json(path, &value)?;
    }
    Ok(())
}

/// Factors by the names of drives.
fn trust(texts: &[String]) -> Result<Vec<(String, f64)>> {
    let one = |text: &String| {
        let (name, factor) =
            text.rsplit_once('=').with_context(|| format!("--trust takes SOURCE=FACTOR; got `{text}`"))?;
        let factor = factor.parse::<f64>().with_context(|| format!("--trust: `{factor}` is not a number"))?;
        Ok((name.to_string(), factor))
    };
    texts.iter().map(one).collect()
}

/// A motion from numbers, or from a file of numbers.
pub(crate) fn motion_of(text: &str) -> Result<Pose> {
    let path = std::path::Path::new(text);
    let text = if path.is_file() {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
    } else {
        text.to_string()
    };
    let rows = match maps::numbers::<16>(&text, "a motion") {
        Ok(all) => std::array::from_fn(|row| std::array::from_fn(|column| all[4 * row + column])),
        Err(_) => {
            let all = maps::numbers::<12>(&text, "a motion (or the name of a file that exists)")?;
            let row = |row: usize| -> [f64; 4] { std::array::from_fn(|column| all[4 * row + column]) };
            [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]]
        }
    };
    Ok(Pose::from_matrix(rows)?)
}
