//! What a primitive holds in the fewest bytes that hold it exactly.
//!
//! A row of bytes has Σx and Σrange in quanta of 2⁻¹⁶ m; Σxxᵀ about the whole quantum below the mean, where it is
//! small; one bit for every class that the primitive knows, and the log-evidence of these alone. Numbers of a kind have
//! the same width, from one byte to eight: what grows beyond its width gets a wider one, and nothing is ever rounded.

use crate::primitive::{QUANTUM_M, Sums};

/// Bytes beyond the end of a row that may be read.
pub(super) const SLACK: usize = 8;

/// Bytes of each number of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Widths {
    pub(super) first: usize,
    pub(super) second: usize,
    pub(super) evidence: usize,
}

impl Widths {
    /// In nine bits.
    pub(super) fn bits(self) -> u16 {
        ((self.first - 1) | ((self.second - 1) << 3) | ((self.evidence - 1) << 6)) as u16
    }

    pub(super) fn of_bits(bits: u16) -> Self {
        let bits = usize::from(bits);
        Self { first: (bits & 7) + 1, second: (bits >> 3 & 7) + 1, evidence: (bits >> 6 & 7) + 1 }
    }

    /// Bytes before the classes.
    fn of_sums(self) -> usize {
        4 * self.first + 6 * self.second
    }
}

/// Bytes of the bits for so many classes.
fn bytes_of(classes: usize) -> usize {
    classes.div_ceil(8)
}

/// Least bytes that hold a signed number.
fn signed_width(all: i64) -> usize {
    (72 - (all.unsigned_abs() | 1).leading_zeros() as usize) / 8
}

/// A number whose size is that of the largest of some, whatever their signs.
fn joined(values: impl Iterator<Item = i64>) -> i64 {
    values.fold(0, |all, v| all | if v < 0 { !v } else { v })
}

#[inline(always)]
fn read(bytes: &[u8], at: usize, width: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight) & (u64::MAX >> (64 - 8 * width))
}

#[inline(always)]
fn read_signed(bytes: &[u8], at: usize, width: usize) -> i64 {
    let shift = 64 - 8 * width as u32;
    ((read(bytes, at, width) << shift) as i64) >> shift
}

/// The whole quanta below the mean, from Σx in quanta.
fn middle(first: [i64; 3], weight: u32) -> [i64; 3] {
    first.map(|v| v.div_euclid(i64::from(weight.max(1))))
}

/// What Σxxᵀ about the corner is more than about the middle. All sums wrap, so that taking it away and adding it again
/// leaves every bit as it was.
fn shift(first: [i64; 3], weight: u32) -> [i64; 6] {
    let (q, w) = (middle(first, weight), i64::from(weight));
    let more = |i: usize, j: usize| {
        let product = q[i].wrapping_mul(first[j]).wrapping_add(q[j].wrapping_mul(first[i]));
        product.wrapping_sub(w.wrapping_mul(q[i]).wrapping_mul(q[j]))
    };
    [more(0, 0), more(1, 1), more(2, 2), more(0, 1), more(0, 2), more(1, 2)]
}

/// Packs sums and log-evidence; `bytes` becomes the row.
pub(super) fn pack(sums: &Sums, log_evidence: &[i64], bytes: &mut Vec<u8>) -> Widths {
    let quanta = |metres: f64| (metres * (1.0 / QUANTUM_M)) as i64;
    let (first, range, weight) = (sums.first.map(quanta), quanta(sums.range), sums.weight as u32);
    let shift = shift(first, weight);
    let second: [i64; 6] = std::array::from_fn(|i| sums.second[i].wrapping_sub(shift[i]));
    let widths = Widths {
        first: signed_width(joined(first.into_iter().chain([range]))),
        second: signed_width(joined(second.into_iter())),
        evidence: (71 - (log_evidence.iter().fold(1, |all, v| all | *v as u64)).leading_zeros() as usize) / 8,
    };
    bytes.clear();
    let mut put = |value: i64, width: usize| bytes.extend_from_slice(&value.to_le_bytes()[..width]);
    first.into_iter().chain([range]).for_each(|v| put(v, widths.first));
    second.into_iter().for_each(|v| put(v, widths.second));
    let known = bytes.len();
    bytes.resize(known + bytes_of(log_evidence.len()), 0);
    for (class, value) in log_evidence.iter().enumerate().filter(|(_, value)| **value != 0) {
        bytes[known + class / 8] |= 1 << (class % 8);
        bytes.extend_from_slice(&value.to_le_bytes()[..widths.evidence]);
    }
    widths
}

/// The sums of a row that begins `at` a place; the number of points and the corner are kept elsewhere.
pub(super) fn sums_of(bytes: &[u8], at: usize, widths: Widths, origin: [i32; 3], weight: u32) -> Sums {
    let first: [i64; 3] = std::array::from_fn(|i| read_signed(bytes, at + i * widths.first, widths.first));
    let range = read_signed(bytes, at + 3 * widths.first, widths.first);
    let (shift, begin) = (shift(first, weight), at + 4 * widths.first);
    Sums {
        origin,
        weight: f64::from(weight),
        first: first.map(|v| v as f64 * QUANTUM_M),
        second: std::array::from_fn(|i| {
            read_signed(bytes, begin + i * widths.second, widths.second).wrapping_add(shift[i])
        }),
        range: range as f64 * QUANTUM_M,
    }
}

/// Calls `visit` with every class that a row knows, ascending, and its log-evidence.
#[inline(always)]
pub(super) fn each_known(bytes: &[u8], at: usize, widths: Widths, classes: usize, mut visit: impl FnMut(usize, i64)) {
    let known = at + widths.of_sums();
    let mut value = known + bytes_of(classes);
    for byte in 0..bytes_of(classes) {
        let mut bits = bytes[known + byte];
        while bits != 0 {
            visit(8 * byte + bits.trailing_zeros() as usize, read(bytes, value, widths.evidence) as i64);
            bits &= bits - 1;
            value += widths.evidence;
        }
    }
}

/// Length of a row.
pub(super) fn len_of(bytes: &[u8], at: usize, widths: Widths, classes: usize) -> usize {
    let known = at + widths.of_sums();
    let count: u32 = bytes[known..known + bytes_of(classes)].iter().map(|bits| bits.count_ones()).sum();
    widths.of_sums() + bytes_of(classes) + count as usize * widths.evidence
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_bit_comes_back(
            weight in prop_oneof![1..50_u32, 1..=1_u32 << 31],
            mean in prop::array::uniform3(-0.001..1.0_f64),
            spread in prop::array::uniform6(prop_oneof![-1_i64 << 32..1 << 32, -1_i64 << 62..=1 << 62]),
            range in 0.0..30.0_f64,
            evidence in prop::collection::vec(prop_oneof![Just(0_i64), 0..1_i64 << 40, Just(1_i64 << 62), Just(255), Just(256)], 1..70),
            before in 0..40_usize,
        ) {
            let whole = |v: f64| (v * f64::from(weight) / QUANTUM_M).round() * QUANTUM_M;
            let sums = Sums {
                origin: [-3, 5, 1 << 20], weight: f64::from(weight), first: mean.map(whole), second: spread, range: whole(range),
            };
            let mut row = Vec::new();
            let widths = pack(&sums, &evidence, &mut row);
            prop_assert_eq!(Widths::of_bits(widths.bits()), widths);
            let mut bytes = vec![0xa5; before];
            bytes.extend(&row);
            bytes.extend([0x5a; SLACK]);
            prop_assert_eq!(sums_of(&bytes, before, widths, sums.origin, weight), sums);
            let mut found = vec![0; evidence.len()];
            each_known(&bytes, before, widths, evidence.len(), |class, value| found[class] = value);
            prop_assert_eq!(found, evidence.clone());
            prop_assert_eq!(len_of(&bytes, before, widths, evidence.len()), row.len());
        }
    }

    #[test]
    fn an_ordinary_primitive_takes_few_bytes() {
        let mut sums = Sums::about([4, 7, 0]);
        (0..8).for_each(|i| sums.add_point([4.3 + 0.02 * f64::from(i), 7.4 - 0.01 * f64::from(i), 0.1], 12.5));
        let mut row = Vec::new();
        let mut evidence = vec![0; 19];
        (evidence[8], evidence[10]) = (11 << 32, 3 << 30);
        pack(&sums, &evidence, &mut row);
        assert!(row.len() <= 16 + 24 + 3 + 10, "{} bytes", row.len());
    }
}
