//! Bilinear resizing between pixel centres, and its transpose.

use rayon::prelude::*;

use super::Tensor;

/// The two inputs of an output row or column, and the weight of the second.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) low: usize,
    pub(crate) high: usize,
    pub(crate) fraction: f32,
}

pub(crate) fn pairs(from: usize, to: usize) -> Vec<Pair> {
    let step = from as f64 / to as f64;
    let pair = |i: usize| {
        let place = ((i as f64 + 0.5) * step - 0.5).max(0.0);
        let low = (place as usize).min(from - 1);
        Pair { low, high: (low + 1).min(from - 1), fraction: (place - low as f64) as f32 }
    };
    (0..to).map(pair).collect()
}

/// Bilinear resize to rows and columns.
pub(crate) fn resize(x: &Tensor, [height, width]: [usize; 2]) -> Tensor {
    let mut y = Tensor::new(x.channels, x.images, height, width);
    let (down, across) = (pairs(x.height, height), pairs(x.width, width));
    y.values.par_chunks_mut(height * width).zip(x.values.par_chunks(x.cells())).for_each(|(y, image)| {
        let mut line = vec![0.0; x.width];
        for (out, pair) in y.chunks_exact_mut(width).zip(&down) {
            let (a, b) = (&image[pair.low * x.width..][..x.width], &image[pair.high * x.width..][..x.width]);
            for ((line, a), b) in line.iter_mut().zip(a).zip(b) {
                *line = a + pair.fraction * (b - a);
            }
            for (out, p) in out.iter_mut().zip(&across) {
                *out = line[p.low] + p.fraction * (line[p.high] - line[p.low]);
            }
        }
    });
    y
}

/// Gradient of x, which had these rows and columns.
pub(crate) fn backward(gradient: &Tensor, [height, width]: [usize; 2]) -> Tensor {
    let mut out = Tensor::new(gradient.channels, gradient.images, height, width);
    let (down, across) = (pairs(height, gradient.height), pairs(width, gradient.width));
    let images = out.values.par_chunks_mut(height * width).zip(gradient.values.par_chunks(gradient.cells()));
    images.for_each(|(out, g)| {
        let mut line = vec![0.0; width];
        for (g, pair) in g.chunks_exact(gradient.width).zip(&down) {
            line.fill(0.0);
            for (g, p) in g.iter().zip(&across) {
                line[p.low] += (1.0 - p.fraction) * g;
                line[p.high] += p.fraction * g;
            }
            for (x, v) in line.iter().enumerate() {
                out[pair.low * width + x] += (1.0 - pair.fraction) * v;
                out[pair.high * width + x] += pair.fraction * v;
            }
        }
    });
    out
}

#[cfg(test)]
mod tests {
    use super::super::tests::{dot, tensor};
    use super::*;

    #[test]
    fn a_plane_stays_a_plane_and_backward_is_the_transpose() {
        let mut x = Tensor::new(1, 1, 4, 6);
        for (i, v) in x.values.iter_mut().enumerate() {
            *v = 2.0 * (i % 6) as f32 + 5.0 * (i / 6) as f32;
        }
        let y = resize(&x, [8, 12]);
        for r in 1..7 {
            for c in 1..11 {
                let expected = 2.0 * ((c as f32 + 0.5) / 2.0 - 0.5) + 5.0 * ((r as f32 + 0.5) / 2.0 - 0.5);
                assert!((y.values[r * 12 + c] - expected).abs() < 1e-5);
            }
        }
        for (from, to) in [([3, 5], [7, 11]), ([4, 4], [8, 8]), ([1, 1], [3, 2]), ([6, 9], [2, 3])] {
            let (x, g) = (tensor([2, 2, from[0], from[1]], 1), tensor([2, 2, to[0], to[1]], 2));
            let there = dot(&resize(&x, to).values, &g.values);
            let back = dot(&x.values, &backward(&g, from).values);
            assert!((there - back).abs() < 1e-4, "{from:?} {to:?}: {there} {back}");
        }
    }
}
