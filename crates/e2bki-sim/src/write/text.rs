//! Numbers as the datasets write them.
//! Fixed decimals for poses, scientific notation for the KITTI odometry files.

use crate::drive::START_NS;
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

/// A time as seconds with nine decimals.
pub(super) fn seconds(stamp_ns: u64) -> String {
    format!("{}.{:09}", stamp_ns / 1_000_000_000, stamp_ns % 1_000_000_000)
}

/// A time of a drive as KITTI writes it. Drives begin at [`START_NS`], and end in the same month.
pub(super) fn date(stamp_ns: u64) -> String {
    let (s, ns) = (stamp_ns / 1_000_000_000, stamp_ns % 1_000_000_000);
    let day = 13 + s / 86_400 - START_NS / 1_000_000_000 / 86_400;
    format!("2020-09-{day:02} {:02}:{:02}:{:02}.{ns:09}", s / 3600 % 24, s / 60 % 60, s % 60)
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
    fn clocks_tell_the_same_time() {
        assert_eq!(seconds(START_NS + 100_000_000), "1600000000.100000000");
        assert_eq!(date(START_NS + 100_000_000), "2020-09-13 12:26:40.100000000");
        assert_eq!(date(START_NS + 12 * 3_600_000_000_000), "2020-09-14 00:26:40.000000000");
    }

    #[test]
    fn scientific_numbers_have_two_exponent_digits() {
        assert_eq!(scientific(0.1037359, 6), "1.037359e-01");
        assert_eq!(scientific(0.0, 6), "0.000000e+00");
        assert_eq!(scientific(-718.856, 12), "-7.188560000000e+02");
    }
}
