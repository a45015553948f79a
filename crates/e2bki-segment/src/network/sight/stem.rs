//! The first convolution, of all colours over a neighbourhood: each place's neighbourhood becomes its channels.

use rayon::prelude::*;

use super::field::{Buffers, Field, Share, Source};
use super::lanes::{Eight, LANES, Lanes, Work, dispatch};
use super::pointwise::{Pointwise, groups};
use crate::network::plan::Unit;

/// Rows of one share of the work.
const ROWS: usize = 4;

/// The convolution with its normalisation folded in.
#[derive(Debug)]
pub(super) struct Stem {
    pub(super) unit: Unit,
    /// Of colours × taps.
    pub(super) product: Pointwise,
}

impl Stem {
    /// Outputs for an image given as planes of colours.
    pub(super) fn forward(&self, planes: &[&[f32]], [height, width]: [usize; 2], buffers: &mut Buffers) -> Field {
        let [rows, columns] = [height, width].map(|side| self.unit.shrunk(side));
        let mut out = buffers.field(self.product.outputs() * LANES, rows, columns);
        let buffers = &*buffers;
        out.shares(ROWS * columns).into_par_iter().with_max_len(1).for_each(|share| {
            buffers.with_scratch(self.product.inputs * ROWS * columns, |scratch| {
                dispatch(Run { stem: self, planes, size: [height, width], columns, share, scratch });
            });
        });
        out
    }
}

struct Run<'a> {
    stem: &'a Stem,
    planes: &'a [&'a [f32]],
    size: [usize; 2],
    columns: usize,
    share: Share<'a>,
    scratch: &'a mut [Eight],
}

impl Work for Run<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self, v: V) {
        let Self { stem, planes, size: [height, width], columns, mut share, scratch } = self;
        let (unit, stride) = (&stem.unit, ROWS * columns);
        let (k, padding) = (unit.kernel, unit.padding());
        scratch.fill([0.0; LANES]);
        for channel in 0..planes.len() * k * k {
            let (plane, ky, kx) = (planes[channel / (k * k)], channel % (k * k) / k, channel % k);
            let (block, lane) = (&mut scratch[channel / LANES * stride..][..stride], channel % LANES);
            for (at, out) in block.chunks_exact_mut(columns).take(share.count / columns).enumerate() {
                let row = (share.from / columns + at) * unit.stride + ky * unit.dilation;
                if row < padding || row - padding >= height {
                    continue;
                }
                let line = &plane[(row - padding) * width..][..width];
                // The first output whose tap is inside of the image.
                let first = padding.saturating_sub(kx * unit.dilation).div_ceil(unit.stride);
                let start = (first * unit.stride + kx * unit.dilation).saturating_sub(padding).min(width);
                for (out, value) in out.iter_mut().skip(first).zip(line[start..].iter().step_by(unit.stride)) {
                    out[lane] = *value;
                }
            }
        }
        let x = Source { values: scratch, stride, blocks: stem.product.inputs };
        for (first, count) in groups(stem.product.outputs()) {
            let out = &mut share.blocks[first..first + count];
            stem.product.product().run(v, x, first, [0, share.count, 0], out, None);
        }
    }
}
