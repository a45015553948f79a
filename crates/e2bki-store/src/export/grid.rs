//! A cost grid for planners: PGM with a YAML beside it, as the map servers of ROS read them. Unknown is never free.
//!
//! A cell where something is costs what its class does; what was seen through since is not there. In a map that knows
//! what was seen through, a cell between returns is free if there is ground around it and the space above that was seen
//! through: seen ground alone would leave gaps between the rings of a scan, and free space alone would bridge a ditch.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use e2bki::Mapper;
use e2bki::free::{CUBE_M, Counters, State};

use super::bev::Raster;
use super::{ExportOptions, written};
use crate::error::Result;

/// Pixels of the three-valued form: free, occupied, unknown.
const FREE: u8 = 254;
const OCCUPIED: u8 = 0;
const UNKNOWN: u8 = 205;
/// Unknown where pixels are costs themselves.
const RAW_UNKNOWN: u8 = 255;

/// Side of the squares by which the height of the ground is known, metres.
const GROUND_M: f64 = 1.0;
/// Heights above the ground between which space must have been seen through, metres: above the ground's own cubes, as high
/// as most robots are.
const CLEAR_M: [f64; 2] = [0.5, 1.75];

/// Where the space above known ground was seen through.
struct SeenThrough<'a> {
    counters: &'a Counters,
    /// Sum and number of the heights of ground in every square.
    ground: HashMap<[i32; 2], (f64, f64)>,
    /// Weight of a hit of a class that stays.
    kappa: f64,
}

impl<'a> SeenThrough<'a> {
    fn of(map: &'a Mapper, costs: &[u8]) -> Option<Self> {
        let counters = map.free_space().filter(|counters| !counters.is_empty())?;
        let mut ground: HashMap<[i32; 2], (f64, f64)> = HashMap::new();
        for primitive in map.primitives().filter(|p| costs[p.label()] == 0 && !p.is_gone()) {
            let [x, y, z] = primitive.mean();
            let (sum, count) = ground.entry(square([x, y])).or_default();
            (*sum, *count) = (*sum + z, *count + 1.0);
        }
        Some(Self { counters, ground, kappa: map.config().free_space.static_weight })
    }

    fn is_free(&self, [x, y]: [f64; 2]) -> bool {
        let [i, j] = square([x, y]);
        let around = (-1..=1).flat_map(|a| (-1..=1).map(move |b| [i + a, j + b]));
        let (sum, count) = around
            .filter_map(|square| self.ground.get(&square))
            .fold((0.0, 0.0), |(s, n), (sum, count)| (s + sum, n + count));
        if count == 0.0 {
            return false;
        }
        let ground = sum / count;
        let steps = ((CLEAR_M[1] - CLEAR_M[0]) / CUBE_M) as i32;
        (0..=steps).all(|step| {
            let height = ground + CLEAR_M[0] + f64::from(step) * CUBE_M;
            self.counters.at([x, y, height]).state(self.kappa) == State::Free
        })
    }
}

fn square(place: [f64; 2]) -> [i32; 2] {
    place.map(|v| (v / GROUND_M).floor() as i32)
}

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
    if let Some(seen) = SeenThrough::of(map, &costs) {
        let free = if three_valued { FREE } else { 0 };
        for (pixel, value) in pixels.iter_mut().enumerate().filter(|(_, value)| **value == unknown) {
            let (column, row) = (pixel as u32 % raster.width, pixel as u32 / raster.width);
            if seen.is_free(raster.center(column, row)) {
                *value = free;
            }
        }
    }
    // Whichever of the two was named: the other one is beside it.
    let (image, beside) = match path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml") {
        true => (path.with_extension("pgm"), path.to_path_buf()),
        false => (path.to_path_buf(), path.with_extension("yaml")),
    };
    written(&image, |out| {
        write!(out, "P5\n{} {}\n255\n", raster.width, raster.height)?;
        out.write_all(&pixels)
    })?;
    let [x, y] = raster.corner();
    let name = image.file_name().unwrap_or_default().to_string_lossy();
    let mode = if three_valued { "trinary" } else { "raw" };
    let yaml = format!(
        "image: {name}\nmode: {mode}\nresolution: {resolution}\norigin: [{x}, {y}, 0]\nnegate: 0\n\
         occupied_thresh: 0.65\nfree_thresh: 0.196\n"
    );
    written(&beside, |out| out.write_all(yaml.as_bytes()))?;
    Ok(vec![image, beside])
}
