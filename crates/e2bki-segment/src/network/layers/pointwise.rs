//! 1×1 convolutions as matrix products: outputs × inputs times inputs × pixels.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, aview2};
use rayon::prelude::*;

use super::{Tensor, sum, vectorize};

/// Pixels per task: the deepest layers of one image have a few hundred. Independent of the number of threads, so that
/// results are too.
const PIXELS: usize = 192;
/// Rows per task.
const ROWS: usize = 16;

fn view(values: &[f32], rows: usize, columns: usize) -> ArrayView2<'_, f32> {
    // Shapes come from the layout; a wrong one would fail in the product.
    ArrayView2::from_shape((rows, columns), values).unwrap_or_else(|_| aview2::<f32, 1>(&[]))
}

/// y = W x + b.
pub(crate) fn forward(x: &Tensor, weights: &[f32], bias: Option<&[f32]>) -> Tensor {
    let outputs = weights.len() / x.channels;
    let mut y = x.like(outputs);
    if let Some(bias) = bias {
        let plane = y.plane();
        y.values.chunks_exact_mut(plane).zip(bias).for_each(|(plane, b)| plane.fill(*b));
    }
    let w = view(weights, outputs, x.channels);
    product(w, x, &mut y, if bias.is_some() { 1.0 } else { 0.0 });
    y
}

/// Gradient of x: Wᵀ g.
pub(crate) fn grad_input(gradient: &Tensor, weights: &[f32]) -> Tensor {
    let inputs = weights.len() / gradient.channels;
    let mut out = gradient.like(inputs);
    product(view(weights, gradient.channels, inputs).reversed_axes(), gradient, &mut out, 0.0);
    out
}

fn product(w: ArrayView2<'_, f32>, x: &Tensor, y: &mut Tensor, keep: f32) {
    let (channels, plane) = (y.channels, y.plane());
    let x = view(&x.values, x.channels, plane);
    let Ok(mut y) = ArrayViewMut2::from_shape((channels, plane), &mut y.values) else { return };
    let shares: Vec<_> = y.axis_chunks_iter_mut(Axis(1), PIXELS).zip(x.axis_chunks_iter(Axis(1), PIXELS)).collect();
    shares.into_par_iter().for_each(|(mut y, x)| {
        general_mat_mul(1.0, &w, &x, keep, &mut y);
    });
}

/// Gradient of W: g xᵀ.
pub(crate) fn grad_weights(gradient: &Tensor, x: &Tensor) -> Vec<f32> {
    let (outputs, inputs, plane) = (gradient.channels, x.channels, x.plane());
    let mut out = vec![0.0; outputs * inputs];
    let xt = view(&x.values, inputs, plane);
    let shares = out.par_chunks_mut(ROWS * inputs).zip(gradient.values.par_chunks(ROWS * plane));
    shares.for_each(|(out, g)| {
        let rows = out.len() / inputs;
        if let Ok(mut out) = ArrayViewMut2::from_shape((rows, inputs), out) {
            general_mat_mul(1.0, &view(g, rows, plane), &xt.t(), 0.0, &mut out);
        }
    });
    out
}

/// Gradient of b.
pub(crate) fn grad_bias(gradient: &Tensor) -> Vec<f32> {
    let of_channel = |plane: &[f32]| vectorize(|| sum(plane, |g| g) as f32);
    gradient.values.par_chunks(gradient.plane()).map(of_channel).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_gradient, dot, noise, tensor};
    use super::*;

    #[test]
    fn it_is_the_sum_it_should_be() {
        let (x, w, b) = (tensor([5, 2, 3, 4], 1), noise(15, 2), noise(3, 3));
        let y = forward(&x, &w, Some(&b));
        for o in 0..3 {
            for p in 0..24 {
                let sum: f32 = b[o] + (0..5).map(|i| w[o * 5 + i] * x.values[i * 24 + p]).sum::<f32>();
                assert!((y.values[o * 24 + p] - sum).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn gradients_are_finite_differences() {
        let (x, w, b, g) = (tensor([5, 2, 40, 60], 1), noise(85, 2), noise(17, 3), tensor([17, 2, 40, 60], 4));
        let value = |x: &[f32], w: &[f32], b: &[f32]| {
            let x = Tensor { values: x.to_vec(), ..tensor([5, 2, 40, 60], 1) };
            dot(&forward(&x, w, Some(b)).values, &g.values)
        };
        check_gradient(&x.values, &grad_input(&g, &w).values, |x| value(x, &w, &b));
        check_gradient(&w, &grad_weights(&g, &x), |w| value(&x.values, w, &b));
        check_gradient(&b, &grad_bias(&g), |b| value(&x.values, &w, b));
    }
}
