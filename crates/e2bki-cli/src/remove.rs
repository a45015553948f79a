//! `e2bki remove`: a map without some of its submaps.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use e2bki::submaps::Submap;
use e2bki_store::WriteLock;

use crate::{outputs, submaps, table};

/// Take submaps or whole drives out of a map, exactly
#[derive(Args)]
#[command(after_help = "Examples:\n  e2bki remove street.e2bki --submap 3 4 5 -o street.e2bki\n  \
    e2bki remove city.e2bki --source robot-b -o without-b.e2bki\n\n\
    What is left is, byte for byte, the map of the other submaps. `e2bki submaps MAP` lists them.")]
pub(crate) struct Options {
    /// Map file with submaps
    map: PathBuf,
    /// Numbers of submaps to take out
    #[arg(long, value_name = "ID", num_args = 1..)]
    submap: Vec<u32>,
    /// Names of drives to take out
    #[arg(long, value_name = "NAME", num_args = 1..)]
    source: Vec<String>,
    /// Map file to write; it may be the same
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if options.submap.is_empty() && options.source.is_empty() {
        bail!("nothing to take out: name submaps (--submap 3 4) or drives (--source robot-b)");
    }
    outputs::check_file(&options.out)?;
    let _lock = WriteLock::of_file(&options.out)?;
    let (mut map, header) = submaps::load(&options.map)?;
    let mut ids = options.submap.clone();
    if let Some(submaps) = map.submaps() {
        for source in &options.source {
            ids.extend(submaps.of_source(source)?);
        }
    }
    let before = map.len();
    let done = map.remove_submaps(&ids)?;
    submaps::save(&map, &header, &options.out)?;
    let left: Vec<&Submap> = map.submaps().map(|submaps| submaps.iter().collect()).unwrap_or_default();
    table::print(&[
        vec!["wrote".into(), options.out.display().to_string()],
        vec!["submaps taken out".into(), done.submaps.to_string()],
        vec!["submaps left".into(), left.len().to_string()],
        vec!["frames left".into(), map.frames().to_string()],
        vec!["primitives before".into(), before.to_string()],
        vec!["primitives after".into(), map.len().to_string()],
    ])
}
