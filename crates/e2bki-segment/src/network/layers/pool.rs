//! Means of channels over each image, and channels scaled image by image. Small matrices are channels × images.

use rayon::prelude::*;

use super::{Maps, dot, sum, sum_of_products, wide};

/// Mean of every channel in every image.
pub(crate) fn means(x: &Maps) -> Vec<f32> {
    let cells = x.cells();
    let mean = |image: &[f32]| wide(|| (sum(image, |v| v) / cells as f64) as f32);
    x.values.par_chunks(cells).map(mean).collect()
}

/// Adds the gradient of [`means`] to that of x.
pub(crate) fn means_backward(gradient: &[f32], by_x: &mut Maps) {
    let cells = by_x.cells();
    by_x.values.par_chunks_mut(cells).zip(gradient).for_each(|(x, g)| {
        let share = g / cells as f32;
        x.iter_mut().for_each(|x| *x += share);
    });
}

/// Every channel of every image times a factor.
pub(crate) fn scaled(x: &Maps, factors: &[f32]) -> Maps {
    let mut y = x.like(x.channels);
    let cells = x.cells();
    y.values.par_chunks_mut(cells).zip(x.values.par_chunks(cells)).zip(factors).for_each(|((y, x), f)| {
        wide(|| y.iter_mut().zip(x).for_each(|(y, x)| *y = f * x));
    });
    y
}

/// Gradients of [`scaled`] by x (in place of `gradient`) and by the factors.
pub(crate) fn scaled_backward(gradient: &mut Maps, x: &Maps, factors: &[f32]) -> Vec<f32> {
    let cells = x.cells();
    let images = gradient.values.par_chunks_mut(cells).zip(x.values.par_chunks(cells)).zip(factors);
    let of_image = |((g, x), f): ((&mut [f32], &[f32]), &f32)| {
        wide(|| {
            let by_factor = sum_of_products(g, x);
            g.iter_mut().for_each(|g| *g *= f);
            by_factor as f32
        })
    };
    images.map(of_image).collect()
}

/// y = W x + b of channels × images.
pub(crate) fn linear(x: &[f32], images: usize, weights: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
    let inputs = x.len() / images;
    let rows = weights.par_chunks(inputs).enumerate();
    if images == 1 {
        let one = |(o, w): (usize, &[f32])| bias.map_or(0.0, |bias| bias[o]) + wide(|| dot(w, x));
        return rows.map(one).collect();
    }
    let row = |(o, w): (usize, &[f32])| -> Vec<f32> {
        let start = bias.map_or(0.0, |bias| bias[o]);
        (0..images).map(|n| start + w.iter().enumerate().map(|(i, w)| w * x[i * images + n]).sum::<f32>()).collect()
    };
    rows.flat_map_iter(row).collect()
}

/// Gradients of [`linear`] by x, by W and by b.
pub(crate) fn linear_backward(g: &[f32], x: &[f32], images: usize, weights: &[f32]) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let (inputs, outputs) = (x.len() / images, g.len() / images);
    let mut by_x = vec![0.0; x.len()];
    by_x.par_chunks_mut(images).enumerate().for_each(|(i, by_x)| {
        for o in 0..outputs {
            for (n, by_x) in by_x.iter_mut().enumerate() {
                *by_x += weights[o * inputs + i] * g[o * images + n];
            }
        }
    });
    let product = |at: usize| {
        let (o, i) = (at / inputs, at % inputs);
        (0..images).map(|n| g[o * images + n] * x[i * images + n]).sum::<f32>()
    };
    let by_weights = (0..outputs * inputs).into_par_iter().map(product).collect();
    (by_x, by_weights, g.chunks_exact(images).map(|g| g.iter().sum()).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_gradient, dot, maps, noise};
    use super::*;

    #[test]
    fn gradients_are_finite_differences() {
        let (x, factors, g) = (maps([3, 2, 2, 4], 1), noise(6, 2), maps([3, 2, 2, 4], 3));
        let with = |values: &[f32]| Maps { values: values.to_vec(), ..maps([3, 2, 2, 4], 1) };
        let mut by_x = g.clone();
        let by_factors = scaled_backward(&mut by_x, &x, &factors);
        check_gradient(&x.values, &by_x.values, |x| dot(&scaled(&with(x), &factors).values, &g.values));
        check_gradient(&factors, &by_factors, |f| dot(&scaled(&x, f).values, &g.values));
        let mut by_x = x.like(3);
        means_backward(&factors, &mut by_x);
        check_gradient(&x.values, &by_x.values, |x| dot(&means(&with(x)), &factors));
        let (x, w, b, g) = (noise(10, 5), noise(15, 6), noise(3, 7), noise(6, 8));
        let (by_x, by_w, by_b) = linear_backward(&g, &x, 2, &w);
        check_gradient(&x, &by_x, |x| dot(&linear(x, 2, &w, Some(&b)), &g));
        check_gradient(&w, &by_w, |w| dot(&linear(&x, 2, w, Some(&b)), &g));
        check_gradient(&b, &by_b, |b| dot(&linear(&x, 2, &w, Some(b)), &g));
    }
}
