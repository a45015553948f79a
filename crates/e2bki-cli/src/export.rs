//! `e2bki export`: a map in the format of another program.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use e2bki_store::{CostTable, ExportOptions, Format};

use crate::{maps, outputs, table};

/// Export a map: PLY, Gaussian splats, PCD, NumPy, LAS, pictures, cost grids, tables
#[derive(Args)]
#[command(after_help = after_help())]
pub(crate) struct Options {
    /// Map file or folder
    map: PathBuf,
    /// File to write; its extension gives the format unless --format does
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Format, see below
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Size of voxels and cells, metres [default: the map's]
    #[arg(long, value_name = "METRES")]
    resolution: Option<f64>,
    /// Only what lies in this rectangle: x0,y0,x1,y1
    #[arg(long, value_name = "RECTANGLE", allow_hyphen_values = true)]
    region: Option<String>,
    /// Only what lies between these heights: low,high
    #[arg(long, value_name = "HEIGHTS", allow_hyphen_values = true)]
    heights: Option<String>,
    /// Cost of a class in a grid, 0 (free) to 100, as in --cost grass=30 (may be repeated)
    #[arg(long, value_name = "CLASS=COST")]
    cost: Vec<String>,
    /// Grid cells more uncertain than this are unknown
    #[arg(long, value_name = "U", default_value_t = 1.0)]
    max_uncertainty: f64,
    /// Also what was seen through since and is no longer there
    #[arg(long)]
    gone: bool,
    /// Write a summary as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn after_help() -> String {
    let mut text = String::from(
        "Examples:\n  e2bki export street.e2bki -o street.ply\n  e2bki export street.e2bki --format splat -o splats.ply\n  \
         e2bki export street.e2bki -o costs.pgm --cost grass=30 --heights=-1,2 --resolution 0.1\n  \
         e2bki export street.e2bki -o corner.las --region=-20,-20,20,20\n\nFormats:\n",
    );
    for (_, name, _, about) in Format::ALL {
        text += &format!("  {name:15} {about}\n");
    }
    text
}

pub(crate) fn run(options: &Options) -> Result<()> {
    outputs::check_file(&options.out)?;
    outputs::check_files([&options.json])?;
    let format = match &options.format {
        Some(name) => Format::by_name(name)?,
        None => Format::of_path(&options.out)?,
    };
    let mut costs = CostTable::default();
    for entry in &options.cost {
        costs.add(entry)?;
    }
    let [x0, y0, x1, y1] = match &options.region {
        Some(text) => maps::rectangle(text, "--region")?,
        None => [f64::NEG_INFINITY, f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY],
    };
    let [z0, z1] = match &options.heights {
        Some(text) => maps::numbers(text, "--heights")?,
        None => [f64::NEG_INFINITY, f64::INFINITY],
    };
    if z0 > z1 {
        bail!("--heights {z0},{z1}: it takes the lower height first, then the higher: {z1},{z0}");
    }
    let (low, high) = ([x0, y0, z0], [x1, y1, z1]);
    let mut map = maps::load(&options.map, Some((low, high)))?;
    map.remove_outside(low, high);
    if map.is_empty() {
        bail!("nothing to export: the map is empty in this region");
    }
    costs.fall_back(&e2bki_layers::with_known_costs(map.classes().clone())?);
    let (resolution, max_uncertainty, gone) = (options.resolution, options.max_uncertainty, options.gone);
    let what = ExportOptions { resolution, costs, max_uncertainty, gone };
    let files = e2bki_store::export(&map, format, &options.out, &what)?;
    let left_out = if gone || format == Format::Npz { 0 } else { map.primitives().filter(|p| p.is_gone()).count() };
    let note = match left_out {
        0 => String::new(),
        count => format!("; {count} no longer there were left out (--gone writes them)"),
    };
    table::line(&format!("{} primitives exported{note}", map.len() - left_out))?;
    for file in &files {
        table::line(&format!("wrote {}", file.display()))?;
    }
    if let Some(path) = &options.json {
        table::write_json(
            path,
            &serde_json::json!({"map": options.map, "primitives": map.len() - left_out, "gone": left_out, "files": files}),
        )?;
    }
    Ok(())
}
