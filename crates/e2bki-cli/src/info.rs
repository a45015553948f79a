//! `e2bki info`: what is in a map file.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use e2bki_store::{FORMAT_VERSION, Folder, Header, MapFile, is_folder};

use crate::{maps, outputs, table};

/// Describe a map file without loading it
#[derive(Args)]
#[command(
    after_help = "Examples:\n  e2bki info street.e2bki\n  e2bki info street.e2bki --json -\n  e2bki info street.e2bki --hash"
)]
pub(crate) struct Options {
    /// Map file or folder
    map: PathBuf,
    /// Print the parameters that the map was made with, as TOML, and nothing else
    #[arg(long)]
    config: bool,
    /// Print a hash of what the map holds, and nothing else: the same for maps of the same frames, whatever order they
    /// came in, how many threads worked, or whether it is a file or a folder
    #[arg(long, conflicts_with_all = ["config", "json"])]
    hash: bool,
    /// Write the same as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Header of a map file or folder.
struct About {
    header: Header,
    bytes: u64,
    rows: u64,
    tiles: usize,
    low: [i32; 3],
    high: [i32; 3],
    /// Frames that free space counted.
    counted: u64,
}

fn about(path: &std::path::Path) -> Result<About> {
    let bounds = |corners: Vec<([i32; 3], [i32; 3])>| -> ([i32; 3], [i32; 3]) {
        let low = std::array::from_fn(|i| corners.iter().map(|(low, _)| low[i]).min().unwrap_or(0));
        let high = std::array::from_fn(|i| corners.iter().map(|(_, high)| high[i]).max().unwrap_or(0));
        (low, high)
    };
    if is_folder(path) {
        let folder = Folder::open(path)?;
        let (low, high) = bounds(folder.boxes());
        let (header, rows, tiles) = (folder.header().clone(), folder.rows(), folder.boxes().len());
        let counted = folder.free_space_frames();
        return Ok(About { header, bytes: folder.bytes()?, rows, tiles, low, high, counted });
    }
    let file = MapFile::open(path)?;
    let (low, high) = bounds(file.tiles().iter().map(|tile| (tile.low, tile.high)).collect());
    let (bytes, rows, tiles) = (file.bytes(), file.rows(), file.tiles().len());
    let header = file.header().clone();
    let counted = header.free_space().transpose()?.map_or(0, |counters| counters.frames());
    Ok(About { header, bytes, rows, tiles, low, high, counted })
}

pub(crate) fn run(options: &Options) -> Result<()> {
    outputs::check_files([&options.json])?;
    if options.hash {
        return table::line(&e2bki_store::content_hash(&options.map)?);
    }
    let About { header, bytes, rows, tiles, low, high, counted } = about(&options.map)?;
    if options.config {
        return table::line(header.config.to_toml().trim_end());
    }
    let each = if rows > 0 { bytes as f64 / rows as f64 } else { 0.0 };
    let row = |name: &str, value: String| vec![name.to_string(), value];
    let extent = |i: usize| format!("{} to {}", low[i], high[i]);
    table::print_left(&[
        row("map", options.map.display().to_string()),
        row("format version", FORMAT_VERSION.to_string()),
        row("size", maps::megabytes(bytes)),
        row("primitives", rows.to_string()),
        row("bytes per primitive", format!("{each:.1}")),
        row("tiles of 32 m", tiles.to_string()),
        row("reaches x, metres", extent(0)),
        row("reaches y, metres", extent(1)),
        row("reaches z, metres", extent(2)),
        row("frames", header.frames.to_string()),
        row("sources", header.sources.join(", ")),
        row("classes", header.classes.names().join(", ")),
        row("resolution, metres", header.config.views.resolution.to_string()),
        row(
            "free space",
            match (header.config.free_space.enabled, header.free_space_bytes() as u64) {
                (false, _) => "not counted".into(),
                (true, 0) => format!("{counted} frames counted"),
                (true, bytes) => format!("{counted} frames counted, {}", maps::megabytes(bytes)),
            },
        ),
    ])?;
    if let Some(path) = &options.json {
        let mut config = serde_json::json!({});
        for field in e2bki::config::fields() {
            let text = field.value(&header.config);
            config[field.record][field.name] = serde_json::from_str(&text).unwrap_or(serde_json::Value::String(text));
        }
        let value = serde_json::json!({
            "map": options.map, "format_version": FORMAT_VERSION, "bytes": bytes, "primitives": rows,
            "bytes_per_primitive": each, "tiles": tiles, "low_m": low, "high_m": high, "frames": header.frames,
            "next_id": header.next_id, "sources": header.sources, "classes": header.classes.names(),
            "colors": header.classes.colors(), "free_space_frames": counted, "config": config,
        });
        table::write_json(path, &value)?;
    }
    Ok(())
}
