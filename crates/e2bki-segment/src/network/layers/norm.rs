//! Batch normalisation fused with the activation after it.

use rayon::prelude::*;

use super::{Tensor, sum, sum_of_products, vectorize};
use crate::network::plan::Activation;

const SIXTH: f32 = 1.0 / 6.0;

/// Value and derivative of an activation.
#[inline(always)]
fn activate(activation: Activation, z: f32) -> (f32, f32) {
    match activation {
        Activation::Identity => (z, 1.0),
        Activation::Relu => (z.max(0.0), if z > 0.0 { 1.0 } else { 0.0 }),
        Activation::HardSwish => {
            let gate = (z + 3.0).clamp(0.0, 6.0) * SIXTH;
            let slope = if z <= -3.0 {
                0.0
            } else if z >= 3.0 {
                1.0
            } else {
                (2.0 * z + 3.0) * SIXTH
            };
            (z * gate, slope)
        }
    }
}

/// Scale γ and shift β of every channel, and the activation.
#[derive(Clone, Copy)]
pub(crate) struct Norm<'a> {
    pub(crate) scale: &'a [f32],
    pub(crate) shift: &'a [f32],
    pub(crate) epsilon: f32,
    pub(crate) activation: Activation,
}

impl Norm<'_> {
    /// Normalised values of a channel, scaled, shifted and passed through the activation.
    #[inline(always)]
    fn row(self, channel: usize, row: &mut [f32]) {
        let (scale, shift) = (self.scale[channel], self.shift[channel]);
        // The activation is chosen once, not at every value.
        match self.activation {
            Activation::Identity => row.iter_mut().for_each(|y| *y = scale * *y + shift),
            Activation::Relu => row.iter_mut().for_each(|y| *y = activate(Activation::Relu, scale * *y + shift).0),
            Activation::HardSwish => {
                row.iter_mut().for_each(|y| *y = activate(Activation::HardSwish, scale * *y + shift).0)
            }
        }
    }
}

/// Saved for the backward pass.
#[derive(Debug)]
pub(crate) struct NormTape {
    /// Values with mean 0 and variance 1.
    pub(crate) values: Tensor,
    pub(crate) inverse_deviation: Vec<f32>,
}

/// Statistics of a batch.
pub(crate) struct Statistics {
    pub(crate) mean: Vec<f32>,
    /// With Bessel's correction, as in the running statistics.
    pub(crate) variance: Vec<f32>,
}

/// Forward pass with batch statistics.
pub(crate) fn forward(mut x: Tensor, norm: Norm<'_>) -> (Tensor, NormTape, Statistics) {
    let plane = x.plane();
    let mut y = x.like(x.channels);
    let count = plane as f64;
    let rows = x.values.par_chunks_mut(plane).zip(y.values.par_chunks_mut(plane)).enumerate();
    let of_channel = |(c, (x, y)): (usize, (&mut [f32], &mut [f32]))| {
        vectorize(
            #[inline(always)]
            || {
                let mean = sum(x, |v| v) / count;
                let variance = sum(x, |v| (v - mean) * (v - mean)) / count;
                let inverse = (1.0 / (variance + f64::from(norm.epsilon)).sqrt()) as f32;
                x.iter_mut().for_each(|x| *x = (*x - mean as f32) * inverse);
                y.copy_from_slice(x);
                norm.row(c, y);
                (mean as f32, (variance * count / (count - 1.0).max(1.0)) as f32, inverse)
            },
        )
    };
    let found: Vec<(f32, f32, f32)> = rows.map(of_channel).collect();
    let statistics =
        Statistics { mean: found.iter().map(|f| f.0).collect(), variance: found.iter().map(|f| f.1).collect() };
    (y, NormTape { values: x, inverse_deviation: found.iter().map(|f| f.2).collect() }, statistics)
}

/// Running statistics folded into one scale and shift per channel.
pub(crate) fn fold(norm: Norm<'_>, mean: &[f32], variance: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let scale: Vec<f32> = norm.scale.iter().zip(variance).map(|(s, v)| s / (v + norm.epsilon).sqrt()).collect();
    let shift = norm.shift.iter().zip(mean).zip(&scale).map(|((shift, mean), scale)| shift - mean * scale).collect();
    (scale, shift)
}

/// Gradients of x (in place of `gradient`), γ and β.
pub(crate) fn backward(gradient: &mut Tensor, normed: &NormTape, norm: Norm<'_>) -> (Vec<f32>, Vec<f32>) {
    let plane = gradient.plane();
    let rows = gradient.values.par_chunks_mut(plane).zip(normed.values.values.par_chunks(plane)).enumerate();
    let of_channel = |(c, (gradient, x)): (usize, (&mut [f32], &[f32]))| {
        vectorize(
            #[inline(always)]
            || {
                let (scale, shift) = (norm.scale[c], norm.shift[c]);
                let slope = |activation: Activation, x: f32| activate(activation, scale * x + shift).1;
                match norm.activation {
                    Activation::Identity => {}
                    Activation::Relu => gradient.iter_mut().zip(x).for_each(|(g, x)| *g *= slope(Activation::Relu, *x)),
                    Activation::HardSwish => {
                        gradient.iter_mut().zip(x).for_each(|(g, x)| *g *= slope(Activation::HardSwish, *x))
                    }
                }
                let (grad_scale, grad_shift) = (sum_of_products(gradient, x), sum(gradient, |g| g));
                let factor = scale * normed.inverse_deviation[c];
                let (mean_scale, mean_shift) = ((grad_scale / plane as f64) as f32, (grad_shift / plane as f64) as f32);
                gradient.iter_mut().zip(x).for_each(|(g, x)| *g = factor * (*g - mean_shift - x * mean_scale));
                (grad_scale as f32, grad_shift as f32)
            },
        )
    };
    rows.map(of_channel).unzip()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_gradient, dot, noise, tensor};
    use super::*;

    #[test]
    fn gradients_are_finite_differences_for_every_activation() {
        for activation in [Activation::Identity, Activation::Relu, Activation::HardSwish] {
            let (x, g) = (tensor([4, 2, 3, 5], 1), tensor([4, 2, 3, 5], 2));
            // Within the range in which hard swish has no kink.
            let scale: Vec<f32> = noise(4, 3).iter().map(|v| 0.8 + 0.3 * v).collect();
            let shift: Vec<f32> = noise(4, 4).iter().map(|v| 0.3 * v).collect();
            let value = |x: &[f32], scale: &[f32], shift: &[f32]| {
                let x = Tensor { values: x.to_vec(), ..tensor([4, 2, 3, 5], 1) };
                dot(&forward(x, Norm { scale, shift, epsilon: 1e-3, activation }).0.values, &g.values)
            };
            let norm = Norm { scale: &scale, shift: &shift, epsilon: 1e-3, activation };
            let (_, normed, _) = forward(x.clone(), norm);
            let mut grad_x = g.clone();
            let (grad_scale, grad_shift) = backward(&mut grad_x, &normed, norm);
            // The kink of ReLU makes differences of a whole batch inexact; its slope is tested by the other two.
            if activation != Activation::Relu {
                check_gradient(&x.values, &grad_x.values, |x| value(x, &scale, &shift));
                check_gradient(&scale, &grad_scale, |scale| value(&x.values, scale, &shift));
                check_gradient(&shift, &grad_shift, |shift| value(&x.values, &scale, shift));
            }
        }
    }

    #[test]
    fn running_statistics_of_the_batch_give_nearly_the_batch_s_own_result() {
        let x = tensor([3, 4, 9, 9], 7);
        let (scale, shift) = (vec![1.2; 3], vec![0.1; 3]);
        let norm = Norm { scale: &scale, shift: &shift, epsilon: 1e-3, activation: Activation::HardSwish };
        let (y, _, statistics) = forward(x.clone(), norm);
        let (scale, shift) = fold(norm, &statistics.mean, &statistics.variance);
        let folded_norm = Norm { scale: &scale, shift: &shift, ..norm };
        for (c, (y, x)) in y.values.chunks(4 * 81).zip(x.values.chunks(4 * 81)).enumerate() {
            let mut kept = x.to_vec();
            folded_norm.row(c, &mut kept);
            assert!(y.iter().zip(&kept).all(|(a, b)| (a - b).abs() < 0.01));
        }
    }

    #[test]
    fn activations_and_their_derivatives_agree() {
        for activation in [Activation::Identity, Activation::Relu, Activation::HardSwish] {
            for z in [-5.0_f32, -2.5, -1.0, 0.5, 2.0, 4.0] {
                let h = 1e-3;
                let slope = (activate(activation, z + h).0 - activate(activation, z - h).0) / (2.0 * h);
                assert!((activate(activation, z).1 - slope).abs() < 1e-3, "{activation:?} {z}");
            }
        }
        assert!((activate(Activation::HardSwish, 1.0).0 - 4.0 / 6.0).abs() < 1e-7);
    }
}
