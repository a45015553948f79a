//! A cost grid for planners: PGM with a YAML beside it, as the map servers of ROS read them. Unknown is never free.

use std::path::{Path, PathBuf};

use e2bki::Mapper;

use super::bev::Raster;
use super::{ExportOptions, written};
use crate::error::Result;

/// Pixels of the three-valued form: free, occupied, unknown.
const FREE: u8 = 254;
const OCCUPIED: u8 = 0;
const UNKNOWN: u8 = 205;
/// Unknown where pixels are costs themselves.
const RAW_UNKNOWN: u8 = 255;

pub(super) fn write(map: &Mapper, resolution: f64, options: &ExportOptions, path: &Path) -> Result<Vec<PathBuf>> {
    let costs = options.costs.of(map.classes())?;
    let three_valued = costs.iter().all(|cost| *cost == 0 || *cost == 100);
    let cells = map.bev(resolution)?;
    let raster = Raster::of(&cells)?;
    let unknown = if three_valued { UNKNOWN } else { RAW_UNKNOWN };
    let mut pixels = vec![unknown; raster.width as usize * raster.height as usize];
    for (center, belief) in cells.centers.iter().zip(cells.beliefs.iter()) {
        let Some(label) = belief.label().filter(|_| belief.uncertainty() <= options.max_uncertainty) else { continue };
        let (column, row) = raster.pixel(*center);
        pixels[row as usize * raster.width as usize + column as usize] = match costs[label] {
            0 if three_valued => FREE,
            _ if three_valued => OCCUPIED,
            cost => cost,
        };
    }
    written(path, |out| {
        write!(out, "P5\n{} {}\n255\n", raster.width, raster.height)?;
        out.write_all(&pixels)
    })?;
    let [x, y] = raster.corner();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mode = if three_valued { "trinary" } else { "raw" };
    let yaml = format!(
        "image: {name}\nmode: {mode}\nresolution: {resolution}\norigin: [{x}, {y}, 0]\nnegate: 0\n\
         occupied_thresh: 0.65\nfree_thresh: 0.196\n"
    );
    let beside = path.with_extension("yaml");
    written(&beside, |out| out.write_all(yaml.as_bytes()))?;
    Ok(vec![path.to_path_buf(), beside])
}
