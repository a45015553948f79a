//! Least and greatest range, and number of returns, in any window of a range image, in little time: tables of windows
//! that are 1, 2, 4, … columns wide, and a summed table of what came back.
//!
//! All run column by column, so that the rows of a window lie side by side. Ranges are held as their bits: those of
//! positive numbers are ordered as the numbers are, and whole numbers are compared many at a time.

use rayon::prelude::*;

use super::range_image::RangeImage;

/// Widths in the tables: up to 2⁷ columns. Wider windows are looked up in several steps.
const WIDTHS: usize = 8;
/// Columns per parallel task.
const CHUNK: usize = 64;
/// Stands for an empty pixel: above every range, and below.
const EMPTY_LEAST: i32 = i32::MAX;
const EMPTY_MOST: i32 = -1;

/// Tables over a range image.
pub(super) struct Tables {
    height: usize,
    width: usize,
    least: Vec<Vec<i32>>,
    most: Vec<Vec<i32>>,
    /// Returns in the rows above and columns before, the columns running twice around.
    seen: Vec<u32>,
}

/// A window of pixels: rows from `top` to `bottom`, both included and in the image, and `width` columns from `first` on,
/// around the seam where need be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window {
    pub(super) top: usize,
    pub(super) bottom: usize,
    pub(super) first: usize,
    pub(super) width: usize,
}

impl Tables {
    pub(super) fn new(image: &RangeImage) -> Self {
        let (height, width) = (image.height(), image.width());
        let bits = |empty: i32| -> Vec<i32> {
            image.pixels().iter().map(|v| if v.is_finite() { v.to_bits() as i32 } else { empty }).collect()
        };
        let (least, most) = rayon::join(
            || widen(bits(EMPTY_LEAST), height, width, |a, b| a.min(b)),
            || widen(bits(EMPTY_MOST), height, width, |a, b| a.max(b)),
        );
        let stride = height + 1;
        let mut seen = vec![0; stride * (2 * width + 1)];
        for column in 0..2 * width {
            let (before, after) = seen.split_at_mut(stride * (column + 1));
            let before = &before[stride * column..];
            let mut here = 0;
            for row in 0..height {
                here += u32::from(image.pixels()[(column % width) * height + row].is_finite());
                after[row + 1] = before[row + 1] + here;
            }
        }
        Self { height, width, least, most, seen }
    }

    /// Returns in a window.
    #[inline(always)]
    pub(super) fn seen(&self, w: &Window) -> u32 {
        let stride = self.height + 1;
        let at = |column: usize, row: usize| self.seen[column * stride + row];
        let end = w.first + w.width;
        (at(end, w.bottom + 1) - at(w.first, w.bottom + 1)) - (at(end, w.top) - at(w.first, w.top))
    }

    /// Whether everything that came back in a window is from farther than this: also where nothing did.
    #[inline(always)]
    pub(super) fn all_beyond(&self, w: &Window, range: f32) -> bool {
        let limit = range.max(0.0).to_bits() as i32;
        self.every(&self.least, w, |rows| rows.iter().fold(EMPTY_LEAST, |found, v| found.min(*v)) > limit)
    }

    /// Whether something in a window came back from farther than this.
    #[inline(always)]
    pub(super) fn any_beyond(&self, w: &Window, range: f32) -> bool {
        let limit = range.max(0.0).to_bits() as i32;
        !self.every(&self.most, w, |rows| rows.iter().fold(EMPTY_MOST, |found, v| found.max(*v)) <= limit)
    }

    /// Whether something holds for all columns of a window, looked at in as few steps as their tables allow.
    #[inline(always)]
    fn every(&self, tables: &[Vec<i32>], w: &Window, holds: impl Fn(&[i32]) -> bool) -> bool {
        let size = (w.width.ilog2() as usize).min(WIDTHS - 1);
        let (table, step) = (&tables[size], 1 << size);
        let last = w.first + w.width - step;
        let mut column = w.first;
        loop {
            let from = (if column >= self.width { column - self.width } else { column }) * self.height;
            if !holds(&table[from + w.top..=from + w.bottom]) {
                return false;
            }
            if column == last {
                return true;
            }
            column = (column + step).min(last);
        }
    }
}

/// From a table of windows one column wide those of 2, 4, … columns, around the seam.
fn widen(first: Vec<i32>, height: usize, width: usize, join: impl Fn(i32, i32) -> i32 + Sync) -> Vec<Vec<i32>> {
    let mut tables = vec![first];
    for size in 1..WIDTHS {
        let (before, step) = (&tables[size - 1], 1 << (size - 1));
        let mut next = vec![0; before.len()];
        next.par_chunks_mut(height * CHUNK).enumerate().for_each(|(chunk, columns)| {
            for (i, column) in columns.chunks_mut(height).enumerate() {
                let here = chunk * CHUNK + i;
                let (a, b) = (here * height, (here + step) % width * height);
                let pairs = before[a..a + height].iter().zip(&before[b..b + height]);
                for (value, (x, y)) in column.iter_mut().zip(pairs) {
                    *value = join(*x, *y);
                }
            }
        });
        tables.push(next);
    }
    tables
}
