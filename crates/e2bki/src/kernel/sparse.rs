//! The sparse kernel k′(d, ℓ) in f64, as the paper writes it, and the quadratic one: the references for the batched form.

use std::f64::consts::TAU;

/// k′(d, ℓ) = (2 + cos 2πρ)(1 − ρ)/3 + sin(2πρ)/2π with ρ = d/ℓ; 1 at d = 0, 0 from d = ℓ on.
///
/// ```
/// let reach = 0.2 * 0.75 * std::f64::consts::E;
/// assert!((e2bki::kernel::sparse_kernel(0.1, reach) - 0.6698).abs() < 1e-4);
/// assert_eq!(e2bki::kernel::sparse_kernel(0.5, reach), 0.0);
/// ```
pub fn sparse_kernel(distance: f64, length: f64) -> f64 {
    let rho = distance / length;
    if rho < 1.0 {
        let angle = TAU * rho;
        ((2.0 + angle.cos()) * (1.0 - rho) / 3.0 + angle.sin() / TAU).max(0.0)
    } else {
        0.0
    }
}

/// 1 − (d/ℓ)²; 0 from d = ℓ on.
pub fn quadratic_kernel(distance: f64, length: f64) -> f64 {
    let rho = distance / length;
    if rho < 1.0 { 1.0 - rho * rho } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn values_at_the_reach_of_a_certain_primitive_are_the_published_ones() {
        let config = Config::preset("paper-urban").unwrap();
        let reach = config.reach(0.0);
        assert!((reach - 0.407_74).abs() < 5e-6);
        assert!((config.reach(1.0) - 0.150).abs() < 1e-12);
        for (d, k) in [(0.05, 0.9056), (0.1, 0.6698), (0.15, 0.3967), (0.2, 0.1796), (0.3, 0.0098), (0.407_75, 0.0)] {
            assert!((sparse_kernel(d, reach) - k).abs() < 6e-5, "k({d}) = {}", sparse_kernel(d, reach));
        }
        assert_eq!(sparse_kernel(0.0, reach), 1.0);
    }
}
