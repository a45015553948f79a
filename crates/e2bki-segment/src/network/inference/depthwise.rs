//! Expansion and depthwise convolution fused: a few channels at a time are expanded into scratch memory row by row and
//! convolved from there, so that the widest feature maps never reach main memory.

use std::ops::Range;

use rayon::prelude::*;

use super::blocked::{BlockedTensor, Buffers};
use super::pointwise::{Pointwise, activate, groups};
use super::simd::{Eight, Kernel, LANES, Simd, dispatch};
use crate::network::plan::ConvNormActivation;

/// Pixels computed together.
const TILE: usize = 8;
/// Pixels of scratch memory, of all blocks of a chunk: a quarter of a core's cache.
const SCRATCH: usize = 1 << 12;
/// Minimum number of chunks of a layer, as far as rows allow. Independent of the number of threads, so that sums are too.
const MIN_CHUNKS: usize = 12;

/// A depthwise convolution with its normalisation folded in.
#[derive(Debug)]
pub(super) struct Depthwise {
    conv: ConvNormActivation,
    /// Weights by block and tap.
    weights: Vec<Eight>,
    bias: Vec<Eight>,
}

impl Depthwise {
    /// From weights (channels × taps) and the folded scale and shift of every channel.
    pub(super) fn new(conv: &ConvNormActivation, weights: &[f32], scale: &[f32], shift: &[f32]) -> Self {
        let taps = conv.kernel * conv.kernel;
        let blocks = shift.len().div_ceil(LANES);
        let mut packed = vec![[0.0; LANES]; blocks * taps];
        let mut bias = vec![[0.0; LANES]; blocks];
        for (c, of_channel) in weights.chunks_exact(taps).enumerate() {
            for (tap, w) in of_channel.iter().enumerate() {
                packed[c / LANES * taps + tap][c % LANES] = w * scale[c];
            }
            bias[c / LANES][c % LANES] = shift[c];
        }
        Self { conv: conv.clone(), weights: packed, bias }
    }

    /// Output for inputs that are expanded first; also the global averages of all channels if `means`.
    pub(super) fn forward(
        &self,
        expand: Option<&Pointwise>,
        x: &BlockedTensor,
        means: bool,
        buffers: &mut Buffers,
    ) -> (BlockedTensor, Vec<Eight>) {
        let [height, width] = [x.height, x.width].map(|side| self.conv.output_size(side));
        let blocks = self.bias.len();
        let mut out = buffers.tensor(blocks * LANES, height, width);
        let parts = MIN_CHUNKS.div_ceil(groups(blocks).count()).min(height.div_ceil(8));
        let rows = height.div_ceil(parts);
        let mut chunks = out.chunks(rows * width);
        let mut tasks = Vec::with_capacity(parts * blocks / 2 + 1);
        for (first, count) in groups(blocks) {
            for chunk in &mut chunks {
                let from = chunk.from / width;
                let out = chunk.blocks.iter_mut().skip(first).take(count).map(std::mem::take).collect();
                tasks.push((first, from..from + chunk.count / width, out));
            }
        }
        let do_one = |(first, rows, out): (usize, Range<usize>, Vec<&mut [Eight]>)| {
            let band = Band::new(self, expand, x, first, out.len());
            let sums = buffers.with_scratch(band.size(), |scratch| dispatch(Part { band, rows, scratch, out, means }));
            (first, sums)
        };
        let found: Vec<(usize, [[f64; LANES]; 3])> = tasks.into_par_iter().with_max_len(1).map(do_one).collect();
        let mut sums = vec![[0.0_f64; LANES]; blocks];
        for (first, of_part) in found {
            for (sums, of_block) in sums[first..].iter_mut().zip(of_part) {
                sums.iter_mut().zip(of_block).for_each(|(sum, s)| *sum += s);
            }
        }
        let pixels = (height * width) as f64;
        (out, sums.into_iter().map(|sums| sums.map(|sum| (sum / pixels) as f32)).collect())
    }
}

/// Rows of a few blocks in scratch memory, zero-padded on the left and right.
struct Band<'a> {
    layer: &'a Depthwise,
    expand: Option<&'a Pointwise>,
    x: &'a BlockedTensor,
    /// First block, and number of blocks.
    first: usize,
    blocks: usize,
    /// Capacity in rows.
    most: usize,
    padding: usize,
    /// Columns of the input plus padding.
    columns: usize,
}

impl<'a> Band<'a> {
    fn new(
        layer: &'a Depthwise,
        expand: Option<&'a Pointwise>,
        x: &'a BlockedTensor,
        first: usize,
        blocks: usize,
    ) -> Self {
        let padding = layer.conv.padding();
        let columns = x.width + 2 * padding;
        let least = 2 * padding + layer.conv.stride;
        let most = (SCRATCH / blocks.max(1) / columns).max(least).min(x.height.max(least));
        Self { layer, expand, x, first, blocks, most, padding, columns }
    }

    fn size(&self) -> usize {
        self.blocks * self.most * self.columns
    }

    /// Expands rows of the input into the band, starting at its row `to`.
    #[inline(always)]
    fn fill<V: Simd>(&self, v: V, scratch: &mut [Eight], rows: Range<usize>, to: usize) {
        let (width, padding) = (self.x.width, self.padding);
        // At most three blocks.
        let mut parts = scratch.chunks_mut(self.most * self.columns);
        let mut blocks: [&mut [Eight]; 3] = [(); 3].map(|()| parts.next().unwrap_or_default());
        for (at, row) in rows.enumerate() {
            let start = (to + at) * self.columns;
            for (block, out) in blocks[..self.blocks].iter_mut().enumerate() {
                let out = &mut out[start..][..self.columns];
                out[..padding].fill([0.0; LANES]);
                out[padding + width..].fill([0.0; LANES]);
                if self.expand.is_none() {
                    out[padding..][..width].copy_from_slice(&self.x.block(self.first + block)[row * width..][..width]);
                }
            }
            if let Some(expand) = self.expand {
                let out = &mut blocks[..self.blocks];
                expand.product().run(v, self.x.source(), self.first, [row * width, width, start + padding], out, None);
            }
        }
    }

    /// One row of the output of a block; `held` is the input row that the band starts with.
    #[inline(always)]
    fn row<V: Simd>(&self, v: V, scratch: &[Eight], block: usize, y: usize, held: usize, out: &mut [Eight]) {
        let band = &scratch[block * self.most * self.columns..][..self.most * self.columns];
        match (self.layer.conv.stride, out.len() >= TILE) {
            (1, true) => self.tiles::<V, 1, TILE>(v, band, block, y, held, out),
            (1, false) => self.tiles::<V, 1, 1>(v, band, block, y, held, out),
            (_, true) => self.tiles::<V, 2, TILE>(v, band, block, y, held, out),
            (_, false) => self.tiles::<V, 2, 1>(v, band, block, y, held, out),
        }
    }

    #[inline(always)]
    fn tiles<V: Simd, const STRIDE: usize, const T: usize>(
        &self,
        v: V,
        band: &[Eight],
        block: usize,
        y: usize,
        held: usize,
        out: &mut [Eight],
    ) {
        let conv = &self.layer.conv;
        let taps = conv.kernel * conv.kernel;
        let weights = &self.layer.weights[(self.first + block) * taps..][..taps];
        let bias = v.load(&self.layer.bias[self.first + block]);
        let count = out.len();
        for at in (0..count).step_by(T) {
            // The last tile overlaps the one before it, so that all are full.
            let at = at.min(count - T);
            let mut sums = [bias; T];
            for (ky, weights) in weights.chunks_exact(conv.kernel).enumerate() {
                let row = y * STRIDE + ky * conv.dilation;
                // Rows outside the image are zero.
                if row < self.padding || row - self.padding >= self.x.height {
                    continue;
                }
                let line = &band[(row - self.padding - held) * self.columns..][..self.columns];
                for (kx, w) in weights.iter().enumerate() {
                    let w = v.load(w);
                    let values = &line[at * STRIDE + kx * conv.dilation..][..(T - 1) * STRIDE + 1];
                    for t in 0..T {
                        sums[t] = v.mul_add(w, v.load(&values[t * STRIDE]), sums[t]);
                    }
                }
            }
            let Some(out) = out[at..].first_chunk_mut::<T>() else { return };
            for t in 0..T {
                out[t] = v.store(activate(v, conv.activation, sums[t]));
            }
        }
    }
}

/// Some rows of the output of a few blocks.
struct Part<'a> {
    band: Band<'a>,
    rows: Range<usize>,
    scratch: &'a mut [Eight],
    out: Vec<&'a mut [Eight]>,
    means: bool,
}

impl Kernel for Part<'_> {
    type Output = [[f64; LANES]; 3];

    #[inline(always)]
    fn run<V: Simd>(self, v: V) -> Self::Output {
        let Self { band, rows, scratch, mut out, means } = self;
        let (conv, height) = (&band.layer.conv, band.x.height);
        let width = conv.output_size(band.x.width);
        let mut sums = [[0.0; LANES]; 3];
        // Rows of the input that are in the band.
        let mut held = 0..0;
        for y in rows.clone() {
            let first = (y * conv.stride).saturating_sub(band.padding);
            let end = (y * conv.stride + band.padding + 1).min(height);
            if end > held.end {
                // Rows still needed move to the front; the rest of the band is filled with the next rows.
                let kept = first.max(held.start)..held.end.max(first);
                let last = ((rows.end - 1) * conv.stride + band.padding + 1).min(height);
                let until = (first + band.most).min(last);
                if !kept.is_empty() {
                    let from = (kept.start - held.start) * band.columns;
                    for of_block in scratch.chunks_exact_mut(band.most * band.columns) {
                        of_block.copy_within(from..from + kept.len() * band.columns, 0);
                    }
                }
                band.fill(v, scratch, kept.end..until, kept.len());
                held = first..until;
            }
            for (block, out) in out.iter_mut().enumerate() {
                let out = &mut out[(y - rows.start) * width..][..width];
                band.row(v, scratch, block, y, held.start, out);
                if means {
                    let mut sum = v.splat(0.0);
                    for value in out.iter() {
                        sum = v.add(sum, v.load(value));
                    }
                    for (total, sum) in sums[block].iter_mut().zip(v.store(sum)) {
                        *total += f64::from(sum);
                    }
                }
            }
        }
        sums
    }
}
