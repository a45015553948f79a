//! Blocked tensors back to planes at the image's size.

use rayon::prelude::*;

use super::blocked::BlockedTensor;
use super::simd::LANES;
use crate::network::layers::bilinear::{Pair, pairs};
use crate::network::layers::vectorize;

/// Adds `more`, resized.
pub(super) fn add_resized(to: &mut BlockedTensor, more: &BlockedTensor) {
    let (down, across) = (pairs(more.height, to.height), pairs(more.width, to.width));
    let width = to.width;
    for (number, out) in to.blocks_mut().enumerate() {
        let block = more.block(number);
        for (out, row) in out.chunks_exact_mut(width).zip(&down) {
            let (above, below) = (&block[row.low * more.width..], &block[row.high * more.width..]);
            for (out, column) in out.iter_mut().zip(&across) {
                for i in 0..LANES {
                    let a = lerp(above[column.low][i], above[column.high][i], column.fraction);
                    let b = lerp(below[column.low][i], below[column.high][i], column.fraction);
                    out[i] += lerp(a, b, row.fraction);
                }
            }
        }
    }
}

#[inline(always)]
fn lerp(a: f32, b: f32, fraction: f32) -> f32 {
    a + fraction * (b - a)
}

/// Resizes channels to planes of `width` columns: `planes` are those of the channels, in order.
pub(super) fn to_planes(from: &BlockedTensor, planes: Vec<&mut [f32]>, [height, width]: [usize; 2]) {
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
                    |column: &Pair| lerp(cells[column.low][lane], cells[column.high][lane], column.fraction),
                    &across,
                );
            }
            vectorize(
                #[inline(always)]
                || {
                    for ((out, a), b) in out.iter_mut().zip(&above.values).zip(&below.values) {
                        *out = lerp(*a, *b, row.fraction);
                    }
                },
            );
        }
    });
}

/// A row at the new width.
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
