//! `e2bki submaps`: the stretches that a map can be taken apart into; and what `remove` and `correct` share.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use e2bki::Mapper;
use e2bki_store::{Header, MapFile};

use crate::{maps, table};

/// List the submaps of a map: what each stretch of a drive added
#[derive(Args)]
#[command(
    after_help = "Examples:\n  e2bki map drive --submaps 20 -o street.e2bki     # keeps what every 20 m added\n  \
    e2bki submaps street.e2bki\n  e2bki submaps street.e2bki --json -\n\n\
    What submaps added is kept in the folder MAP.submaps beside the map, which needs nothing of it."
)]
pub(crate) struct Options {
    /// Map file
    map: PathBuf,
    /// Write the same as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let listed = e2bki_store::list_submaps(&options.map)?;
    let names =
        ["id", "source", "frames", "from..to", "sums", "size", "extent, metres", "at, metres", "moved by, m", "trust"];
    let mut rows = vec![names.map(String::from).to_vec()];
    for one in &listed {
        let (low, high) = one.extent;
        let sides: Vec<String> = (0..3).map(|i| format!("{:.0}", high[i] - low[i])).collect();
        let (at, before) = (one.pose.translation(), one.anchor.translation());
        let moved = (0..3).map(|i| (at[i] - before[i]).powi(2)).sum::<f64>().sqrt();
        rows.push(vec![
            one.id.to_string(),
            one.source.clone(),
            one.frames.to_string(),
            one.first_last.map_or_else(|| "unknown".into(), |(first, last)| format!("{first}..{last}")),
            one.rows.to_string(),
            maps::megabytes(one.bytes),
            sides.join(" × "),
            at.map(|v| format!("{v:.2}")).join(" "),
            format!("{moved:.3}"),
            one.trust.factor().to_string(),
        ]);
    }
    table::print(&rows)?;
    if let Some(path) = &options.json {
        let value: Vec<serde_json::Value> = listed
            .iter()
            .map(|one| {
                serde_json::json!({
                    "id": one.id, "source": one.source, "frames": one.frames, "first_last": one.first_last,
                    "sums": one.rows, "bytes": one.bytes, "low_m": one.extent.0, "high_m": one.extent.1,
                    "world_from_submap": matrix(&one.pose), "inserted_world_from_submap": matrix(&one.anchor),
                    "trust": one.trust.factor(),
                })
            })
            .collect();
        table::write_json(path, &serde_json::json!({ "map": options.map, "submaps": value }))?;
    }
    Ok(())
}

fn matrix(pose: &e2bki::Pose) -> [[f64; 4]; 4] {
    let (r, t) = (pose.rotation(), pose.translation());
    std::array::from_fn(|i| match i {
        3 => [0.0, 0.0, 0.0, 1.0],
        i => [r[i][0], r[i][1], r[i][2], t[i]],
    })
}

/// A map with its submaps, without live voxels; and what its file says besides.
pub(crate) fn load(path: &Path) -> Result<(Mapper, Header)> {
    // Says what is missing before the map is read.
    e2bki_store::list_submaps(path)?;
    let mut file = MapFile::open(path)?;
    let header = file.header().clone();
    let map = file.load_as_kept(header.config.clone().with(|c| c.views.live_voxels = false))?;
    Ok((map, header))
}

/// Writes a changed map with its submaps, under the parameters that it had.
pub(crate) fn save(map: &Mapper, header: &Header, out: &Path) -> Result<()> {
    let left = |name: &&String| {
        let known = map.submaps().is_some_and(|submaps| submaps.iter().any(|submap| submap.source() == **name));
        // Names of drives from before there were submaps stay.
        known || header.sources.len() == 1
    };
    let sources: Vec<String> = header.sources.iter().filter(left).cloned().collect();
    let mut own = Header::of(map, &sources);
    own.config = header.config.clone();
    Ok(e2bki_store::save_under(&own, map, out)?)
}
