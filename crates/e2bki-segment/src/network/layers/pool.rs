//! Global average pooling, channel-wise scaling and linear layers. Small matrices are channels × images.

use rayon::prelude::*;

use super::{Tensor, dot, sum, sum_of_products, vectorize};

/// Global average pooling: the mean of every channel of every image.
pub(crate) fn global_average(x: &Tensor) -> Vec<f32> {
    let cells = x.cells();
    let mean = |image: &[f32]| vectorize(|| (sum(image, |v| v) / cells as f64) as f32);
    x.values.par_chunks(cells).map(mean).collect()
}

/// Backward pass of [`global_average`], added to the gradient of x.
pub(crate) fn global_average_backward(gradient: &[f32], grad_x: &mut Tensor) {
    let cells = grad_x.cells();
    grad_x.values.par_chunks_mut(cells).zip(gradient).for_each(|(x, g)| {
        let share = g / cells as f32;
        x.iter_mut().for_each(|x| *x += share);
    });
}

/// Every channel of every image times a factor.
pub(crate) fn scale_channels(x: &Tensor, factors: &[f32]) -> Tensor {
    let mut y = x.like(x.channels);
    let cells = x.cells();
    y.values.par_chunks_mut(cells).zip(x.values.par_chunks(cells)).zip(factors).for_each(|((y, x), f)| {
        vectorize(|| y.iter_mut().zip(x).for_each(|(y, x)| *y = f * x));
    });
    y
}

/// Gradients of [`scale_channels`]: of x (in place of `gradient`) and of the factors.
pub(crate) fn scale_channels_backward(gradient: &mut Tensor, x: &Tensor, factors: &[f32]) -> Vec<f32> {
    let cells = x.cells();
    let images = gradient.values.par_chunks_mut(cells).zip(x.values.par_chunks(cells)).zip(factors);
    let of_image = |((g, x), f): ((&mut [f32], &[f32]), &f32)| {
        vectorize(|| {
            let grad_factor = sum_of_products(g, x);
            g.iter_mut().for_each(|g| *g *= f);
            grad_factor as f32
        })
    };
    images.map(of_image).collect()
}

/// y = W x + b of channels × images.
pub(crate) fn linear(x: &[f32], images: usize, weights: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
    let inputs = x.len() / images;
    let rows = weights.par_chunks(inputs).enumerate();
    if images == 1 {
        let one = |(o, w): (usize, &[f32])| bias.map_or(0.0, |bias| bias[o]) + vectorize(|| dot(w, x));
        return rows.map(one).collect();
    }
    let row = |(o, w): (usize, &[f32])| -> Vec<f32> {
        let start = bias.map_or(0.0, |bias| bias[o]);
        (0..images).map(|n| start + w.iter().enumerate().map(|(i, w)| w * x[i * images + n]).sum::<f32>()).collect()
    };
    rows.flat_map_iter(row).collect()
}

/// Gradients of [`linear`]: of x, W and b.
pub(crate) fn linear_backward(g: &[f32], x: &[f32], images: usize, weights: &[f32]) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let (inputs, outputs) = (x.len() / images, g.len() / images);
    let mut grad_x = vec![0.0; x.len()];
    grad_x.par_chunks_mut(images).enumerate().for_each(|(i, grad_x)| {
        for o in 0..outputs {
            for (n, grad_x) in grad_x.iter_mut().enumerate() {
                *grad_x += weights[o * inputs + i] * g[o * images + n];
            }
        }
    });
    let product = |at: usize| {
        let (o, i) = (at / inputs, at % inputs);
        (0..images).map(|n| g[o * images + n] * x[i * images + n]).sum::<f32>()
    };
    let grad_weights = (0..outputs * inputs).into_par_iter().map(product).collect();
    (grad_x, grad_weights, g.chunks_exact(images).map(|g| g.iter().sum()).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_gradient, dot, noise, tensor};
    use super::*;

    #[test]
    fn gradients_are_finite_differences() {
        let (x, factors, g) = (tensor([3, 2, 2, 4], 1), noise(6, 2), tensor([3, 2, 2, 4], 3));
        let with = |values: &[f32]| Tensor { values: values.to_vec(), ..tensor([3, 2, 2, 4], 1) };
        let mut grad_x = g.clone();
        let grad_factors = scale_channels_backward(&mut grad_x, &x, &factors);
        check_gradient(&x.values, &grad_x.values, |x| dot(&scale_channels(&with(x), &factors).values, &g.values));
        check_gradient(&factors, &grad_factors, |f| dot(&scale_channels(&x, f).values, &g.values));
        let mut grad_x = x.like(3);
        global_average_backward(&factors, &mut grad_x);
        check_gradient(&x.values, &grad_x.values, |x| dot(&global_average(&with(x)), &factors));
        let (x, w, b, g) = (noise(10, 5), noise(15, 6), noise(3, 7), noise(6, 8));
        let (grad_x, grad_w, grad_b) = linear_backward(&g, &x, 2, &w);
        check_gradient(&x, &grad_x, |x| dot(&linear(x, 2, &w, Some(&b)), &g));
        check_gradient(&w, &grad_w, |w| dot(&linear(&x, 2, w, Some(&b)), &g));
        check_gradient(&b, &grad_b, |b| dot(&linear(&x, 2, &w, Some(b)), &g));
    }
}
