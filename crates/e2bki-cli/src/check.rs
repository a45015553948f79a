//! `e2bki check`: integrity of a map file.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::Finding;
use crate::{outputs, table};

/// Check the integrity of a map file (exit code 0: intact, 1: damaged, 2: not a map)
#[derive(Args)]
#[command(after_help = "Examples:\n  e2bki check street.e2bki && echo whole\n\n\
    Every hash is verified, every tile is decoded, and what it holds must give its bytes again.")]
pub(crate) struct Options {
    /// Map file or folder
    map: PathBuf,
    /// Write the findings as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    outputs::check_files([&options.json])?;
    let checked = e2bki_store::check(&options.map)?;
    let findings: Vec<String> = checked.findings.iter().map(ToString::to_string).collect();
    table::print(&[
        vec!["checked".into(), options.map.display().to_string()],
        vec!["whole tiles".into(), checked.tiles.to_string()],
        vec!["primitives in them".into(), checked.rows.to_string()],
        vec!["findings".into(), findings.len().to_string()],
    ])?;
    for finding in &findings {
        table::line(finding)?;
    }
    if let Some(path) = &options.json {
        let value = serde_json::json!({
            "map": options.map, "whole": findings.is_empty(), "tiles": checked.tiles, "primitives": checked.rows,
            "findings": findings,
        });
        table::write_json(path, &value)?;
    }
    if findings.is_empty() { Ok(()) } else { Err(Finding(format!("{} is damaged", options.map.display())).into()) }
}
