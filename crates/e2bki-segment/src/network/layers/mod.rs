//! Layers with their gradients. A batch is stored channel-major (C, N, H, W), so that a 1×1 convolution of the whole batch
//! is one matrix product and every other layer works on one channel at a time: work is split among threads without
//! changing the order of any sum.

pub(crate) mod bilinear;
pub(crate) mod depthwise;
pub(crate) mod im2col;
pub(crate) mod norm;
pub(crate) mod pointwise;
pub(crate) mod pool;
pub(crate) mod squeeze;

/// Number of accumulators of a sum.
const LANES: usize = 8;

/// Runs a loop with the widest SIMD instructions available. Nothing is contracted or reordered: the result is the same on
/// every machine.
#[inline(always)]
pub(crate) fn vectorize<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// Sum of terms in double precision, with a fixed number of accumulators.
#[inline(always)]
pub(crate) fn sum(x: &[f32], term: impl Fn(f64) -> f64) -> f64 {
    let (blocks, rest) = x.as_chunks::<LANES>();
    let mut lanes = [0.0_f64; LANES];
    for block in blocks {
        for i in 0..LANES {
            lanes[i] += term(f64::from(block[i]));
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().map(|x| term(f64::from(*x))).sum::<f64>()
}

/// Dot product in double precision, with the same accumulators.
#[inline(always)]
pub(crate) fn sum_of_products(x: &[f32], y: &[f32]) -> f64 {
    let ((blocks, rest), (of_y, rest_of_y)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let mut lanes = [0.0_f64; LANES];
    for (x, y) in blocks.iter().zip(of_y) {
        for i in 0..LANES {
            lanes[i] += f64::from(x[i] * y[i]);
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().zip(rest_of_y).map(|(x, y)| f64::from(x * y)).sum::<f64>()
}

/// Dot product with eight accumulators, so that it vectorizes.
#[inline(always)]
pub(crate) fn dot(g: &[f32], x: &[f32]) -> f32 {
    let (heads, rest) = g.as_chunks::<LANES>();
    let (of_x, _) = x.as_chunks::<LANES>();
    let mut lanes = [0.0_f32; LANES];
    for (g, x) in heads.iter().zip(of_x) {
        for i in 0..LANES {
            lanes[i] += g[i] * x[i];
        }
    }
    let tail: f32 = rest.iter().zip(&x[heads.len() * LANES..]).map(|(g, x)| g * x).sum();
    lanes.iter().sum::<f32>() + tail
}

/// A batch of feature maps in the order (C, N, H, W): channels × images × rows × columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Number of channels.
    pub channels: usize,
    /// Number of images.
    pub images: usize,
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// Values: channel by channel, image by image, row by row.
    pub values: Vec<f32>,
}

impl Tensor {
    /// Zeros.
    pub fn new(channels: usize, images: usize, height: usize, width: usize) -> Self {
        Self { channels, images, height, width, values: vec![0.0; channels * images * height * width] }
    }

    /// Zeros of the same size with this many channels.
    pub(crate) fn like(&self, channels: usize) -> Self {
        Self::new(channels, self.images, self.height, self.width)
    }

    /// Values per channel.
    pub(crate) fn plane(&self) -> usize {
        self.images * self.height * self.width
    }

    /// Pixels of one image.
    pub(crate) fn cells(&self) -> usize {
        self.height * self.width
    }

    pub(crate) fn add(&mut self, other: &Self) {
        use rayon::prelude::*;
        let plane = self.plane();
        self.values.par_chunks_mut(plane).zip(other.values.par_chunks(plane)).for_each(|(sum, more)| {
            vectorize(|| sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more));
        });
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Pseudo-random numbers between −1 and 1.
    pub(crate) fn noise(count: usize, seed: u64) -> Vec<f32> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    pub(crate) fn tensor(shape: [usize; 4], seed: u64) -> Tensor {
        let [channels, images, height, width] = shape;
        Tensor { channels, images, height, width, values: noise(shape.iter().product(), seed) }
    }

    pub(crate) fn dot(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    /// Compares a gradient with central differences of `value` at a few elements of `x`.
    pub(crate) fn check_gradient(x: &[f32], gradient: &[f32], mut value: impl FnMut(&[f32]) -> f64) {
        let h = 1.0 / 256.0;
        for at in (0..x.len()).step_by((x.len() / 9).max(1)) {
            let mut moved = x.to_vec();
            moved[at] = x[at] + h;
            let up = value(&moved);
            moved[at] = x[at] - h;
            let difference = (up - value(&moved)) / (2.0 * f64::from(h));
            let found = f64::from(gradient[at]);
            assert!((found - difference).abs() < 2e-2 * difference.abs().max(1.0), "{at}: {found}, not {difference}");
        }
    }
}
