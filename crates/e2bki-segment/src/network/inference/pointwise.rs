//! 1×1 convolutions with folded normalisation: the sums of a few blocks at a few pixels stay in registers while all input
//! channels are added.

use rayon::prelude::*;

use super::blocked::{BlockedTensor, Buffers, View};
use super::simd::{Eight, Kernel, LANES, Simd, dispatch};
use crate::network::plan::Activation;

/// Input values per chunk: half of a core's cache.
const CHUNK_VALUES: usize = 1 << 15;
/// Minimum number of chunks. Independent of the number of threads, so that results are too.
const MIN_CHUNKS: usize = 16;

/// activation(W x + b).
#[derive(Debug)]
pub(super) struct Pointwise {
    /// Blocks of input channels.
    pub(super) inputs: usize,
    /// Weights by block of outputs and input channel.
    weights: Vec<Eight>,
    bias: Vec<Eight>,
    activation: Activation,
}

/// Weights for one image: the layer's own, or with scaled inputs.
#[derive(Clone, Copy)]
pub(super) struct Product<'a> {
    pub(super) layer: &'a Pointwise,
    weights: &'a [Eight],
}

/// Blocks of outputs computed together: groups of three, then one or two groups of two.
pub(super) fn groups(blocks: usize) -> impl Iterator<Item = (usize, usize)> {
    let threes = if blocks % 3 == 1 && blocks > 1 { blocks / 3 - 1 } else { blocks / 3 };
    let rest = (3 * threes..blocks).step_by(2).map(move |first| (first, (blocks - first).min(2)));
    (0..threes).map(|i| (3 * i, 3)).chain(rest)
}

impl Pointwise {
    /// From weights (outputs × inputs) and the folded scale and shift of every output.
    pub(super) fn new(weights: &[f32], scale: &[f32], shift: &[f32], activation: Activation) -> Self {
        let inputs = weights.len() / shift.len();
        let rows = inputs.next_multiple_of(LANES);
        let blocks = shift.len().div_ceil(LANES);
        let mut packed = vec![[0.0; LANES]; blocks * rows];
        let mut bias = vec![[0.0; LANES]; blocks];
        for (o, row) in weights.chunks_exact(inputs).enumerate() {
            for (i, w) in row.iter().enumerate() {
                packed[o / LANES * rows + i][o % LANES] = w * scale[o];
            }
            bias[o / LANES][o % LANES] = shift[o];
        }
        Self { inputs: rows / LANES, weights: packed, bias, activation }
    }

    /// Blocks of output channels.
    pub(super) fn outputs(&self) -> usize {
        self.bias.len()
    }

    pub(super) fn product(&self) -> Product<'_> {
        Product { layer: self, weights: &self.weights }
    }

    /// The layer with its inputs scaled per channel; its weights are written to `weights`.
    pub(super) fn scaled<'a>(&'a self, factors: &[Eight], weights: &'a mut [Eight]) -> Product<'a> {
        let factors = &factors.as_flattened()[..self.inputs * LANES];
        let blocks = weights.chunks_exact_mut(factors.len()).zip(self.weights.chunks_exact(factors.len()));
        for (out, own) in blocks {
            for ((out, own), factor) in out.iter_mut().zip(own).zip(factors) {
                *out = own.map(|w| w * factor);
            }
        }
        Product { layer: self, weights }
    }

    /// Number of weights that [`scaled`](Self::scaled) writes.
    pub(super) fn size(&self) -> usize {
        self.weights.len()
    }

    /// Output at a single pixel.
    pub(super) fn forward_pixel(&self, x: &[Eight]) -> Vec<Eight> {
        let mut out = vec![[0.0; LANES]; self.outputs()];
        let x = View { values: x, stride: 1, blocks: self.inputs };
        let blocks = out.chunks_mut(1).collect();
        dispatch(Run { product: self.product(), x, from: 0, count: 1, blocks, skip: None });
        out
    }
}

impl Product<'_> {
    /// Output at all pixels, plus `skip`.
    pub(super) fn forward(
        self,
        x: &BlockedTensor,
        skip: Option<&BlockedTensor>,
        buffers: &mut Buffers,
    ) -> BlockedTensor {
        let mut out = buffers.tensor(self.layer.outputs() * LANES, x.height, x.width);
        let by_cache = CHUNK_VALUES / (self.layer.inputs * LANES);
        let count = by_cache.min(out.pixels().div_ceil(MIN_CHUNKS)).next_multiple_of(12);
        out.chunks(count).into_par_iter().with_max_len(1).for_each(|chunk| {
            let (from, count, blocks) = (chunk.from, chunk.count, chunk.blocks);
            dispatch(Run { product: self, x: x.source(), from, count, blocks, skip: skip.map(BlockedTensor::source) });
        });
        out
    }

    /// Output of up to three neighbouring blocks, starting at block `first`, at `count` pixels; written to `out` starting
    /// at pixel `to`.
    #[inline(always)]
    pub(super) fn run<V: Simd>(
        self,
        v: V,
        x: View<'_>,
        first: usize,
        [from, count, to]: [usize; 3],
        out: &mut [&mut [Eight]],
        skip: Option<View<'_>>,
    ) {
        match out.len() {
            1 => self.run_few::<V, 1, 8>(v, x, first, [from, count, to], out, skip),
            2 => self.run_few::<V, 2, 6>(v, x, first, [from, count, to], out, skip),
            _ => self.run_few::<V, 3, 3>(v, x, first, [from, count, to], out, skip),
        }
    }

    #[inline(always)]
    fn run_few<V: Simd, const A: usize, const P: usize>(
        self,
        v: V,
        x: View<'_>,
        first: usize,
        [from, count, to]: [usize; 3],
        out: &mut [&mut [Eight]],
        skip: Option<View<'_>>,
    ) {
        if count < P {
            for at in 0..count {
                self.tile::<V, A, 1>(v, x, first, [from + at, to + at], out, skip);
            }
            return;
        }
        for at in (0..count).step_by(P) {
            // The last tile overlaps the one before it, so that all are full.
            let at = at.min(count - P);
            self.tile::<V, A, P>(v, x, first, [from + at, to + at], out, skip);
        }
    }

    #[inline(always)]
    fn tile<V: Simd, const A: usize, const P: usize>(
        self,
        v: V,
        x: View<'_>,
        first: usize,
        [from, to]: [usize; 2],
        out: &mut [&mut [Eight]],
        skip: Option<View<'_>>,
    ) {
        let rows = x.blocks * LANES;
        let mut weights = [[].as_slice(); A];
        let mut sums = [[v.splat(0.0); P]; A];
        for a in 0..A {
            weights[a] = self.weights[(first + a) * rows..][..rows].as_chunks::<LANES>().0;
            sums[a] = [v.load(&self.layer.bias[first + a]); P];
        }
        for block in 0..x.blocks {
            let Some(pixels) = x.values[block * x.stride + from..].first_chunk::<P>() else { return };
            for k in 0..LANES {
                let mut w = [v.splat(0.0); A];
                for a in 0..A {
                    w[a] = v.load(&weights[a][block][k]);
                }
                for p in 0..P {
                    let value = v.splat(pixels[p][k]);
                    for a in 0..A {
                        sums[a][p] = v.mul_add(w[a], value, sums[a][p]);
                    }
                }
            }
        }
        for a in 0..A {
            let Some(out) = out[a][to..].first_chunk_mut::<P>() else { return };
            match skip {
                None => {
                    for p in 0..P {
                        out[p] = v.store(activate(v, self.layer.activation, sums[a][p]));
                    }
                }
                Some(skip) => {
                    let skip = &skip.values[(first + a) * skip.stride + from..][..P];
                    for p in 0..P {
                        out[p] = v.store(v.add(activate(v, self.layer.activation, sums[a][p]), v.load(&skip[p])));
                    }
                }
            }
        }
    }
}

/// The activation of eight values.
#[inline(always)]
pub(super) fn activate<V: Simd>(v: V, activation: Activation, z: V::Vector) -> V::Vector {
    match activation {
        Activation::Identity => z,
        Activation::Relu => v.max(z, v.splat(0.0)),
        Activation::HardSwish => {
            let gate = v.min(v.max(v.add(z, v.splat(3.0)), v.splat(0.0)), v.splat(6.0));
            v.mul(v.mul(z, gate), v.splat(1.0 / 6.0))
        }
    }
}

/// All outputs at some pixels.
struct Run<'a> {
    product: Product<'a>,
    x: View<'a>,
    from: usize,
    count: usize,
    blocks: Vec<&'a mut [Eight]>,
    skip: Option<View<'a>>,
}

impl Kernel for Run<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Simd>(mut self, v: V) {
        for (first, count) in groups(self.product.layer.outputs()) {
            let out = &mut self.blocks[first..first + count];
            self.product.run(v, self.x, first, [self.from, self.count, 0], out, self.skip);
        }
    }
}
