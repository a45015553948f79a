//! Layers with their gradients. A batch is held channel by channel, all images of a channel together, so that a 1×1
//! convolution of a whole batch is one matrix product and every other layer works on channels by themselves: work is
//! shared among threads without any sum depending on how.

pub(crate) mod bilinear;
pub(crate) mod columns;
pub(crate) mod depthwise;
pub(crate) mod norm;
pub(crate) mod pointwise;
pub(crate) mod pool;
pub(crate) mod squeeze;

/// Lanes of a sum.
const LANES: usize = 8;

/// Runs a loop with the widest vector instructions of the machine. Nothing is contracted or put in another order: the result
/// is the same on all.
#[inline(always)]
pub(crate) fn wide<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// Sum of terms in double precision, in lanes whose number is fixed.
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

/// Sum of products in double precision, in the same lanes.
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

/// Sum of products in eight lanes, so that it becomes vector instructions.
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

/// Channels × images × rows × columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Maps {
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

impl Maps {
    /// Zeros.
    pub fn new(channels: usize, images: usize, height: usize, width: usize) -> Self {
        Self { channels, images, height, width, values: vec![0.0; channels * images * height * width] }
    }

    /// Zeros of as many channels at the places of another.
    pub(crate) fn like(&self, channels: usize) -> Self {
        Self::new(channels, self.images, self.height, self.width)
    }

    /// Values of a channel.
    pub(crate) fn plane(&self) -> usize {
        self.images * self.height * self.width
    }

    /// Values of a channel in one image.
    pub(crate) fn cells(&self) -> usize {
        self.height * self.width
    }

    pub(crate) fn add(&mut self, other: &Self) {
        use rayon::prelude::*;
        let plane = self.plane();
        self.values.par_chunks_mut(plane).zip(other.values.par_chunks(plane)).for_each(|(sum, more)| {
            wide(|| sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more));
        });
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Numbers between −1 and 1 that look like chance.
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

    pub(crate) fn maps(shape: [usize; 4], seed: u64) -> Maps {
        let [channels, images, height, width] = shape;
        Maps { channels, images, height, width, values: noise(shape.iter().product(), seed) }
    }

    pub(crate) fn dot(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    /// Compares a gradient with central differences of `value` at a few places of `x`.
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
