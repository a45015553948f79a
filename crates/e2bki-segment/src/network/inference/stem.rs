//! The first convolution, as im2col followed by a 1×1 convolution.

use rayon::prelude::*;

use super::blocked::{BlockedTensor, Buffers, Chunk, View};
use super::pointwise::{Pointwise, groups};
use super::simd::{Eight, Kernel, LANES, Simd, dispatch};
use crate::network::plan::ConvNormActivation;

/// Rows per chunk.
const ROWS: usize = 4;

/// The convolution with its normalisation folded in.
#[derive(Debug)]
pub(super) struct Stem {
    pub(super) conv: ConvNormActivation,
    /// The 1×1 convolution of colours × taps.
    pub(super) product: Pointwise,
}

impl Stem {
    /// Output for an image given as colour planes.
    pub(super) fn forward(
        &self,
        planes: &[&[f32]],
        [height, width]: [usize; 2],
        buffers: &mut Buffers,
    ) -> BlockedTensor {
        let [rows, columns] = [height, width].map(|side| self.conv.output_size(side));
        let mut out = buffers.tensor(self.product.outputs() * LANES, rows, columns);
        let buffers = &*buffers;
        out.chunks(ROWS * columns).into_par_iter().with_max_len(1).for_each(|chunk| {
            buffers.with_scratch(self.product.inputs * ROWS * columns, |scratch| {
                dispatch(Run { stem: self, planes, size: [height, width], columns, chunk, scratch });
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
    chunk: Chunk<'a>,
    scratch: &'a mut [Eight],
}

impl Kernel for Run<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd>(self, v: V) {
        let Self { stem, planes, size: [height, width], columns, mut chunk, scratch } = self;
        let (conv, stride) = (&stem.conv, ROWS * columns);
        let (k, padding) = (conv.kernel, conv.padding());
        scratch.fill([0.0; LANES]);
        for channel in 0..planes.len() * k * k {
            let (plane, ky, kx) = (planes[channel / (k * k)], channel % (k * k) / k, channel % k);
            let (block, lane) = (&mut scratch[channel / LANES * stride..][..stride], channel % LANES);
            for (at, out) in block.chunks_exact_mut(columns).take(chunk.count / columns).enumerate() {
                let row = (chunk.from / columns + at) * conv.stride + ky * conv.dilation;
                if row < padding || row - padding >= height {
                    continue;
                }
                let line = &plane[(row - padding) * width..][..width];
                // The first output whose tap is inside of the image.
                let first = padding.saturating_sub(kx * conv.dilation).div_ceil(conv.stride);
                let start = (first * conv.stride + kx * conv.dilation).saturating_sub(padding).min(width);
                for (out, value) in out.iter_mut().skip(first).zip(line[start..].iter().step_by(conv.stride)) {
                    out[lane] = *value;
                }
            }
        }
        let x = View { values: scratch, stride, blocks: stem.product.inputs };
        for (first, count) in groups(stem.product.outputs()) {
            let out = &mut chunk.blocks[first..first + count];
            stem.product.product().run(v, x, first, [0, chunk.count, 0], out, None);
        }
    }
}
