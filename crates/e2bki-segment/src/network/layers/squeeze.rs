//! Squeeze-and-excitation: channels × hard sigmoid(W₂ relu(W₁ mean + b₁) + b₂).

use super::Tensor;
use super::pool::{
    global_average, global_average_backward, linear, linear_backward, scale_channels, scale_channels_backward,
};

/// The four parameters.
#[derive(Clone, Copy)]
pub(crate) struct SqueezeWeights<'a> {
    pub(crate) first: (&'a [f32], &'a [f32]),
    pub(crate) second: (&'a [f32], &'a [f32]),
}

/// Saved for the backward pass.
#[derive(Debug)]
pub(crate) struct SqueezeTape {
    x: Tensor,
    means: Vec<f32>,
    hidden: Vec<f32>,
    /// Before the hard sigmoid.
    pre_activation: Vec<f32>,
    factors: Vec<f32>,
}

/// Gradients of the four parameters, in the order of [`SqueezeWeights`].
pub(crate) type Gradients = [Vec<f32>; 4];

fn hard_sigmoid(x: f32) -> f32 {
    (x + 3.0).clamp(0.0, 6.0) / 6.0
}

pub(crate) fn forward(x: Tensor, squeeze_weights: SqueezeWeights<'_>) -> (Tensor, SqueezeTape) {
    let means = global_average(&x);
    let mut hidden = linear(&means, x.images, squeeze_weights.first.0, Some(squeeze_weights.first.1));
    hidden.iter_mut().for_each(|h| *h = h.max(0.0));
    let pre_activation = linear(&hidden, x.images, squeeze_weights.second.0, Some(squeeze_weights.second.1));
    let factors: Vec<f32> = pre_activation.iter().map(|d| hard_sigmoid(*d)).collect();
    (scale_channels(&x, &factors), SqueezeTape { x, means, hidden, pre_activation, factors })
}

/// Gradients of x (in place of `gradient`) and of the parameters.
pub(crate) fn backward(
    gradient: &mut Tensor,
    squeezed: &SqueezeTape,
    squeeze_weights: SqueezeWeights<'_>,
) -> Gradients {
    let images = squeezed.x.images;
    let mut by_drive = scale_channels_backward(gradient, &squeezed.x, &squeezed.factors);
    for (g, pre_activation) in by_drive.iter_mut().zip(&squeezed.pre_activation) {
        *g *= if pre_activation.abs() < 3.0 { 1.0 / 6.0 } else { 0.0 };
    }
    let (mut grad_hidden, second, second_bias) =
        linear_backward(&by_drive, &squeezed.hidden, images, squeeze_weights.second.0);
    for (g, hidden) in grad_hidden.iter_mut().zip(&squeezed.hidden) {
        *g *= if *hidden > 0.0 { 1.0 } else { 0.0 };
    }
    let (grad_means, first, first_bias) =
        linear_backward(&grad_hidden, &squeezed.means, images, squeeze_weights.first.0);
    global_average_backward(&grad_means, gradient);
    [first, first_bias, second, second_bias]
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_gradient, dot, noise, tensor};
    use super::*;

    #[test]
    fn gradients_are_finite_differences() {
        let shape = [4, 2, 3, 3];
        let (x, g) = (tensor(shape, 1), tensor(shape, 2));
        let p = [noise(8, 3), vec![0.6, 0.7], noise(8, 5), noise(4, 6)];
        let value = |x: &[f32], p: &[Vec<f32>; 4]| {
            let x = Tensor { values: x.to_vec(), ..tensor(shape, 1) };
            dot(&forward(x, SqueezeWeights { first: (&p[0], &p[1]), second: (&p[2], &p[3]) }).0.values, &g.values)
        };
        let squeeze_weights = SqueezeWeights { first: (&p[0], &p[1]), second: (&p[2], &p[3]) };
        let (_, squeezed) = forward(x.clone(), squeeze_weights);
        let mut grad_x = g.clone();
        let found = backward(&mut grad_x, &squeezed, squeeze_weights);
        check_gradient(&x.values, &grad_x.values, |x| value(x, &p));
        for i in 0..4 {
            check_gradient(&p[i], &found[i], |changed| {
                let mut p = p.clone();
                p[i] = changed.to_vec();
                value(&x.values, &p)
            });
        }
    }
}
