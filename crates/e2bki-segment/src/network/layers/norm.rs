//! Batch normalisation together with the bend after it.

use rayon::prelude::*;

use super::{Maps, sum, sum_of_products, wide};
use crate::network::plan::Bend;

const SIXTH: f32 = 1.0 / 6.0;

/// Value and slope of a bend.
#[inline(always)]
fn bent(bend: Bend, z: f32) -> (f32, f32) {
    match bend {
        Bend::Straight => (z, 1.0),
        Bend::Relu => (z.max(0.0), if z > 0.0 { 1.0 } else { 0.0 }),
        Bend::HardSwish => {
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

/// Scale γ, shift β and statistics of every channel.
#[derive(Clone, Copy)]
pub(crate) struct Norm<'a> {
    pub(crate) scale: &'a [f32],
    pub(crate) shift: &'a [f32],
    pub(crate) epsilon: f32,
    pub(crate) bend: Bend,
}

impl Norm<'_> {
    /// Normalised values of a channel, scaled, shifted and bent.
    #[inline(always)]
    fn row(self, channel: usize, row: &mut [f32]) {
        let (scale, shift) = (self.scale[channel], self.shift[channel]);
        // The bend is chosen once, not at every value.
        match self.bend {
            Bend::Straight => row.iter_mut().for_each(|y| *y = scale * *y + shift),
            Bend::Relu => row.iter_mut().for_each(|y| *y = bent(Bend::Relu, scale * *y + shift).0),
            Bend::HardSwish => row.iter_mut().for_each(|y| *y = bent(Bend::HardSwish, scale * *y + shift).0),
        }
    }
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
        wide(
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
    (y, Normed { values: x, inverse_deviation: found.iter().map(|f| f.2).collect() }, statistics)
}

/// Scale and shift of every channel that normalise by kept statistics.
pub(crate) fn by_kept(norm: Norm<'_>, mean: &[f32], variance: &[f32]) -> (Vec<f32>, Vec<f32>) {
    let scale: Vec<f32> = norm.scale.iter().zip(variance).map(|(s, v)| s / (v + norm.epsilon).sqrt()).collect();
    let shift = norm.shift.iter().zip(mean).zip(&scale).map(|((shift, mean), scale)| shift - mean * scale).collect();
    (scale, shift)
}

/// Gradients by x (in place of `gradient`), by γ and by β.
pub(crate) fn backward(gradient: &mut Maps, normed: &Normed, norm: Norm<'_>) -> (Vec<f32>, Vec<f32>) {
    let plane = gradient.plane();
    let rows = gradient.values.par_chunks_mut(plane).zip(normed.values.values.par_chunks(plane)).enumerate();
    let of_channel = |(c, (gradient, x)): (usize, (&mut [f32], &[f32]))| {
        wide(
            #[inline(always)]
            || {
                let (scale, shift) = (norm.scale[c], norm.shift[c]);
                let slope = |bend: Bend, x: f32| bent(bend, scale * x + shift).1;
                match norm.bend {
                    Bend::Straight => {}
                    Bend::Relu => gradient.iter_mut().zip(x).for_each(|(g, x)| *g *= slope(Bend::Relu, *x)),
                    Bend::HardSwish => gradient.iter_mut().zip(x).for_each(|(g, x)| *g *= slope(Bend::HardSwish, *x)),
                }
                let (by_scale, by_shift) = (sum_of_products(gradient, x), sum(gradient, |g| g));
                let factor = scale * normed.inverse_deviation[c];
                let (of_scale, of_shift) = ((by_scale / plane as f64) as f32, (by_shift / plane as f64) as f32);
                gradient.iter_mut().zip(x).for_each(|(g, x)| *g = factor * (*g - of_shift - x * of_scale));
                (by_scale as f32, by_shift as f32)
            },
        )
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
        let (scale, shift) = by_kept(norm, &statistics.mean, &statistics.variance);
        let kept_norm = Norm { scale: &scale, shift: &shift, ..norm };
        for (c, (y, x)) in y.values.chunks(4 * 81).zip(x.values.chunks(4 * 81)).enumerate() {
            let mut kept = x.to_vec();
            kept_norm.row(c, &mut kept);
            assert!(y.iter().zip(&kept).all(|(a, b)| (a - b).abs() < 0.01));
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
        assert!((bent(Bend::HardSwish, 1.0).0 - 4.0 / 6.0).abs() < 1e-7);
    }
}
