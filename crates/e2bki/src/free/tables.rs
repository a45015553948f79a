//! Least and greatest range, and number of returns, in any window of a range image, in little time: tables of windows
//! that are 1, 2, 4, … columns wide, and a summed table of what came back.
//!
//! All run column by column, so that the rows of a window lie side by side. Ranges are held as their bits: those of
//! positive numbers are ordered as the numbers are, and whole numbers are compared many at a time.

use rayon::prelude::*;

use super::range_image::RangeImage;

/// Widths in the table of least ranges: 2⁰ to 2⁷ columns. Wider windows are looked up in several steps.
const LEAST: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// Widths in the table of greatest ranges, which is asked for larger windows, and less often.
const MOST: [usize; 4] = [1, 4, 16, 64];
/// Columns per parallel task.
const CHUNK: usize = 128;
/// Rows that are looked at together.
const ROWS: usize = 8;
/// Stands for an empty pixel: above every range, and below.
const EMPTY_LEAST: i32 = i32::MAX;
const EMPTY_MOST: i32 = -1;

/// Tables over a range image.
pub(super) struct Tables {
    height: usize,
    width: usize,
    /// One table for every width, one after the other, and a few rows more, so that the last ones can be looked at together.
    least: Vec<i32>,
    most: Vec<i32>,
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
        let bits = |empty: i32| move |range: &f32| if range.is_finite() { range.to_bits() as i32 } else { empty };
        let ((least, most), seen) = rayon::join(
            || {
                rayon::join(
                    || widened(image, &LEAST, bits(EMPTY_LEAST), |a, b| a.min(b)),
                    || widened(image, &MOST, bits(EMPTY_MOST), |a, b| a.max(b)),
                )
            },
            || seen(image),
        );
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
        let size = (w.width.ilog2() as usize).min(LEAST.len() - 1);
        !self.any_row(&self.least, size, LEAST[size], w, |found, v| found.min(v), |found| found <= limit)
    }

    /// Whether something in a window came back from farther than this.
    #[inline(always)]
    pub(super) fn any_beyond(&self, w: &Window, range: f32) -> bool {
        let limit = range.max(0.0).to_bits() as i32;
        let size = (w.width.ilog2() as usize / 2).min(MOST.len() - 1);
        self.any_row(&self.most, size, MOST[size], w, |found, v| found.max(v), |found| found > limit)
    }

    /// Whether something holds for a row of a window, all of whose columns are joined in as few steps as the table allows.
    #[inline(always)]
    fn any_row(
        &self,
        table: &[i32],
        size: usize,
        step: usize,
        w: &Window,
        join: impl Fn(i32, i32) -> i32,
        holds: impl Fn(i32) -> bool,
    ) -> bool {
        let table = &table[size * self.height * self.width..];
        let at = |column: usize, row: usize| -> [i32; ROWS] {
            let from = (if column >= self.width { column - self.width } else { column }) * self.height + row;
            table.get(from..).and_then(|rows| rows.first_chunk()).copied().unwrap_or_default()
        };
        let last = w.first + w.width - step;
        let mut row = w.top;
        while row <= w.bottom {
            let mut found = at(last, row);
            let mut column = w.first;
            while column < last {
                let more = at(column, row);
                for i in 0..ROWS {
                    found[i] = join(found[i], more[i]);
                }
                column += step;
            }
            let rows = (w.bottom - row) as i32;
            // All at once, without a jump for each.
            let mut any = false;
            for i in 0..ROWS {
                any |= holds(found[i]) & (i as i32 <= rows);
            }
            if any {
                return true;
            }
            row += ROWS;
        }
        false
    }
}

/// Returns in the rows above and columns before, the columns running twice around.
fn seen(image: &RangeImage) -> Vec<u32> {
    let (height, width) = (image.height(), image.width());
    let stride = height + 1;
    let mut seen = vec![0; stride * (2 * width + 1)];
    for column in 0..2 * width {
        let (before, after) = seen.split_at_mut(stride * (column + 1));
        let (before, after) = (&before[stride * column + 1..], &mut after[1..stride]);
        let pixels = &image.pixels()[(column % width) * height..][..height];
        let mut here = 0;
        for ((after, before), pixel) in after.iter_mut().zip(before).zip(pixels) {
            here += u32::from(pixel.is_finite());
            *after = before + here;
        }
    }
    seen
}

/// The tables of windows of these widths, each a multiple of the one before, around the seam.
fn widened(
    image: &RangeImage,
    widths: &[usize],
    bits: impl Fn(&f32) -> i32,
    join: impl Fn(i32, i32) -> i32 + Sync,
) -> Vec<i32> {
    let (height, width) = (image.height(), image.width());
    let size = height * width;
    let mut tables = vec![0; size * widths.len() + ROWS];
    tables.iter_mut().zip(image.pixels()).for_each(|(value, range)| *value = bits(range));
    for (i, pair) in widths.windows(2).enumerate() {
        let (before, next) = tables[i * size..(i + 2) * size].split_at_mut(size);
        let (step, parts) = (pair[0], pair[1] / pair[0]);
        next.par_chunks_mut(height * CHUNK).enumerate().for_each(|(chunk, columns)| {
            for (i, column) in columns.chunks_exact_mut(height).enumerate() {
                let here = chunk * CHUNK + i;
                column.copy_from_slice(&before[here * height..][..height]);
                for part in 1..parts {
                    let there = &before[(here + part * step) % width * height..][..height];
                    for (value, other) in column.iter_mut().zip(there) {
                        *value = join(*value, *other);
                    }
                }
            }
        });
    }
    tables
}
