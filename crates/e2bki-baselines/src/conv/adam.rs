//! The Adam optimiser for a handful of parameters.

/// State of the optimiser.
#[derive(Debug, Clone)]
pub(super) struct Adam {
    step: i32,
    mean: Vec<f64>,
    square: Vec<f64>,
}

impl Adam {
    const BETAS: [f64; 2] = [0.9, 0.999];
    const EPSILON: f64 = 1e-8;

    pub(super) fn new(parameters: usize) -> Self {
        Self { step: 0, mean: vec![0.0; parameters], square: vec![0.0; parameters] }
    }

    /// Moves the parameters against the gradient.
    pub(super) fn step<'a>(&mut self, values: impl Iterator<Item = &'a mut f64>, gradient: &[f64], rate: f64) {
        self.step += 1;
        let [first, second] = Self::BETAS;
        let (mean_bias, square_bias) = (1.0 - first.powi(self.step), 1.0 - second.powi(self.step));
        for (i, (value, slope)) in values.zip(gradient).enumerate() {
            self.mean[i] = first * self.mean[i] + (1.0 - first) * slope;
            self.square[i] = second * self.square[i] + (1.0 - second) * slope * slope;
            let size = (self.square[i] / square_bias).sqrt() + Self::EPSILON;
            *value -= rate * (self.mean[i] / mean_bias) / size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_has_the_size_of_the_rate_and_a_parabola_is_descended() {
        let mut adam = Adam::new(2);
        let mut x = [3.0, -1.0];
        adam.step(x.iter_mut(), &[1e-4, -20.0], 0.1);
        assert!((x[0] - 2.9).abs() < 1e-4 && (x[1] + 0.9).abs() < 1e-6);
        for _ in 0..2000 {
            let gradient = [2.0 * x[0], 2.0 * (x[1] - 1.0)];
            adam.step(x.iter_mut(), &gradient, 0.01);
        }
        assert!(x[0].abs() < 1e-3 && (x[1] - 1.0).abs() < 1e-3, "{x:?}");
    }
}
