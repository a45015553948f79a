//! The wide half of a block in one go: some channels are expanded into scratch memory row by row and convolved from there,
//! each by itself, so that the widest maps of the network are never in main memory.

use std::ops::Range;

use rayon::prelude::*;

use super::field::{Buffers, Field};
use super::lanes::{Eight, LANES, Lanes, Work, dispatch};
use super::pointwise::{Pointwise, bent, groups};
use crate::network::plan::Unit;

/// Places computed together.
const TILE: usize = 8;
/// Places of scratch memory, of all blocks of a share: a quarter of what a core's cache holds.
const SCRATCH: usize = 1 << 12;
/// A layer is divided into as many shares at least, as far as rows allow. Not a matter of threads: sums must not depend on
/// their number.
const SHARES: usize = 12;

/// A depthwise convolution with its normalisation folded in.
#[derive(Debug)]
pub(super) struct Depthwise {
    unit: Unit,
    /// Of every block: of every tap its eight weights.
    weights: Vec<Eight>,
    bias: Vec<Eight>,
}

impl Depthwise {
    /// From weights channels × taps, each channel's times its scale, and the shift of every channel.
    pub(super) fn new(unit: &Unit, weights: &[f32], scale: &[f32], shift: &[f32]) -> Self {
        let taps = unit.kernel * unit.kernel;
        let blocks = shift.len().div_ceil(LANES);
        let mut packed = vec![[0.0; LANES]; blocks * taps];
        let mut bias = vec![[0.0; LANES]; blocks];
        for (c, of_channel) in weights.chunks_exact(taps).enumerate() {
            for (tap, w) in of_channel.iter().enumerate() {
                packed[c / LANES * taps + tap][c % LANES] = w * scale[c];
            }
            bias[c / LANES][c % LANES] = shift[c];
        }
        Self { unit: unit.clone(), weights: packed, bias }
    }

    /// Outputs for inputs that are `expand`ed first, and where asked for the means of all channels.
    pub(super) fn forward(
        &self,
        expand: Option<&Pointwise>,
        x: &Field,
        means: bool,
        buffers: &mut Buffers,
    ) -> (Field, Vec<Eight>) {
        let [height, width] = [x.height, x.width].map(|side| self.unit.shrunk(side));
        let blocks = self.bias.len();
        let mut out = buffers.field(blocks * LANES, height, width);
        let parts = SHARES.div_ceil(groups(blocks).count()).min(height.div_ceil(8));
        let rows = height.div_ceil(parts);
        let mut shares = out.shares(rows * width);
        let mut tasks = Vec::with_capacity(parts * blocks / 2 + 1);
        for (first, count) in groups(blocks) {
            for share in &mut shares {
                let from = share.from / width;
                let out = share.blocks.iter_mut().skip(first).take(count).map(std::mem::take).collect();
                tasks.push((first, from..from + share.count / width, out));
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
        let places = (height * width) as f64;
        (out, sums.into_iter().map(|sums| sums.map(|sum| (sum / places) as f32)).collect())
    }
}

/// Rows of a few blocks in scratch memory, with a margin of zeros to the left and to the right.
struct Band<'a> {
    layer: &'a Depthwise,
    expand: Option<&'a Pointwise>,
    x: &'a Field,
    /// The first block, and how many.
    first: usize,
    blocks: usize,
    /// Most rows that are held.
    most: usize,
    padding: usize,
    /// Columns of the input and of both margins.
    columns: usize,
}

impl<'a> Band<'a> {
    fn new(layer: &'a Depthwise, expand: Option<&'a Pointwise>, x: &'a Field, first: usize, blocks: usize) -> Self {
        let padding = layer.unit.padding();
        let columns = x.width + 2 * padding;
        let least = 2 * padding + layer.unit.stride;
        let most = (SCRATCH / blocks.max(1) / columns).max(least).min(x.height.max(least));
        Self { layer, expand, x, first, blocks, most, padding, columns }
    }

    fn size(&self) -> usize {
        self.blocks * self.most * self.columns
    }

    /// Puts rows of the input, expanded, into the band, from its row `to` on.
    #[inline(always)]
    fn fill<V: Lanes>(&self, v: V, scratch: &mut [Eight], rows: Range<usize>, to: usize) {
        let (width, padding) = (self.x.width, self.padding);
        // There are three blocks at most.
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

    /// One row of the output of a block; `held` is the input's row that the band begins with.
    #[inline(always)]
    fn row<V: Lanes>(&self, v: V, scratch: &[Eight], block: usize, y: usize, held: usize, out: &mut [Eight]) {
        let band = &scratch[block * self.most * self.columns..][..self.most * self.columns];
        match (self.layer.unit.stride, out.len() >= TILE) {
            (1, true) => self.tiles::<V, 1, TILE>(v, band, block, y, held, out),
            (1, false) => self.tiles::<V, 1, 1>(v, band, block, y, held, out),
            (_, true) => self.tiles::<V, 2, TILE>(v, band, block, y, held, out),
            (_, false) => self.tiles::<V, 2, 1>(v, band, block, y, held, out),
        }
    }

    #[inline(always)]
    fn tiles<V: Lanes, const STRIDE: usize, const T: usize>(
        &self,
        v: V,
        band: &[Eight],
        block: usize,
        y: usize,
        held: usize,
        out: &mut [Eight],
    ) {
        let unit = &self.layer.unit;
        let taps = unit.kernel * unit.kernel;
        let weights = &self.layer.weights[(self.first + block) * taps..][..taps];
        let bias = v.load(&self.layer.bias[self.first + block]);
        let count = out.len();
        for at in (0..count).step_by(T) {
            // The last tile begins early enough to be a whole one.
            let at = at.min(count - T);
            let mut sums = [bias; T];
            for (ky, weights) in weights.chunks_exact(unit.kernel).enumerate() {
                let row = y * STRIDE + ky * unit.dilation;
                // Rows outside of the image are zeros.
                if row < self.padding || row - self.padding >= self.x.height {
                    continue;
                }
                let line = &band[(row - self.padding - held) * self.columns..][..self.columns];
                for (kx, w) in weights.iter().enumerate() {
                    let w = v.load(w);
                    let values = &line[at * STRIDE + kx * unit.dilation..][..(T - 1) * STRIDE + 1];
                    for t in 0..T {
                        sums[t] = v.mul_add(w, v.load(&values[t * STRIDE]), sums[t]);
                    }
                }
            }
            let Some(out) = out[at..].first_chunk_mut::<T>() else { return };
            for t in 0..T {
                out[t] = v.eight(bent(v, unit.bend, sums[t]));
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

impl Work for Part<'_> {
    type Output = [[f64; LANES]; 3];

    #[inline(always)]
    fn run<V: Lanes>(self, v: V) -> Self::Output {
        let Self { band, rows, scratch, mut out, means } = self;
        let (unit, height) = (&band.layer.unit, band.x.height);
        let width = unit.shrunk(band.x.width);
        let mut sums = [[0.0; LANES]; 3];
        // Rows of the input that are in the band.
        let mut held = 0..0;
        for y in rows.clone() {
            let first = (y * unit.stride).saturating_sub(band.padding);
            let end = (y * unit.stride + band.padding + 1).min(height);
            if end > held.end {
                // Rows that are still needed move to the front, and as many follow as there is room for.
                let kept = first.max(held.start)..held.end.max(first);
                let last = ((rows.end - 1) * unit.stride + band.padding + 1).min(height);
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
                    for (total, sum) in sums[block].iter_mut().zip(v.eight(sum)) {
                        *total += f64::from(sum);
                    }
                }
            }
        }
        sums
    }
}
