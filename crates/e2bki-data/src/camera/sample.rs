//! Channel values at a place in the image, from a grid that may be coarser than the image.

use crate::parse::Cells;

/// Bilinear look-up. A grid cell's value stands for the cell's centre; beyond the outermost centres it is continued.
#[derive(Debug, Clone)]
pub struct Sampler<'a> {
    cells: &'a dyn Cells,
    /// Image pixels per cell, across and down.
    cell: [f64; 2],
}

impl<'a> Sampler<'a> {
    /// For images of a size. A grid of ⌊size / k⌋ cells was pooled k×k from the upper left corner; any other is the
    /// image resized.
    pub fn new(cells: &'a dyn Cells, size: [usize; 2]) -> Self {
        let [_, h, w] = cells.shape().map(|n| n.max(1));
        let k = (size[0] as f64 / w as f64).round().max(1.0) as usize;
        let pooled = size[0] / k == w && size[1] / k == h;
        let cell = if pooled { [k as f64; 2] } else { [size[0] as f64 / w as f64, size[1] as f64 / h as f64] };
        Self { cells, cell }
    }

    /// Image pixels per cell, across and down.
    pub fn cell(&self) -> [f64; 2] {
        self.cell
    }

    /// Values at a position in pixels from the image's upper left corner. `one` is room for the channels of a cell.
    pub fn at(&self, position: [f64; 2], one: &mut [f32], out: &mut [f32]) {
        let [_, height, width] = self.cells.shape();
        let split = |i: usize, most: usize| {
            let place = (position[i] / self.cell[i] - 0.5).clamp(0.0, (most - 1) as f64);
            let low = (place as usize).min(most.saturating_sub(2));
            (low, (low + 1).min(most - 1), (place - low as f64) as f32)
        };
        let (left, right, a) = split(0, width);
        let (top, bottom, b) = split(1, height);
        let corners = [
            (left, top, (1.0 - a) * (1.0 - b)),
            (right, top, a * (1.0 - b)),
            (left, bottom, (1.0 - a) * b),
            (right, bottom, a * b),
        ];
        out.fill(0.0);
        for (column, row, weight) in corners {
            self.cells.read(column, row, one);
            for (sum, value) in out.iter_mut().zip(&*one) {
                *sum += weight * value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::Grid;

    #[test]
    fn a_plane_pooled_in_cells_is_found_again() {
        // Channel 0 is 2u + 3v at pixel centres (u + ½, v + ½), pooled 8×8; image 83×40 loses three columns.
        let grid = Grid {
            channels: 2,
            width: 10,
            height: 5,
            values: (0..5)
                .flat_map(|r| (0..10).flat_map(move |c| [16.0 * (c as f32 + 0.5) + 24.0 * (r as f32 + 0.5), 7.0]))
                .collect(),
        };
        let sampler = Sampler::new(&grid, [83, 40]);
        assert_eq!(sampler.cell(), [8.0, 8.0]);
        let (mut one, mut out) = ([0.0; 2], [0.0; 2]);
        for (x, y) in [(4.0, 4.0), (40.5, 20.25), (75.9, 35.9), (12.0, 30.0)] {
            sampler.at([x, y], &mut one, &mut out);
            assert!((f64::from(out[0]) - (2.0 * x + 3.0 * y)).abs() < 1e-3 && (out[1] - 7.0).abs() < 1e-5, "{out:?}");
        }
        sampler.at([0.0, 0.0], &mut one, &mut out);
        assert_eq!(out[0], 20.0);
        sampler.at([82.9, 39.9], &mut one, &mut out);
        assert!((out[0] - 260.0).abs() < 1e-3);
        assert_eq!(Sampler::new(&grid, [25, 15]).cell(), [2.5, 3.0]);
    }
}
