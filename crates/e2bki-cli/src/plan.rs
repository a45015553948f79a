//! `e2bki plan`: a way through a map.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use e2bki_layers::formats;

use crate::layers::Source;
use crate::{maps, outputs, table};

/// Plan a way through a map for a robot, aware of uncertainty
#[derive(Args)]
#[command(
    after_help = "Examples:\n  e2bki plan field.e2bki --from 0,0 --to 30,12 --robot husky.toml -o way.geojson\n  \
    e2bki plan field.e2bki --from 0,0 --to 30,12 -o way.csv --picture way.png\n\n\
    The way is the cheapest one by A*, pulled straight where that costs no more. A metre of a cell costs 1 + cost_weight × c,\n\
    with c of the cell's cost and of the risk that the robot's width meets an obstacle; cells above max_risk are not entered.\n\
    Coordinates are those of the map, in metres, moved by --origin."
)]
pub(crate) struct Options {
    #[command(flatten)]
    source: Source,
    /// Start: x,y
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    from: String,
    /// Goal: x,y
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    to: String,
    /// File to write the way to: .geojson or .csv
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Draw the way and what costs are like around it
    #[arg(long, value_name = "FILE.png")]
    picture: Option<PathBuf>,
    /// Write a summary as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    outputs::check_files([&options.out, &options.picture, &options.json])?;
    let ending = |path: &PathBuf| path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    if let Some(path) = options.out.as_ref().filter(|path| !["geojson", "json", "csv"].contains(&ending(path).as_str()))
    {
        bail!("the ending of {} must be geojson or csv", path.display());
    }
    if let Some(path) = options.picture.as_ref().filter(|path| ending(path) != "png") {
        bail!("the ending of {} must be png", path.display());
    }
    let (from, to) = (maps::numbers(&options.from, "--from")?, maps::numbers(&options.to, "--to")?);
    let place = options.source.place()?;
    let (_, layers) = options.source.compute()?;
    let way = e2bki_layers::plan(&layers, from, to)?;
    let straight = (to[0] - from[0]).hypot(to[1] - from[1]);
    table::line(&format!(
        "a way of {:.1} m ({straight:.1} m straight), worth {:.1} m of best ground, risk at most {:.2}",
        way.length, way.cost, way.risk
    ))?;
    if let Some(path) = &options.out {
        let text = if ending(path) == "csv" { way.to_csv() } else { way.to_geojson(place.origin, place.epsg) };
        outputs::write(path, text)?;
        table::line(&format!("wrote {}", path.display()))?;
    }
    if let Some(path) = &options.picture {
        let image = formats::picture_of_way(&layers, &way)?;
        let mut bytes = std::io::Cursor::new(Vec::new());
        image
            .write_to(&mut bytes, image::ImageFormat::Png)
            .with_context(|| format!("cannot make {}", path.display()))?;
        outputs::write(path, bytes.get_ref())?;
        table::line(&format!("wrote {}", path.display()))?;
    }
    if let Some(path) = &options.json {
        // To the millimetre, as in the other files.
        let corner = |corner: &usize| way.steps[*corner].at.map(|v| (1e3 * v).round() / 1e3);
        let steps: Vec<[f64; 3]> = way.corners.iter().map(corner).collect();
        let summary = serde_json::json!({
            "map": options.source.map, "length_m": way.length, "cost_m": way.cost, "risk": way.risk, "corners": steps,
        });
        table::write_json(path, &summary)?;
    }
    Ok(())
}
