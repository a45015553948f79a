//! Fields back into planes at the image's size.

use rayon::prelude::*;

use super::field::Field;
use super::lanes::LANES;
use crate::network::layers::bilinear::{Pair, pairs};
use crate::network::layers::wide;

/// Adds `more`, resized, to a field.
pub(super) fn add_resized(to: &mut Field, more: &Field) {
    let (down, across) = (pairs(more.height, to.height), pairs(more.width, to.width));
    let width = to.width;
    for (number, out) in to.blocks_mut().enumerate() {
        let block = more.block(number);
        for (out, row) in out.chunks_exact_mut(width).zip(&down) {
            let (above, below) = (&block[row.low * more.width..], &block[row.high * more.width..]);
            for (out, column) in out.iter_mut().zip(&across) {
                for i in 0..LANES {
                    let a = between(above[column.low][i], above[column.high][i], column.share);
                    let b = between(below[column.low][i], below[column.high][i], column.share);
                    out[i] += between(a, b, row.share);
                }
            }
        }
    }
}

#[inline(always)]
fn between(a: f32, b: f32, share: f32) -> f32 {
    a + share * (b - a)
}

/// Resizes channels to planes of `width` columns: `planes` are those of the channels, in order.
pub(super) fn to_planes(from: &Field, planes: Vec<&mut [f32]>, [height, width]: [usize; 2]) {
    let (down, across) = (pairs(from.height, height), pairs(from.width, width));
    planes.into_par_iter().with_max_len(1).enumerate().for_each(|(channel, plane)| {
        let (block, lane) = (from.block(channel / LANES), channel % LANES);
        let mut above = Line::new(width);
        let mut below = Line::new(width);
        for (out, row) in plane.chunks_exact_mut(width).zip(&down) {
            if above.row != Some(row.low) {
                std::mem::swap(&mut above, &mut below);
            }
            for (line, row) in [(&mut above, row.low), (&mut below, row.high)] {
                let cells = &block[row * from.width..][..from.width];
                line.fill(
                    row,
                    |column: &Pair| between(cells[column.low][lane], cells[column.high][lane], column.share),
                    &across,
                );
            }
            wide(
                #[inline(always)]
                || {
                    for ((out, a), b) in out.iter_mut().zip(&above.values).zip(&below.values) {
                        *out = between(*a, *b, row.share);
                    }
                },
            );
        }
    });
}

/// A row of the field at the new width.
struct Line {
    row: Option<usize>,
    values: Vec<f32>,
}

impl Line {
    fn new(width: usize) -> Self {
        Self { row: None, values: vec![0.0; width] }
    }

    fn fill(&mut self, row: usize, value: impl Fn(&Pair) -> f32, across: &[Pair]) {
        if self.row != Some(row) {
            self.values.iter_mut().zip(across).for_each(|(out, column)| *out = value(column));
            self.row = Some(row);
        }
    }
}
