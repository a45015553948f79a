//! Squeeze and excitation: channels × hard sigmoid(W₂ relu(W₁ mean + b₁) + b₂).

use super::Maps;
use super::pool::{linear, linear_backward, means, means_backward, scaled, scaled_backward};

/// The four parameters.
#[derive(Clone, Copy)]
pub(crate) struct Excite<'a> {
    pub(crate) first: (&'a [f32], &'a [f32]),
    pub(crate) second: (&'a [f32], &'a [f32]),
}

/// What the way back needs.
#[derive(Debug)]
pub(crate) struct Squeezed {
    x: Maps,
    means: Vec<f32>,
    hidden: Vec<f32>,
    /// Before the hard sigmoid.
    drive: Vec<f32>,
    factors: Vec<f32>,
}

/// Gradients of the four parameters, in the order of [`Excite`].
pub(crate) type Gradients = [Vec<f32>; 4];

fn hard_sigmoid(x: f32) -> f32 {
    (x + 3.0).clamp(0.0, 6.0) / 6.0
}

pub(crate) fn forward(x: Maps, excite: Excite<'_>) -> (Maps, Squeezed) {
    let means = means(&x);
    let mut hidden = linear(&means, x.images, excite.first.0, Some(excite.first.1));
    hidden.iter_mut().for_each(|h| *h = h.max(0.0));
    let drive = linear(&hidden, x.images, excite.second.0, Some(excite.second.1));
    let factors: Vec<f32> = drive.iter().map(|d| hard_sigmoid(*d)).collect();
    (scaled(&x, &factors), Squeezed { x, means, hidden, drive, factors })
}

/// Gradient by x (in place of `gradient`), and by the parameters.
pub(crate) fn backward(gradient: &mut Maps, squeezed: &Squeezed, excite: Excite<'_>) -> Gradients {
    let images = squeezed.x.images;
    let mut by_drive = scaled_backward(gradient, &squeezed.x, &squeezed.factors);
    for (g, drive) in by_drive.iter_mut().zip(&squeezed.drive) {
        *g *= if drive.abs() < 3.0 { 1.0 / 6.0 } else { 0.0 };
    }
    let (mut by_hidden, second, second_bias) = linear_backward(&by_drive, &squeezed.hidden, images, excite.second.0);
    for (g, hidden) in by_hidden.iter_mut().zip(&squeezed.hidden) {
        *g *= if *hidden > 0.0 { 1.0 } else { 0.0 };
    }
    let (by_means, first, first_bias) = linear_backward(&by_hidden, &squeezed.means, images, excite.first.0);
    means_backward(&by_means, gradient);
    [first, first_bias, second, second_bias]
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_gradient, dot, maps, noise};
    use super::*;

    #[test]
    fn gradients_are_finite_differences() {
        let shape = [4, 2, 3, 3];
        let (x, g) = (maps(shape, 1), maps(shape, 2));
        let p = [noise(8, 3), vec![0.6, 0.7], noise(8, 5), noise(4, 6)];
        let value = |x: &[f32], p: &[Vec<f32>; 4]| {
            let x = Maps { values: x.to_vec(), ..maps(shape, 1) };
            dot(&forward(x, Excite { first: (&p[0], &p[1]), second: (&p[2], &p[3]) }).0.values, &g.values)
        };
        let excite = Excite { first: (&p[0], &p[1]), second: (&p[2], &p[3]) };
        let (_, squeezed) = forward(x.clone(), excite);
        let mut by_x = g.clone();
        let found = backward(&mut by_x, &squeezed, excite);
        check_gradient(&x.values, &by_x.values, |x| value(x, &p));
        for i in 0..4 {
            check_gradient(&p[i], &found[i], |changed| {
                let mut p = p.clone();
                p[i] = changed.to_vec();
                value(&x.values, &p)
            });
        }
    }
}
