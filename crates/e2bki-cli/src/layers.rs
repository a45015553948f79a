//! `e2bki layers`: grids that planners read, from a map.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::Args;
use e2bki::Mapper;
use e2bki_layers::{ClassCosts, Error, Grid, LAYERS, Layers, Robot, Settings, UnknownClasses, formats};

use crate::{maps, outputs, table};

/// What layers are computed of, shared with `plan`.
#[derive(Args)]
pub(crate) struct Source {
    /// Map file or folder
    pub(crate) map: PathBuf,
    /// Description of the robot, TOML; `e2bki config --robot` prints one to change
    #[arg(long, value_name = "FILE")]
    robot: Option<PathBuf>,
    /// Side of a cell, metres
    #[arg(long, value_name = "METRES", default_value_t = 0.2, allow_negative_numbers = true)]
    resolution: f64,
    /// Only this rectangle: x0,y0,x1,y1 [default: the whole map]
    #[arg(long, value_name = "RECTANGLE", allow_hyphen_values = true)]
    region: Option<String>,
    /// Take classes whose cost nobody has said for obstacles, and say which
    #[arg(long)]
    unknown_lethal: bool,
    /// Projected coordinate system of the map, as in --epsg 32632
    #[arg(long, value_name = "NUMBER")]
    epsg: Option<u16>,
    /// Easting and northing of the map's origin in it, metres: e,n
    #[arg(long, value_name = "PLACE", allow_hyphen_values = true)]
    origin: Option<String>,
}

impl Source {
    /// Loads the map and computes its layers.
    pub(crate) fn compute(&self) -> Result<(Mapper, Layers)> {
        let robot = self.robot.as_deref().map(Robot::read).transpose()?.unwrap_or_default();
        let region = self.region.as_deref().map(|text| maps::rectangle(text, "--region")).transpose()?;
        let grid = |[x0, y0, x1, y1]: [f64; 4]| Grid::covering([x0, y0], [x1, y1], self.resolution);
        // A region that is none is refused before it is found that the map has nothing in it.
        let wanted = region.map(grid).transpose()?;
        // What stands beside the region does not reach in from farther than this.
        const MARGIN_M: f64 = 5.0;
        let inside = region.map(|[x0, y0, x1, y1]| {
            let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
            ([x0 - MARGIN_M, y0 - MARGIN_M, low], [x1 + MARGIN_M, y1 + MARGIN_M, high])
        });
        let map = maps::load(&self.map, inside)?;
        if map.is_empty() {
            match region {
                Some(_) => bail!(
                    "the map is empty in this region; `e2bki info {}` says how far it reaches",
                    self.map.display()
                ),
                None => bail!("the map is empty"),
            }
        }
        let grid = wanted.map_or_else(|| grid(extent(&map)), Ok)?;
        let unknown = if self.unknown_lethal { UnknownClasses::Lethal } else { UnknownClasses::Refuse };
        let costs = ClassCosts::of(map.classes(), &robot, unknown).map_err(|error| match error {
            Error::UnknownCosts(_) => anyhow!("{error}, or take them for obstacles with --unknown-lethal"),
            other => other.into(),
        })?;
        if !costs.assumed.is_empty() {
            table::say(&format!(
                "note: taken for obstacles, since nobody has said what they cost: {}",
                costs.assumed.join(", ")
            ));
        }
        let layers = Layers::of(&map, grid, Settings::new(robot, costs))?;
        Ok((map, layers))
    }

    /// Where the map is on the Earth.
    pub(crate) fn place(&self) -> Result<formats::Georeference> {
        let origin = self.origin.as_deref().map(|text| maps::numbers(text, "--origin")).transpose()?;
        let place = formats::Georeference { epsg: self.epsg, origin: origin.unwrap_or_default() };
        place.check()?;
        Ok(place)
    }
}

/// The rectangle around all primitives.
fn extent(map: &Mapper) -> [f64; 4] {
    let start = [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY];
    let [x0, y0, x1, y1] = map.primitives().fold(start, |[x0, y0, x1, y1], primitive| {
        let [x, y, _] = primitive.mean();
        [x0.min(x), y0.min(y), x1.max(x), y1.max(y)]
    });
    [x0 - 0.5, y0 - 0.5, x1 + 0.5, y1 + 0.5]
}

/// Compute grids for planners: ground, slope, obstacles, class, traversability
#[derive(Args)]
#[command(after_help = after_help())]
pub(crate) struct Options {
    #[command(flatten)]
    source: Source,
    /// File to write; its extension gives the format: yaml (Nav2), tif (GeoTIFF), npz (NumPy), png (a picture per layer)
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// How Nav2 reads the picture: trinary, scale, raw
    #[arg(long, value_name = "MODE", default_value = "trinary")]
    mode: String,
    /// Layers to draw as pictures, separated by commas
    #[arg(long, value_name = "NAMES", default_value = "height,slope,class,state,cost,cost_std")]
    draw: String,
    /// Write a summary as JSON (- for standard output)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn after_help() -> String {
    let mut text = String::from(
        "Examples:\n  e2bki layers field.e2bki -o field.tif --robot husky.toml --epsg 32632 --origin 477000,5430000\n  \
         e2bki layers field.e2bki -o nav.yaml --mode scale --region=-50,-50,50,50\n  \
         e2bki layers field.e2bki -o field.png --draw slope,risk_cost\n\nLayers:\n",
    );
    for (name, unit, about, _) in LAYERS {
        text += &format!("  {name:15} {about}{}\n", if unit.is_empty() { String::new() } else { format!(" [{unit}]") });
    }
    text + "  probability     of every class (tif, npz)\n"
}

pub(crate) fn run(options: &Options) -> Result<()> {
    outputs::check_file(&options.out)?;
    outputs::check_files([&options.json])?;
    let ending = options.out.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    if !["yaml", "yml", "pgm", "tif", "tiff", "npz", "png"].contains(&ending.as_str()) {
        bail!("the ending of {} must be yaml, tif, npz or png", options.out.display());
    }
    let (mode, place) = (formats::Nav2Mode::by_name(&options.mode)?, options.source.place()?);
    let draw: Vec<&str> = options.draw.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let known = LAYERS.map(|(name, ..)| name);
    if let Some(name) = draw.iter().find(|name| !known.contains(name)) {
        bail!("--draw: unknown layer `{name}`; known: {}", known.join(", "));
    }
    if draw.is_empty() && ending == "png" {
        bail!("--draw names no layer to draw; known: {}", known.join(", "));
    }
    let (map, layers) = options.source.compute()?;
    let (names, colors) = (map.classes().names(), map.classes().colors());
    let out: &Path = &options.out;
    let files = match ending.as_str() {
        "tif" | "tiff" => vec![formats::geotiff(&layers, names, out, &place)?],
        "npz" => vec![formats::npz(&layers, names, out)?],
        "png" => formats::pictures(&layers, &draw, colors, out)?,
        _ => formats::nav2(&layers, out, mode)?,
    };
    let [width, height] = layers.grid().size;
    let share = |state: e2bki::free::State| {
        100.0 * layers.cells().iter().filter(|cell| cell.state == state).count() as f64 / layers.grid().len() as f64
    };
    use e2bki::free::State::{Free, Occupied, Unknown};
    let (free, occupied, unknown) = (share(Free), share(Occupied), share(Unknown));
    table::line(&format!(
        "{width} × {height} cells of {} m: {free:.1} % free, {occupied:.1} % occupied, {unknown:.1} % unknown",
        layers.grid().resolution
    ))?;
    for file in &files {
        table::line(&format!("wrote {}", file.display()))?;
    }
    if let Some(path) = &options.json {
        let summary = serde_json::json!({
            "map": options.source.map, "files": files, "resolution": layers.grid().resolution,
            "corner": layers.grid().corner(), "size": layers.grid().size,
            "free_percent": free, "occupied_percent": occupied, "unknown_percent": unknown,
        });
        table::write_json(path, &summary)?;
    }
    Ok(())
}
