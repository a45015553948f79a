//! Bird's-eye pictures, one pixel per cell, placed in the world by a world file beside each.

use std::path::{Path, PathBuf};

use e2bki::free::State;
use e2bki::{BirdsEye, Cells, Mapper};
use image::{ImageFormat, Rgba, RgbaImage};

use super::written;
use crate::error::{Error, Result};

/// Most pixels of a picture or grid: a picture of a gigabyte helps nobody.
const MOST_PIXELS: u64 = 1 << 28;

/// Cells as a raster: which pixel each is, rows from north to south.
pub(super) struct Raster {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Centre of the cell in the lower left corner.
    low: [f64; 2],
    resolution: f64,
}

impl Raster {
    pub(super) fn of(cells: &Cells) -> Result<Self> {
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for center in &cells.centers {
            for i in 0..2 {
                low[i] = low[i].min(center[i]);
                high[i] = high[i].max(center[i]);
            }
        }
        if cells.centers.is_empty() {
            (low, high) = ([0.0; 2], [0.0; 2]);
        }
        let [width, height] = [0, 1].map(|i| ((high[i] - low[i]) / cells.resolution).round() as u64 + 1);
        if width.saturating_mul(height) > MOST_PIXELS {
            return Err(Error::Refused(format!(
                "a raster of {width} × {height} cells is too large: take a coarser --resolution or a --region"
            )));
        }
        Ok(Self { width: width as u32, height: height as u32, low, resolution: cells.resolution })
    }

    pub(super) fn pixel(&self, center: [f64; 2]) -> (u32, u32) {
        let [column, row] = [0, 1].map(|i| ((center[i] - self.low[i]) / self.resolution).round() as u32);
        (column.min(self.width - 1), self.height - 1 - row.min(self.height - 1))
    }

    /// Centre of a pixel in the world.
    pub(super) fn center(&self, column: u32, row: u32) -> [f64; 2] {
        let [x, y] = [column, self.height - 1 - row].map(|v| f64::from(v) * self.resolution);
        [self.low[0] + x, self.low[1] + y]
    }

    /// World position of the lower left corner of the lower left cell.
    pub(super) fn corner(&self) -> [f64; 2] {
        self.low.map(|v| v - 0.5 * self.resolution)
    }

    /// Six lines: size of a pixel, no rotation, centre of the upper left pixel.
    fn world_file(&self) -> String {
        let side = self.resolution;
        let top = self.low[1] + f64::from(self.height - 1) * side;
        format!("{side}\n0\n0\n{}\n{}\n{top}\n", -side, self.low[0])
    }
}

/// A colour for a value in [0, 1]: dark blue through green to yellow.
pub fn heat(value: f64) -> [u8; 3] {
    const STOPS: [[f64; 3]; 5] =
        [[68.0, 1.0, 84.0], [59.0, 82.0, 139.0], [33.0, 145.0, 140.0], [94.0, 201.0, 98.0], [253.0, 231.0, 37.0]];
    let position = value.clamp(0.0, 1.0) * 4.0;
    let i = (position as usize).min(3);
    let t = position - i as f64;
    std::array::from_fn(|c| (STOPS[i][c] * (1.0 - t) + STOPS[i + 1][c] * t) as u8)
}

/// Free, occupied, unknown, as in grids for planners.
fn shade(state: State) -> [u8; 4] {
    match state {
        State::Free => [254, 254, 254, 255],
        State::Occupied => [0, 0, 0, 255],
        State::Unknown => [205, 205, 205, 255],
    }
}

/// The state of every pixel, also between the cells that hold evidence.
fn states(view: &BirdsEye<'_>, raster: &Raster) -> RgbaImage {
    let mut picture = RgbaImage::new(raster.width, raster.height);
    for row in 0..raster.height {
        let places: Vec<[f64; 2]> = (0..raster.width).map(|column| raster.center(column, row)).collect();
        for (column, state) in (0..).zip(view.states(&places)) {
            picture.put_pixel(column, row, Rgba(shade(state)));
        }
    }
    picture
}

/// Writes NAME.png (classes) and NAME-uncertainty.png (0 to 0.5 and above), each with a .pgw; unobserved is transparent.
/// A map with free space also has NAME-state.png: white where it is free, black where occupied, grey where unknown.
pub(super) fn write(map: &Mapper, resolution: f64, path: &Path) -> Result<Vec<PathBuf>> {
    let view = map.birds_eye()?;
    let cells = view.cells(resolution)?;
    let raster = Raster::of(&cells)?;
    let mut classes = RgbaImage::new(raster.width, raster.height);
    let mut uncertainty = classes.clone();
    for (center, belief) in cells.centers.iter().zip(cells.beliefs.iter()) {
        let Some(label) = belief.label() else { continue };
        let (column, row) = raster.pixel(*center);
        let [r, g, b] = map.classes().colors()[label];
        classes.put_pixel(column, row, Rgba([r, g, b, 255]));
        let [r, g, b] = heat(belief.uncertainty() / 0.5);
        uncertainty.put_pixel(column, row, Rgba([r, g, b, 255]));
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let beside = |what: &str| path.with_file_name(format!("{stem}-{what}.png"));
    let mut pictures = vec![(classes, path.to_path_buf()), (uncertainty, beside("uncertainty"))];
    if map.free_space().is_some_and(|counters| !counters.is_empty()) {
        pictures.push((states(&view, &raster), beside("state")));
    }
    let mut files = Vec::new();
    for (picture, path) in pictures {
        let mut bytes = std::io::Cursor::new(Vec::new());
        picture
            .write_to(&mut bytes, ImageFormat::Png)
            .map_err(|e| Error::Refused(format!("cannot make {}: {e}", path.display())))?;
        written(&path, |out| out.write_all(bytes.get_ref()))?;
        let world = path.with_extension("pgw");
        written(&world, |out| out.write_all(raster.world_file().as_bytes()))?;
        files.extend([path, world]);
    }
    Ok(files)
}
