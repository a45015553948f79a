//! Batch normalisation together with the bend after it.

use rayon::prelude::*;

use super::Maps;
use crate::network::plan::Bend;

/// Value and slope of a bend.
pub(crate) fn bent(bend: Bend, z: f32) -> (f32, f32) {
    match bend {
        Bend::Straight => (z, 1.0),
        Bend::Relu => (z.max(0.0), if z > 0.0 { 1.0 } else { 0.0 }),
        Bend::HardSwish => {
            let gate = (z + 3.0).clamp(0.0, 6.0) / 6.0;
            let slope = if z <= -3.0 {
                0.0
            } else if z >= 3.0 {
                1.0
            } else {
                (2.0 * z + 3.0) / 6.0
            };
            (z * gate, slope)
        }
    }
}

/// Scale γ, shift β and statistics of every channel.
#[derive(Clone, Copy)]
pub(crate) struct Norm<'a> {
    pub(crate) scale: &'a [f32],
    pub(crate) shift: &'a [f32],
    pub(crate) epsilon: f32,
    pub(crate) bend: Bend,
}

/// What the way back needs.
#[derive(Debug)]
pub(crate) struct Normed {
    /// Values with mean 0 and variance 1.
    pub(crate) values: Maps,
    pub(crate) inverse_deviation: Vec<f32>,
}

/// Statistics of a batch.
pub(crate) struct Statistics {
    pub(crate) mean: Vec<f32>,
    /// With Bessel's correction, as it is kept.
    pub(crate) variance: Vec<f32>,
}

/// Normalises by the batch's own statistics.
pub(crate) fn by_batch(mut x: Maps, norm: Norm<'_>) -> (Maps, Normed, Statistics) {
    let plane = x.plane();
    let mut y = x.like(x.channels);
    let count = plane as f64;
    let rows = x.values.par_chunks_mut(plane).zip(y.values.par_chunks_mut(plane)).enumerate();
    let of_channel = |(c, (x, y)): (usize, (&mut [f32], &mut [f32]))| {
        let mean = x.iter().map(|v| f64::from(*v)).sum::<f64>() / count;
        let variance = x.iter().map(|v| (f64::from(*v) - mean) * (f64::from(*v) - mean)).sum::<f64>() / count;
        let inverse = (1.0 / (variance + f64::from(norm.epsilon)).sqrt()) as f32;
        for (x, y) in x.iter_mut().zip(y) {
            *x = (*x - mean as f32) * inverse;
            *y = bent(norm.bend, norm.scale[c] * *x + norm.shift[c]).0;
        }
        (mean as f32, (variance * count / (count - 1.0).max(1.0)) as f32, inverse)
    };
    let found: Vec<(f32, f32, f32)> = rows.map(of_channel).collect();
    let statistics =
        Statistics { mean: found.iter().map(|f| f.0).collect(), variance: found.iter().map(|f| f.1).collect() };
    (y, Normed { values: x, inverse_deviation: found.iter().map(|f| f.2).collect() }, statistics)
}

/// Normalises by kept statistics.
pub(crate) fn by_kept(mut x: Maps, norm: Norm<'_>, mean: &[f32], variance: &[f32]) -> Maps {
    let plane = x.plane();
    x.values.par_chunks_mut(plane).enumerate().for_each(|(c, x)| {
        let scale = norm.scale[c] / (variance[c] + norm.epsilon).sqrt();
        let shift = norm.shift[c] - mean[c] * scale;
        x.iter_mut().for_each(|x| *x = bent(norm.bend, scale * *x + shift).0);
    });
    x
}

/// Gradients by x (in place of `gradient`), by γ and by β.
pub(crate) fn backward(gradient: &mut Maps, normed: &Normed, norm: Norm<'_>) -> (Vec<f32>, Vec<f32>) {
    let plane = gradient.plane();
    let rows = gradient.values.par_chunks_mut(plane).zip(normed.values.values.par_chunks(plane)).enumerate();
    let of_channel = |(c, (gradient, x)): (usize, (&mut [f32], &[f32]))| {
        let (mut by_scale, mut by_shift) = (0.0_f64, 0.0_f64);
        for (g, x) in gradient.iter_mut().zip(x) {
            *g *= bent(norm.bend, norm.scale[c] * x + norm.shift[c]).1;
            by_scale += f64::from(*g * x);
            by_shift += f64::from(*g);
        }
        let factor = norm.scale[c] * normed.inverse_deviation[c];
        let (of_scale, of_shift) = ((by_scale / plane as f64) as f32, (by_shift / plane as f64) as f32);
        for (g, x) in gradient.iter_mut().zip(x) {
            *g = factor * (*g - of_shift - x * of_scale);
        }
        (by_scale as f32, by_shift as f32)
    };
    rows.map(of_channel).unzip()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check_gradient, dot, maps, noise};
    use super::*;

    #[test]
    fn gradients_are_finite_differences_for_every_bend() {
        for bend in [Bend::Straight, Bend::Relu, Bend::HardSwish] {
            let (x, g) = (maps([4, 2, 3, 5], 1), maps([4, 2, 3, 5], 2));
            // Within the range in which hard swish has no kink.
            let scale: Vec<f32> = noise(4, 3).iter().map(|v| 0.8 + 0.3 * v).collect();
            let shift: Vec<f32> = noise(4, 4).iter().map(|v| 0.3 * v).collect();
            let value = |x: &[f32], scale: &[f32], shift: &[f32]| {
                let x = Maps { values: x.to_vec(), ..maps([4, 2, 3, 5], 1) };
                dot(&by_batch(x, Norm { scale, shift, epsilon: 1e-3, bend }).0.values, &g.values)
            };
            let norm = Norm { scale: &scale, shift: &shift, epsilon: 1e-3, bend };
            let (_, normed, _) = by_batch(x.clone(), norm);
            let mut by_x = g.clone();
            let (by_scale, by_shift) = backward(&mut by_x, &normed, norm);
            // The kink of ReLU makes differences of a whole batch inexact; its slope is tested by the other two.
            if bend != Bend::Relu {
                check_gradient(&x.values, &by_x.values, |x| value(x, &scale, &shift));
                check_gradient(&scale, &by_scale, |scale| value(&x.values, scale, &shift));
                check_gradient(&shift, &by_shift, |shift| value(&x.values, &scale, shift));
            }
        }
    }

    #[test]
    fn kept_statistics_of_the_batch_give_nearly_the_batch_s_own_result() {
        let x = maps([3, 4, 9, 9], 7);
        let (scale, shift) = (vec![1.2; 3], vec![0.1; 3]);
        let norm = Norm { scale: &scale, shift: &shift, epsilon: 1e-3, bend: Bend::HardSwish };
        let (y, _, statistics) = by_batch(x.clone(), norm);
        let kept = by_kept(x, norm, &statistics.mean, &statistics.variance);
        for (a, b) in y.values.iter().zip(&kept.values) {
            assert!((a - b).abs() < 0.01);
        }
    }

    #[test]
    fn bends_and_their_slopes_agree() {
        for bend in [Bend::Straight, Bend::Relu, Bend::HardSwish] {
            for z in [-5.0_f32, -2.5, -1.0, 0.5, 2.0, 4.0] {
                let h = 1e-3;
                let slope = (bent(bend, z + h).0 - bent(bend, z - h).0) / (2.0 * h);
                assert!((bent(bend, z).1 - slope).abs() < 1e-3, "{bend:?} {z}");
            }
        }
        assert_eq!(bent(Bend::HardSwish, 1.0).0, 4.0 / 6.0);
    }
}
