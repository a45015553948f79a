//! Depthwise convolutions.

use rayon::prelude::*;

use super::{Tensor, dot, vectorize};
use crate::network::plan::ConvNormActivation;

/// Pixels computed together: their sums stay in registers while all taps are added.
const LANES: usize = 16;

/// One zero-padded channel of one image, its columns sorted by their remainder modulo the stride: whatever the stride,
/// neighbouring output pixels read neighbouring values.
struct Padded {
    values: Vec<f32>,
    /// Columns of one remainder, a multiple of [`LANES`] for the first tap.
    columns: usize,
    /// Offsets from a pixel's row to each tap's values.
    taps: Vec<usize>,
    input: [usize; 2],
    output: [usize; 2],
    stride: usize,
    padding: usize,
}

impl Padded {
    fn new(conv: &ConvNormActivation, input: [usize; 2]) -> Self {
        let (k, stride) = (conv.kernel, conv.stride);
        let output = input.map(|side| conv.output_size(side));
        let grouping = (k - 1) * conv.dilation;
        let columns = output[1].next_multiple_of(LANES) + grouping / stride;
        let rows = (output[0] - 1) * stride + grouping + 1;
        let tap = |i: usize| {
            let (row, column) = (i / k * conv.dilation, i % k * conv.dilation);
            (row * stride + column % stride) * columns + column / stride
        };
        Self {
            values: vec![0.0; rows * stride * columns],
            columns,
            taps: (0..k * k).map(tap).collect(),
            input,
            output,
            stride,
            padding: conv.padding(),
        }
    }

    /// Copies an image in; the padding is there already.
    fn fill(&mut self, image: &[f32]) {
        let (stride, padding, width) = (self.stride, self.padding, self.input[1]);
        let rows = self.values.len() / (stride * self.columns);
        for (row, line) in image.chunks_exact(width).take(rows.saturating_sub(padding)).enumerate() {
            for rest in 0..stride {
                let of_rest = &mut self.values[((row + padding) * stride + rest) * self.columns..][..self.columns];
                // Padded column stride · i + rest is column stride · i + rest − padding of the image.
                let first = padding.saturating_sub(rest).div_ceil(stride);
                let from = (first * stride + rest).saturating_sub(padding).min(width);
                let target = &mut of_rest[first.min(self.columns)..];
                if stride == 1 {
                    let count = width.min(target.len());
                    target[..count].copy_from_slice(&line[..count]);
                } else {
                    target.iter_mut().zip(line[from..].iter().step_by(stride)).for_each(|(to, value)| *to = *value);
                }
            }
        }
    }

    /// Offset at which an output row's first tap reads.
    fn row(&self, y: usize) -> usize {
        y * self.stride * self.stride * self.columns
    }

    /// Calls `row` with every output row's sums over all taps.
    #[inline(always)]
    fn convolve<const TAPS: usize>(&self, weights: &[f32], mut row: impl FnMut(usize, &[f32])) {
        let Ok(taps) = <[usize; TAPS]>::try_from(self.taps.as_slice()) else { return };
        let Ok(weights) = <[f32; TAPS]>::try_from(weights) else { return };
        let width = self.output[1];
        let mut line = vec![[0.0_f32; LANES]; width.div_ceil(LANES)];
        for y in 0..self.output[0] {
            let values = &self.values[self.row(y)..];
            for (block, out) in line.iter_mut().enumerate() {
                let mut sums = [0.0; LANES];
                for (tap, w) in taps.iter().zip(&weights) {
                    let x = &values[tap + block * LANES..][..LANES];
                    for i in 0..LANES {
                        sums[i] += w * x[i];
                    }
                }
                *out = sums;
            }
            row(y, &line.as_flattened()[..width]);
        }
    }

    /// Adds the product of a gradient and each tap's inputs.
    #[inline(always)]
    fn grad_weights(&self, gradient: &[f32], out: &mut [f32]) {
        for (y, g) in gradient.chunks_exact(self.output[1]).enumerate() {
            let values = &self.values[self.row(y)..];
            for (out, tap) in out.iter_mut().zip(&self.taps) {
                *out += dot(g, &values[*tap..]);
            }
        }
    }
}

/// The convolution of images, channel by channel, into `y`.
fn convolved(x: &Tensor, weights: &[f32], conv: &ConvNormActivation, y: &mut Tensor) {
    let (taps, plane, cells, width) = (conv.kernel * conv.kernel, y.plane(), y.cells(), y.width);
    let empty = || Padded::new(conv, [x.height, x.width]);
    let channels = y.values.par_chunks_mut(plane).zip(x.values.par_chunks(x.plane())).zip(weights.par_chunks(taps));
    channels.for_each_init(empty, |padded, ((y, x_channel), w)| {
        vectorize(
            #[inline(always)]
            || {
                for (y, image) in y.chunks_exact_mut(cells).zip(x_channel.chunks_exact(x.cells())) {
                    padded.fill(image);
                    let row = |number: usize, sums: &[f32]| y[number * width..][..width].copy_from_slice(sums);
                    match taps {
                        9 => padded.convolve::<9>(w, row),
                        _ => padded.convolve::<25>(w, row),
                    }
                }
            },
        );
    });
}

/// The convolution.
pub(crate) fn forward(x: &Tensor, weights: &[f32], conv: &ConvNormActivation) -> Tensor {
    let mut y = Tensor::new(x.channels, x.images, conv.output_size(x.height), conv.output_size(x.width));
    convolved(x, weights, conv, &mut y);
    y
}

/// Gradient of x, which had these rows and columns.
pub(crate) fn grad_input(
    gradient: &Tensor,
    weights: &[f32],
    conv: &ConvNormActivation,
    [height, width]: [usize; 2],
) -> Tensor {
    let mut out = Tensor::new(gradient.channels, gradient.images, height, width);
    if conv.stride == 1 {
        // The same convolution with a flipped kernel.
        let taps = conv.kernel * conv.kernel;
        let flipped: Vec<f32> = weights.chunks_exact(taps).flat_map(|w| w.iter().rev().copied()).collect();
        convolved(gradient, &flipped, conv, &mut out);
        return out;
    }
    let (taps, plane) = (conv.kernel * conv.kernel, out.plane());
    let channels = out
        .values
        .par_chunks_mut(plane)
        .zip(gradient.values.par_chunks(gradient.plane()))
        .zip(weights.par_chunks(taps));
    channels.for_each(|((out, g_channel), w)| {
        for (out, g) in out.chunks_exact_mut(height * width).zip(g_channel.chunks_exact(gradient.cells())) {
            walk(conv, [height, width], [gradient.height, gradient.width], |tap, from, to, count| {
                let (w, g) = (w[tap], &g[to..to + count]);
                out[from..].iter_mut().step_by(conv.stride).zip(g).for_each(|(x, g)| *x += w * g);
            });
        }
    });
    out
}

/// Gradient of the weights.
pub(crate) fn grad_weights(gradient: &Tensor, x: &Tensor, conv: &ConvNormActivation) -> Vec<f32> {
    let taps = conv.kernel * conv.kernel;
    let mut out = vec![0.0; taps * x.channels];
    let empty = || Padded::new(conv, [x.height, x.width]);
    let channels =
        out.par_chunks_mut(taps).zip(gradient.values.par_chunks(gradient.plane())).zip(x.values.par_chunks(x.plane()));
    channels.for_each_init(empty, |padded, ((out, g_channel), x_channel)| {
        vectorize(
            #[inline(always)]
            || {
                for (g, image) in g_channel.chunks_exact(gradient.cells()).zip(x_channel.chunks_exact(x.cells())) {
                    padded.fill(image);
                    padded.grad_weights(g, out);
                }
            },
        );
    });
    out
}

/// One tap of a kernel over one image: the rows and columns of the output that have an input under it.
struct Tap {
    /// Offset of the input from stride × output.
    offset: isize,
    from: usize,
    to: usize,
}

fn tap(conv: &ConvNormActivation, k: usize, input: usize, output: usize) -> Tap {
    let offset = (k * conv.dilation) as isize - conv.padding() as isize;
    let stride = conv.stride as isize;
    // 0 ≤ stride · o + offset < input
    let from = if offset >= 0 { 0 } else { (-offset + stride - 1) / stride };
    let to = (input as isize - offset + stride - 1).div_euclid(stride).clamp(0, output as isize);
    Tap { offset, from: (from.max(0) as usize).min(output), to: to as usize }
}

/// Calls `row(tap, input from, output from, count)` for every tap of the kernel and every row of the output it touches.
fn walk(
    conv: &ConvNormActivation,
    input: [usize; 2],
    output: [usize; 2],
    mut row: impl FnMut(usize, usize, usize, usize),
) {
    for ky in 0..conv.kernel {
        let down = tap(conv, ky, input[0], output[0]);
        for kx in 0..conv.kernel {
            let across = tap(conv, kx, input[1], output[1]);
            if across.from >= across.to {
                continue;
            }
            for y in down.from..down.to {
                let iy = ((conv.stride * y) as isize + down.offset) as usize;
                let ix = ((conv.stride * across.from) as isize + across.offset) as usize;
                row(ky * conv.kernel + kx, iy * input[1] + ix, y * output[1] + across.from, across.to - across.from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_gradient, dot, noise, tensor};
    use super::*;
    use crate::network::plan::{Activation, Grouping};

    fn conv(channels: usize, kernel: usize, stride: usize, dilation: usize) -> ConvNormActivation {
        ConvNormActivation {
            convolution: String::new(),
            norm: String::new(),
            grouping: Grouping::Depthwise,
            inputs: channels,
            outputs: channels,
            kernel,
            stride,
            dilation,
            activation: Activation::Relu,
            epsilon: 1e-3,
            momentum: 0.1,
        }
    }

    #[test]
    fn it_is_the_sum_it_should_be_and_gradients_are_finite_differences() {
        for (kernel, stride, dilation, height, width) in
            [(3, 1, 1, 7, 19), (5, 2, 1, 9, 12), (3, 2, 1, 8, 37), (5, 1, 2, 6, 11), (3, 2, 1, 1, 2), (5, 1, 2, 2, 1)]
        {
            let conv = conv(3, kernel, stride, dilation);
            let (x, w) = (tensor([3, 2, height, width], 1), noise(3 * kernel * kernel, 2));
            let y = forward(&x, &w, &conv);
            let at = |c: usize, n: usize, r: isize, q: isize| {
                let inside = (0..height as isize).contains(&r) && (0..width as isize).contains(&q);
                let index = || ((c * 2 + n) * height + r as usize) * width + q as usize;
                if inside { x.values[index()] } else { 0.0 }
            };
            let mut k = 0;
            for c in 0..3 {
                for n in 0..2 {
                    for oy in 0..y.height {
                        for ox in 0..y.width {
                            let mut sum = 0.0;
                            for ky in 0..kernel {
                                for kx in 0..kernel {
                                    let p = conv.padding() as isize;
                                    let r = (oy * stride + ky * dilation) as isize - p;
                                    let q = (ox * stride + kx * dilation) as isize - p;
                                    sum += w[(c * kernel + ky) * kernel + kx] * at(c, n, r, q);
                                }
                            }
                            assert!((y.values[k] - sum).abs() < 1e-5, "{kernel} {stride} {dilation}");
                            k += 1;
                        }
                    }
                }
            }
            let g = tensor([3, 2, y.height, y.width], 4);
            let value = |x: &[f32], w: &[f32]| {
                let x = Tensor { values: x.to_vec(), ..tensor([3, 2, height, width], 1) };
                dot(&forward(&x, w, &conv).values, &g.values)
            };
            check_gradient(&x.values, &grad_input(&g, &w, &conv, [height, width]).values, |x| value(x, &w));
            check_gradient(&w, &grad_weights(&g, &x, &conv), |w| value(&x.values, w));
        }
    }
}
