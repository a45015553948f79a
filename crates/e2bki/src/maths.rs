//! Elementary functions built from `+ − × ÷ √` only, so that the same input gives the same bits on every
//! platform; the system's mathematics library does not promise that. Accurate to a few units in the last place.

const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Natural logarithm of a positive number.
///
/// At or below zero it gives `−∞`, for `∞` and NaN the argument itself.
pub fn ln(x: f64) -> f64 {
    if !(x > 0.0 && x < f64::INFINITY) {
        return if x <= 0.0 { f64::NEG_INFINITY } else { x };
    }
    ln_of_normal(x)
}

/// Natural logarithm of a positive, finite, normal number, without branches: a loop of it becomes vector instructions.
#[inline(always)]
pub fn ln_of_normal(x: f64) -> f64 {
    // x = 2^e m with m from √½ to √2: adding 1 − √½ to the bits carries into the exponent from √2 on.
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    let shifted = x.to_bits().wrapping_add(ONE - SQRT_HALF);
    // The exponent as a number: its bits below those of 2⁵², less 2⁵².
    let exponent = f64::from_bits(shifted >> 52 | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
    let mantissa = f64::from_bits((shifted & 0x000f_ffff_ffff_ffff) + SQRT_HALF);
    // ln m = 2 artanh(s) with s = (m−1)/(m+1), |s| ≤ 0.1716.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let z = s * s;
    let mut series = 1.0 / 19.0;
    for inverse in [1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0] {
        series = series * z + inverse;
    }
    exponent * LN_2_HIGH + (2.0 * s + (2.0 * s * z * series + exponent * LN_2_LOW))
}

/// Exponential function; 0 below −745 and `∞` above 709.78.
pub fn exp(x: f64) -> f64 {
    if x.is_nan() || x > 709.78 {
        return if x.is_nan() { x } else { f64::INFINITY };
    }
    if x < -745.0 {
        return 0.0;
    }
    exp_within(x)
}

/// The same for −745 ≤ x ≤ 709.78, without a branch or a call: a loop of it becomes vector instructions.
#[inline(always)]
pub(crate) fn exp_within(x: f64) -> f64 {
    // Adding 1.5·2⁵² leaves the nearest whole number in the lowest bits.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    let shifted = x * std::f64::consts::LOG2_E + WHOLE;
    let n = shifted - WHOLE;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    // Taylor terms to r¹³/13!: below 1e−17 for |r| ≤ ln2/2.
    let mut series = 1.0 / 6_227_020_800.0;
    for inverse in [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
    ] {
        series = series * r + inverse;
    }
    let fraction = 1.0 + (r + r * r * series);
    // Two steps, so that results below the normal range do not need a subnormal exponent field: 2ⁿ = 2ʰ·2ⁿ⁻ʰ, with the
    // bias of the exponent field, 1023, in both; it is 2046 + n that is cut in two, which is never negative.
    let biased = shifted.to_bits().wrapping_sub(WHOLE.to_bits()).wrapping_add(2046);
    let half = biased >> 1;
    fraction * f64::from_bits(half << 52) * f64::from_bits((biased - half) << 52)
}

/// Index of the largest value; the lowest index wins ties.
pub fn argmax<T: PartialOrd + Copy>(values: &[T]) -> usize {
    let Some(mut most) = values.first().copied() else { return 0 };
    let mut best = 0;
    // Without branches: nothing predicts which of several values is the largest.
    for (i, value) in values.iter().enumerate() {
        let above = *value > most;
        best = if above { i } else { best };
        most = if above { *value } else { most };
    }
    best
}

/// Largest whole number not above `x`, held to the range of i32.
pub fn floor_i32(x: f64) -> i32 {
    // The conversion truncates and saturates; the system's `floor` is a function call on plain x86-64.
    let whole = x as i32;
    if f64::from(whole) > x { whole.saturating_sub(1) } else { whole }
}

/// Threshold τ of the squared Mahalanobis distance that encloses `mass` of a Gaussian in 3 dimensions (paper: τ, d = 3).
///
/// The chi-squared quantile, by bisection on the series of the regularised incomplete gamma function P(3/2, τ/2).
pub fn mahalanobis_threshold_3d(mass: f64) -> f64 {
    let enclosed = |tau: f64| {
        let x = 0.5 * tau;
        let mut term = 1.0 / 1.5;
        let mut sum = term;
        let mut s = 1.5;
        while term > sum * 1e-17 {
            s += 1.0;
            term *= x / s;
            sum += term;
        }
        // P(3/2, x) = x^{3/2} e^{−x} Σ … / Γ(3/2), Γ(3/2) = √π/2.
        x * x.sqrt() * exp(-x) * sum * 2.0 / std::f64::consts::PI.sqrt()
    };
    let (mut low, mut high) = (0.0, 60.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if enclosed(middle) < mass {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// Threshold τ of the squared Mahalanobis distance that encloses `mass` of a Gaussian in 2 dimensions: −2 ln(1 − mass).
pub fn mahalanobis_threshold_2d(mass: f64) -> f64 {
    -2.0 * ln(1.0 - mass)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_and_exponential_agree_with_the_system_library() {
        for i in 1..200_000 {
            let x = f64::from(i) * 0.0173 + 1e-9;
            assert!((ln(x) - x.ln()).abs() <= 4e-16 * x.ln().abs().max(1.0), "ln {x}");
            let y = f64::from(i - 100_000) * 0.007;
            let (ours, theirs) = (exp(y), y.exp());
            assert!(ours == theirs || (ours - theirs).abs() <= 4e-16 * theirs, "exp {y}: {ours} {theirs}");
        }
        assert_eq!(exp(-800.0), 0.0);
        assert_eq!(exp(800.0), f64::INFINITY);
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn thresholds_for_ten_percent_mass_are_the_chi_squared_quantiles() {
        assert!((mahalanobis_threshold_3d(0.1) - 0.584_374_4).abs() < 5e-8);
        assert!((mahalanobis_threshold_2d(0.1) - 0.210_721_0).abs() < 5e-8);
        // Tables: χ²₃ at 0.95 is 7.8147, χ²₂ at 0.95 is 5.9915.
        assert!((mahalanobis_threshold_3d(0.95) - 7.814_728).abs() < 1e-6);
        assert!((mahalanobis_threshold_2d(0.95) - 5.991_465).abs() < 1e-6);
    }
}
