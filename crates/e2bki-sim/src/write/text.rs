//! Numbers as the datasets write them.
//! Fixed decimals for poses, scientific notation for the KITTI odometry files.

use crate::maths::Rigid;

/// Twelve numbers, row-major 3×4, fixed decimals.
pub(super) fn rows3(t: &Rigid) -> String {
    let m = t.to_matrix();
    let numbers: Vec<String> = m[..3].iter().flatten().map(|v| format!("{v:.10}")).collect();
    numbers.join(" ")
}

/// Sixteen numbers, row-major 4×4, fixed decimals.
pub(super) fn rows4(t: &Rigid) -> String {
    format!("{} 0.0000000000 0.0000000000 0.0000000000 1.0000000000", rows3(t))
}

/// A number in the form `1.037359e-01`.
pub(super) fn scientific(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let power: i32 = exponent.parse().unwrap_or(0);
            let sign = if power < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", power.abs())
        }
        None => text,
    }
}

/// Numbers in scientific form, separated by blanks.
pub(super) fn scientific_row(values: &[f64]) -> String {
    let numbers: Vec<String> = values.iter().map(|v| scientific(*v, 12)).collect();
    numbers.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scientific_numbers_have_two_exponent_digits() {
        assert_eq!(scientific(0.1037359, 6), "1.037359e-01");
        assert_eq!(scientific(0.0, 6), "0.000000e+00");
        assert_eq!(scientific(-718.856, 12), "-7.188560000000e+02");
    }
}
