//! Convolutions of every channel by itself.

use rayon::prelude::*;

use super::Maps;
use crate::network::plan::Unit;

/// One tap of a kernel over one image: which rows and columns of the output have an input under it.
struct Tap {
    /// Offset of the input from stride × output.
    offset: isize,
    from: usize,
    to: usize,
}

fn tap(unit: &Unit, k: usize, input: usize, output: usize) -> Tap {
    let offset = (k * unit.dilation) as isize - unit.padding() as isize;
    let stride = unit.stride as isize;
    // 0 ≤ stride · o + offset < input
    let from = if offset >= 0 { 0 } else { (-offset + stride - 1) / stride };
    let to = (input as isize - offset + stride - 1).div_euclid(stride).clamp(0, output as isize);
    Tap { offset, from: (from.max(0) as usize).min(output), to: to as usize }
}

/// Calls `row(tap, input from, output from, count)` for every tap of the kernel and every row of the output it touches.
fn walk(unit: &Unit, input: [usize; 2], output: [usize; 2], mut row: impl FnMut(usize, usize, usize, usize)) {
    for ky in 0..unit.kernel {
        let down = tap(unit, ky, input[0], output[0]);
        for kx in 0..unit.kernel {
            let across = tap(unit, kx, input[1], output[1]);
            if across.from >= across.to {
                continue;
            }
            for y in down.from..down.to {
                let iy = ((unit.stride * y) as isize + down.offset) as usize;
                let ix = ((unit.stride * across.from) as isize + across.offset) as usize;
                row(ky * unit.kernel + kx, iy * input[1] + ix, y * output[1] + across.from, across.to - across.from);
            }
        }
    }
}

/// The convolution.
pub(crate) fn forward(x: &Maps, weights: &[f32], unit: &Unit) -> Maps {
    let mut y = Maps::new(x.channels, x.images, unit.shrunk(x.height), unit.shrunk(x.width));
    let (taps, plane, shape) = (unit.kernel * unit.kernel, y.plane(), [y.height, y.width]);
    let channels = y.values.par_chunks_mut(plane).zip(x.values.par_chunks(x.plane())).zip(weights.par_chunks(taps));
    channels.for_each(|((y, x_channel), w)| {
        let images = y.chunks_exact_mut(shape[0] * shape[1]).zip(x_channel.chunks_exact(x.cells()));
        for (y, x_image) in images {
            walk(unit, [x.height, x.width], shape, |tap, from, to, count| {
                let (w, out) = (w[tap], &mut y[to..to + count]);
                if unit.stride == 1 {
                    out.iter_mut().zip(&x_image[from..from + count]).for_each(|(y, x)| *y += w * x);
                } else {
                    out.iter_mut().zip(x_image[from..].iter().step_by(unit.stride)).for_each(|(y, x)| *y += w * x);
                }
            });
        }
    });
    y
}

/// Gradient by x, which had these rows and columns.
pub(crate) fn by_input(gradient: &Maps, weights: &[f32], unit: &Unit, [height, width]: [usize; 2]) -> Maps {
    let mut out = Maps::new(gradient.channels, gradient.images, height, width);
    let (taps, plane) = (unit.kernel * unit.kernel, out.plane());
    let channels = out
        .values
        .par_chunks_mut(plane)
        .zip(gradient.values.par_chunks(gradient.plane()))
        .zip(weights.par_chunks(taps));
    channels.for_each(|((out, g_channel), w)| {
        for (out, g) in out.chunks_exact_mut(height * width).zip(g_channel.chunks_exact(gradient.cells())) {
            walk(unit, [height, width], [gradient.height, gradient.width], |tap, from, to, count| {
                let (w, g) = (w[tap], &g[to..to + count]);
                if unit.stride == 1 {
                    out[from..from + count].iter_mut().zip(g).for_each(|(x, g)| *x += w * g);
                } else {
                    out[from..].iter_mut().step_by(unit.stride).zip(g).for_each(|(x, g)| *x += w * g);
                }
            });
        }
    });
    out
}

/// Gradient by the weights.
pub(crate) fn by_weights(gradient: &Maps, x: &Maps, unit: &Unit) -> Vec<f32> {
    let taps = unit.kernel * unit.kernel;
    let mut out = vec![0.0; taps * x.channels];
    let channels =
        out.par_chunks_mut(taps).zip(gradient.values.par_chunks(gradient.plane())).zip(x.values.par_chunks(x.plane()));
    channels.for_each(|((out, g_channel), x_channel)| {
        for (g, x_image) in g_channel.chunks_exact(gradient.cells()).zip(x_channel.chunks_exact(x.cells())) {
            walk(unit, [x.height, x.width], [gradient.height, gradient.width], |tap, from, to, count| {
                out[tap] += dot(&g[to..to + count], &x_image[from..], unit.stride);
            });
        }
    });
    out
}

/// Sum of products in eight lanes, so that it becomes vector instructions.
fn dot(g: &[f32], x: &[f32], stride: usize) -> f32 {
    if stride != 1 {
        return g.iter().zip(x.iter().step_by(stride)).map(|(g, x)| g * x).sum();
    }
    let (heads, rest) = g.as_chunks::<8>();
    let (of_x, _) = x.as_chunks::<8>();
    let mut lanes = [0.0_f32; 8];
    for (g, x) in heads.iter().zip(of_x) {
        for i in 0..8 {
            lanes[i] += g[i] * x[i];
        }
    }
    let tail: f32 = rest.iter().zip(&x[heads.len() * 8..]).map(|(g, x)| g * x).sum();
    lanes.iter().sum::<f32>() + tail
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_gradient, dot, maps, noise};
    use super::*;
    use crate::network::plan::{Bend, Reach};

    fn unit(channels: usize, kernel: usize, stride: usize, dilation: usize) -> Unit {
        Unit {
            convolution: String::new(),
            norm: String::new(),
            reach: Reach::Depthwise,
            inputs: channels,
            outputs: channels,
            kernel,
            stride,
            dilation,
            bend: Bend::Relu,
            epsilon: 1e-3,
            momentum: 0.1,
        }
    }

    #[test]
    fn it_is_the_sum_it_should_be_and_gradients_are_finite_differences() {
        for (kernel, stride, dilation, height, width) in
            [(3, 1, 1, 7, 19), (5, 2, 1, 9, 12), (5, 1, 2, 6, 11), (3, 2, 1, 1, 2), (5, 1, 2, 2, 1)]
        {
            let unit = unit(3, kernel, stride, dilation);
            let (x, w) = (maps([3, 2, height, width], 1), noise(3 * kernel * kernel, 2));
            let y = forward(&x, &w, &unit);
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
                                    let p = unit.padding() as isize;
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
            let g = maps([3, 2, y.height, y.width], 4);
            let value = |x: &[f32], w: &[f32]| {
                let x = Maps { values: x.to_vec(), ..maps([3, 2, height, width], 1) };
                dot(&forward(&x, w, &unit).values, &g.values)
            };
            check_gradient(&x.values, &by_input(&g, &w, &unit, [height, width]).values, |x| value(x, &w));
            check_gradient(&w, &by_weights(&g, &x, &unit), |w| value(&x.values, w));
        }
    }
}
