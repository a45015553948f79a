//! 1×1 convolutions with a normalisation folded into them: sums of a few blocks at a few places stay in registers while
//! all input channels are added.

use rayon::prelude::*;

use super::field::{Buffers, Field, Source};
use super::lanes::{Eight, LANES, Lanes, Work, dispatch};
use crate::network::plan::Bend;

/// Values of inputs that one share of the work reads: half of what a core's cache holds.
const SHARE: usize = 1 << 15;
/// A map is divided into as many shares at least. Not a matter of threads: results must not depend on their number.
const SHARES: usize = 16;

/// W x + b, bent.
#[derive(Debug)]
pub(super) struct Pointwise {
    /// Blocks of input channels.
    pub(super) inputs: usize,
    /// Of every block of outputs: of every input channel its eight weights.
    weights: Vec<Eight>,
    bias: Vec<Eight>,
    bend: Bend,
}

/// Weights for one image: the layer's own, or scaled.
#[derive(Clone, Copy)]
pub(super) struct Product<'a> {
    pub(super) layer: &'a Pointwise,
    weights: &'a [Eight],
}

/// Blocks of outputs computed together: threes, at the end one or two twos.
pub(super) fn groups(blocks: usize) -> impl Iterator<Item = (usize, usize)> {
    let threes = if blocks % 3 == 1 && blocks > 1 { blocks / 3 - 1 } else { blocks / 3 };
    let rest = (3 * threes..blocks).step_by(2).map(move |first| (first, (blocks - first).min(2)));
    (0..threes).map(|i| (3 * i, 3)).chain(rest)
}

impl Pointwise {
    /// From weights outputs × inputs, each row times its scale, and the shift of every output.
    pub(super) fn new(weights: &[f32], scale: &[f32], shift: &[f32], bend: Bend) -> Self {
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
        Self { inputs: rows / LANES, weights: packed, bias, bend }
    }

    /// Blocks of output channels.
    pub(super) fn outputs(&self) -> usize {
        self.bias.len()
    }

    pub(super) fn product(&self) -> Product<'_> {
        Product { layer: self, weights: &self.weights }
    }

    /// The layer for inputs that are first multiplied by factors; `weights` is where its weights are put.
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

    /// How many weights [`scaled`](Self::scaled) needs place for.
    pub(super) fn size(&self) -> usize {
        self.weights.len()
    }

    /// Outputs at a single place.
    pub(super) fn of_one(&self, x: &[Eight]) -> Vec<Eight> {
        let mut out = vec![[0.0; LANES]; self.outputs()];
        let x = Source { values: x, stride: 1, blocks: self.inputs };
        let blocks = out.chunks_mut(1).collect();
        dispatch(Run { product: self.product(), x, from: 0, count: 1, blocks, skip: None });
        out
    }
}

impl Product<'_> {
    /// Outputs at all places, to which `skip` is added.
    pub(super) fn forward(self, x: &Field, skip: Option<&Field>, buffers: &mut Buffers) -> Field {
        let mut out = buffers.field(self.layer.outputs() * LANES, x.height, x.width);
        let by_cache = SHARE / (self.layer.inputs * LANES);
        let count = by_cache.min(out.places().div_ceil(SHARES)).next_multiple_of(12);
        out.shares(count).into_par_iter().with_max_len(1).for_each(|share| {
            let (from, count, blocks) = (share.from, share.count, share.blocks);
            dispatch(Run { product: self, x: x.source(), from, count, blocks, skip: skip.map(Field::source) });
        });
        out
    }

    /// Outputs of neighbouring blocks, up to three, from block `first` on, at `count` places; they are written from place
    /// `to` of `out` on.
    #[inline(always)]
    pub(super) fn run<V: Lanes>(
        self,
        v: V,
        x: Source<'_>,
        first: usize,
        [from, count, to]: [usize; 3],
        out: &mut [&mut [Eight]],
        skip: Option<Source<'_>>,
    ) {
        match out.len() {
            1 => self.run_few::<V, 1, 8>(v, x, first, [from, count, to], out, skip),
            2 => self.run_few::<V, 2, 6>(v, x, first, [from, count, to], out, skip),
            _ => self.run_few::<V, 3, 3>(v, x, first, [from, count, to], out, skip),
        }
    }

    #[inline(always)]
    fn run_few<V: Lanes, const A: usize, const P: usize>(
        self,
        v: V,
        x: Source<'_>,
        first: usize,
        [from, count, to]: [usize; 3],
        out: &mut [&mut [Eight]],
        skip: Option<Source<'_>>,
    ) {
        if count < P {
            for at in 0..count {
                self.tile::<V, A, 1>(v, x, first, [from + at, to + at], out, skip);
            }
            return;
        }
        for at in (0..count).step_by(P) {
            // The last tile begins early enough to be a whole one; what it shares with the one before is the same.
            let at = at.min(count - P);
            self.tile::<V, A, P>(v, x, first, [from + at, to + at], out, skip);
        }
    }

    #[inline(always)]
    fn tile<V: Lanes, const A: usize, const P: usize>(
        self,
        v: V,
        x: Source<'_>,
        first: usize,
        [from, to]: [usize; 2],
        out: &mut [&mut [Eight]],
        skip: Option<Source<'_>>,
    ) {
        let rows = x.blocks * LANES;
        let mut weights = [[].as_slice(); A];
        let mut sums = [[v.splat(0.0); P]; A];
        for a in 0..A {
            weights[a] = self.weights[(first + a) * rows..][..rows].as_chunks::<LANES>().0;
            sums[a] = [v.load(&self.layer.bias[first + a]); P];
        }
        for block in 0..x.blocks {
            let Some(places) = x.values[block * x.stride + from..].first_chunk::<P>() else { return };
            for k in 0..LANES {
                let mut w = [v.splat(0.0); A];
                for a in 0..A {
                    w[a] = v.load(&weights[a][block][k]);
                }
                for p in 0..P {
                    let value = v.splat(places[p][k]);
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
                        out[p] = v.eight(bent(v, self.layer.bend, sums[a][p]));
                    }
                }
                Some(skip) => {
                    let skip = &skip.values[(first + a) * skip.stride + from..][..P];
                    for p in 0..P {
                        out[p] = v.eight(v.add(bent(v, self.layer.bend, sums[a][p]), v.load(&skip[p])));
                    }
                }
            }
        }
    }
}

/// The bend of eight values.
#[inline(always)]
pub(super) fn bent<V: Lanes>(v: V, bend: Bend, z: V::Vector) -> V::Vector {
    match bend {
        Bend::Straight => z,
        Bend::Relu => v.max(z, v.splat(0.0)),
        Bend::HardSwish => {
            let gate = v.min(v.max(v.add(z, v.splat(3.0)), v.splat(0.0)), v.splat(6.0));
            v.mul(v.mul(z, gate), v.splat(1.0 / 6.0))
        }
    }
}

/// All outputs at some places.
struct Run<'a> {
    product: Product<'a>,
    x: Source<'a>,
    from: usize,
    count: usize,
    blocks: Vec<&'a mut [Eight]>,
    skip: Option<Source<'a>>,
}

impl Work for Run<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(mut self, v: V) {
        for (first, count) in groups(self.product.layer.outputs()) {
            let out = &mut self.blocks[first..first + count];
            self.product.run(v, self.x, first, [self.from, self.count, 0], out, self.skip);
        }
    }
}
