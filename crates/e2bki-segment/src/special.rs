//! The gamma function's logarithm and its first two derivatives, for positive arguments, from `+ − × ÷` and
//! [`e2bki::maths::ln`] only: the argument is shifted to 9 or more, where the asymptotic series has converged.

use e2bki::maths::ln;

/// From here on the series is exact to double precision.
const SERIES_FROM: f64 = 9.0;
/// ½ ln 2π.
const HALF_LN_TAU: f64 = 0.918_938_533_204_672_8;

/// lnΓ(x), ψ(x) = d lnΓ/dx and ψ′(x): computed together, as they share most of the work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gamma {
    /// lnΓ(x).
    pub ln: f64,
    /// ψ(x), the digamma function.
    pub digamma: f64,
    /// ψ′(x), the trigamma function.
    pub trigamma: f64,
}

/// All three at `x` > 0; NaN elsewhere.
pub fn gamma(x: f64) -> Gamma {
    if x.is_nan() || x <= 0.0 {
        return Gamma { ln: f64::NAN, digamma: f64::NAN, trigamma: f64::NAN };
    }
    // Γ(x) = Γ(x + n) / (x (x+1) … (x+n−1)).
    let (mut product, mut inverses, mut squares) = (1.0, 0.0, 0.0);
    let mut z = x;
    while z < SERIES_FROM {
        let inverse = 1.0 / z;
        product *= z;
        inverses += inverse;
        squares += inverse * inverse;
        z += 1.0;
    }
    let (r, ln_z) = (1.0 / z, ln(z));
    let r2 = r * r;
    // Bernoulli numbers B₂ … B₁₄ with the factors of each series.
    let stirling = polynomial(
        r2,
        &[1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0],
    );
    let psi = polynomial(
        r2,
        &[1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32_760.0, 1.0 / 12.0],
    );
    let psi_prime =
        polynomial(r2, &[1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0]);
    Gamma {
        ln: (z - 0.5) * ln_z - z + HALF_LN_TAU + stirling * r - ln(product),
        digamma: ln_z - 0.5 * r - psi * r2 - inverses,
        trigamma: r + 0.5 * r2 + psi_prime * r2 * r + squares,
    }
}

/// ψ(x), the digamma function.
pub fn digamma(x: f64) -> f64 {
    gamma(x).digamma
}

/// lnΓ(x).
pub fn ln_gamma(x: f64) -> f64 {
    gamma(x).ln
}

/// ψ′(x), the trigamma function.
pub fn trigamma(x: f64) -> f64 {
    gamma(x).trigamma
}

fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}
