//! Maps from above, as planners read them.

use super::{UNTURNED, pose};
use crate::write::Fields;

/// A grid of cells: 0 to 100, or −1 where nothing is known; rows along x, the first at the corner of the least x and y.
pub fn occupancy_grid(
    stamp: u64,
    frame: &str,
    resolution: f64,
    corner: [f64; 3],
    [width, height]: [usize; 2],
    cells: &[i8],
) -> Vec<u8> {
    let mut fields = Fields::default();
    fields.header(stamp, frame).stamp(stamp).f32(resolution as f32).u32(width as u32).u32(height as u32);
    pose(&mut fields, corner, UNTURNED);
    fields.bytes(&cells.iter().map(|cell| *cell as u8).collect::<Vec<u8>>());
    fields.finish()
}

/// Layers of a grid map, each with the value at (column along x, row along y) counted from the least x and y.
pub struct Layers<'a> {
    /// Metres per cell.
    pub resolution: f64,
    /// Corner of the least x and y.
    pub corner: [f64; 2],
    /// Cells along x and y.
    pub size: [usize; 2],
    /// Names and values, NaN where nothing is known; x runs fastest.
    pub layers: &'a [(&'a str, Vec<f32>)],
}

/// Layers as `grid_map` reads them: matrices by columns, whose first index falls along x and second along y.
pub fn grid_map(stamp: u64, frame: &str, map: &Layers<'_>) -> Vec<u8> {
    let [nx, ny] = map.size;
    let length = [nx as f64 * map.resolution, ny as f64 * map.resolution];
    let mut fields = Fields::default();
    fields.header(stamp, frame).f64(map.resolution).f64(length[0]).f64(length[1]);
    pose(&mut fields, [map.corner[0] + 0.5 * length[0], map.corner[1] + 0.5 * length[1], 0.0], UNTURNED);
    fields.u32(map.layers.len() as u32);
    for (name, _) in map.layers {
        fields.text(name);
    }
    fields.u32(0); // no layer is a condition for the others
    fields.u32(map.layers.len() as u32);
    for (_, values) in map.layers {
        fields.u32(2);
        fields.text("column_index").u32(ny as u32).u32((nx * ny) as u32);
        fields.text("row_index").u32(nx as u32).u32(nx as u32);
        fields.u32(0).u32((nx * ny) as u32);
        for column in (0..ny).rev() {
            for row in (0..nx).rev() {
                fields.f32(values.get(column * nx + row).copied().unwrap_or(f32::NAN));
            }
        }
    }
    fields.u16(0).u16(0);
    fields.finish()
}
