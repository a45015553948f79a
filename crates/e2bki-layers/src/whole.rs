//! Whole numbers near others: the bits of the standard library's functions, which on plain x86-64 are calls into the system's
//! mathematics. There are a dozen of them for every piece of surface.

/// From here on all numbers are whole: 2⁵².
const ALL_WHOLE: f64 = 4_503_599_627_370_496.0;
/// The largest number below a half: half a unit more would take what is just below a half up.
const BELOW_HALF: f64 = 0.499_999_999_999_999_94;

/// The nearest whole number, halves away from zero.
#[inline(always)]
pub(crate) fn nearest(value: f64) -> f64 {
    let size = value.abs();
    // What is not a number is not below, and comes back.
    if size < ALL_WHOLE { ((size + BELOW_HALF) as i64 as f64).copysign(value) } else { value }
}

/// The least whole number that is not below.
#[inline(always)]
pub(crate) fn up(value: f64) -> f64 {
    if value.abs() < ALL_WHOLE {
        let whole = value as i64 as f64;
        (if whole < value { whole + 1.0 } else { whole }).copysign(value)
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agree(value: f64) {
        assert_eq!(nearest(value).to_bits(), value.round().to_bits(), "{value}");
        assert_eq!(up(value).to_bits(), value.ceil().to_bits(), "{value}");
    }

    proptest! {
        #[test]
        fn they_are_those_of_the_standard_library(bits in any::<u64>(), small in -1e4..1e4_f64, halves in -1_000_i32..1_000) {
            let half = 0.5 * f64::from(halves);
            [f64::from_bits(bits), small, half, half.next_up(), half.next_down()].into_iter().for_each(agree);
        }
    }

    #[test]
    fn so_are_the_special_ones() {
        let large = [ALL_WHOLE, ALL_WHOLE.next_down(), ALL_WHOLE.next_up(), 0.5 * ALL_WHOLE + 0.5, f64::MAX];
        let small = [0.0, f64::MIN_POSITIVE, BELOW_HALF, 0.5, 1.0 - f64::EPSILON, f64::INFINITY];
        large.into_iter().chain(small).flat_map(|value| [value, -value]).for_each(agree);
        assert!(nearest(f64::NAN).is_nan() && up(f64::NAN).is_nan());
    }
}
