//! Angles from `+ − × ÷ √` only, so that a scan gives the same counters on every platform.

use std::f32::consts::{FRAC_PI_2, PI};

/// Angle of the vector (x, y) from the x axis, radians in −π..=π, to about 2e−7; 0 for the zero vector.
///
/// Without branches: a loop of it becomes vector instructions.
#[inline(always)]
pub(super) fn atan2(y: f32, x: f32) -> f32 {
    let (ax, ay) = (x.abs(), y.abs());
    let (short, long) = if ax < ay { (ax, ay) } else { (ay, ax) };
    let a = short / long.max(f32::MIN_POSITIVE);
    // Abramowitz and Stegun 4.4.49: arctan a for 0 ≤ a ≤ 1, within 2e−8.
    let z = a * a;
    let mut series = 0.002_866_225_7_f32;
    for term in [-0.016_165_737, 0.042_909_614, -0.075_289_64, 0.106_562_64, -0.142_089, 0.199_935_51, -0.333_331_45] {
        series = series * z + term;
    }
    let mut angle = a + a * z * series;
    angle = if ax < ay { FRAC_PI_2 - angle } else { angle };
    angle = if x < 0.0 { PI - angle } else { angle };
    if y < 0.0 { -angle } else { angle }
}

/// Not less than arcsin x for 0 ≤ x ≤ 1, and above it by less than 0.2: the series' terms beyond the first are all
/// positive, so x + (π/2 − 1)x³ bounds them.
#[inline(always)]
pub(super) fn asin_above(x: f32) -> f32 {
    x + (FRAC_PI_2 - 1.0) * x * x * x
}

/// Largest whole number not above; the number is within ±2²².
///
/// A number this large has no place for fractions, so adding it rounds; its last bits are then the whole number. Unlike
/// a conversion, which has to look at what does not fit, a loop of it becomes a few vector instructions.
#[inline(always)]
pub(super) fn floor(v: f32) -> i32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 · 2²³
    let whole = ((v + ROUND).to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    whole - i32::from(whole as f32 > v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_angle_agrees_with_the_system_library_all_around() {
        for i in -4000..=4000 {
            let t = f64::from(i) / 4000.0 * std::f64::consts::PI;
            for r in [1e-3, 1.0, 70.0] {
                let (y, x) = ((r * t.sin()) as f32, (r * t.cos()) as f32);
                let theirs = f64::from(y).atan2(f64::from(x));
                let ours = f64::from(atan2(y, x));
                // At −π and π the sign is a matter of rounding.
                let off = (ours - theirs).abs();
                let off = off.min((off - 2.0 * std::f64::consts::PI).abs());
                assert!(off < 6e-7, "{x} {y}: {ours} {theirs}");
            }
        }
        assert_eq!(atan2(0.0, 0.0), 0.0);
    }

    #[test]
    fn whole_numbers_are_not_above() {
        for i in -400_000..400_000 {
            let v = i as f32 * 0.01;
            assert_eq!(floor(v), v.floor() as i32, "{v}");
        }
        for v in [-4_194_303.0, -4_000_000.5, -0.5, -0.0, 0.5, 0.999_999_94, 1.5, 2.5, 4_000_000.5, 4_194_303.0_f32] {
            assert_eq!(floor(v), v.floor() as i32, "{v}");
        }
    }

    #[test]
    fn the_bound_of_the_arc_sine_is_one() {
        for i in 0..=1000 {
            let x = i as f32 / 1000.0;
            let exact = x.asin();
            assert!(asin_above(x) >= exact - 1e-6 && asin_above(x) < exact + 0.2, "{x}");
        }
    }
}
