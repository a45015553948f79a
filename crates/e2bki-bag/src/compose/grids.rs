//! Maps from above, as planners read them.

use super::{UNTURNED, pose};
use crate::write::Fields;

/// The rectangle that cells of a view from above fill.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plane {
    /// Metres per cell.
    pub resolution: f64,
    /// Centre of the cell of the least x and y.
    pub low: [f64; 2],
    /// Cells along x and y.
    pub size: [usize; 2],
}

impl Plane {
    /// The least rectangle around the centres of cells; nothing if it has more than `most` cells.
    pub fn around(resolution: f64, centers: &[[f64; 2]], most: usize) -> Option<Self> {
        let Some(first) = centers.first() else { return Some(Self { resolution, low: [0.0; 2], size: [0; 2] }) };
        let (mut low, mut high) = (*first, *first);
        for center in centers {
            for i in 0..2 {
                low[i] = low[i].min(center[i]);
                high[i] = high[i].max(center[i]);
            }
        }
        let size = [0, 1].map(|i| ((high[i] - low[i]) / resolution).round() + 1.0);
        (size[0] * size[1] <= most as f64).then(|| Self { resolution, low, size: size.map(|n| n as usize) })
    }

    /// Number of cells.
    pub fn cells(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// Number of the cell with that centre, x running fastest; nothing if it is outside.
    pub fn cell(&self, center: [f64; 2]) -> Option<usize> {
        let at = [0, 1].map(|i| ((center[i] - self.low[i]) / self.resolution).round());
        let inside = (0..2).all(|i| at[i] >= 0.0 && at[i] < self.size[i] as f64);
        inside.then(|| at[1] as usize * self.size[0] + at[0] as usize)
    }

    /// Corner of the least x and y.
    pub fn corner(&self) -> [f64; 2] {
        self.low.map(|v| v - 0.5 * self.resolution)
    }
}

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

#[cfg(test)]
mod tests {
    use super::Plane;

    #[test]
    fn cells_are_numbered_along_x_then_y() {
        let centers = [[0.1, 0.3], [0.5, -0.1], [0.3, 0.1]];
        let plane = Plane::around(0.2, &centers, 9).unwrap();
        assert_eq!((plane.size, plane.cells()), ([3, 3], 9));
        assert_eq!(centers.map(|center| plane.cell(center)), [Some(6), Some(2), Some(4)]);
        assert_eq!((plane.cell([-0.1, 0.1]), plane.cell([0.1, 0.5]), plane.cell([f64::NAN, 0.1])), (None, None, None));
        assert!((plane.corner()[0]).abs() < 1e-12 && (plane.corner()[1] + 0.2).abs() < 1e-12);
        assert!(Plane::around(0.2, &centers, 8).is_none());
        assert_eq!(Plane::around(0.2, &[], 0).unwrap().cells(), 0);
    }
}
