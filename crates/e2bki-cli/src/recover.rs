//! `e2bki recover`: the intact part of a damaged map.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use e2bki_store::WriteLock;

use crate::Finding;
use crate::{outputs, table};

/// Recover the intact part of a damaged map (exit code 0: nothing lost, 1: something lost, 2: nothing saved)
#[derive(Args)]
#[command(after_help = "Examples:\n  e2bki recover broken.e2bki -o saved.e2bki\n\n\
    What is written is opened again and verified before this reports success.")]
pub(crate) struct Options {
    /// Damaged map file or folder
    map: PathBuf,
    /// Map file to write
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Write the report as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    outputs::check_file(&options.out)?;
    outputs::check_files([&options.json])?;
    let _lock = WriteLock::of_file(&options.out)?;
    if let (Ok(from), Ok(to)) = (options.map.canonicalize(), options.out.canonicalize())
        && from == to
    {
        bail!("the damaged map is evidence: give another name with --out");
    }
    let recovered = e2bki_store::recover(&options.map, &options.out)?;
    let lost = recovered.rows_lost.map_or_else(|| "unknown".into(), |rows| rows.to_string());
    table::print(&[
        vec!["recovered".into(), options.out.display().to_string()],
        vec!["primitives saved and verified".into(), recovered.rows.to_string()],
        vec!["tiles saved".into(), recovered.tiles.to_string()],
        vec!["primitives lost".into(), lost],
    ])?;
    for line in &recovered.lost {
        table::line(&format!("lost: {line}"))?;
    }
    if let Some(path) = &options.json {
        let value = serde_json::json!({
            "map": options.map, "out": options.out, "primitives": recovered.rows, "tiles": recovered.tiles,
            "primitives_lost": recovered.rows_lost, "lost": recovered.lost,
        });
        table::write_json(path, &value)?;
    }
    if recovered.lost.is_empty() { Ok(()) } else { Err(Finding("something was lost, see above".into()).into()) }
}
