//! Parquet's DELTA_BINARY_PACKED encoding of 64-bit whole numbers: blocks of 128 differences, each less the smallest
//! of its block, in four runs of 32 with as many bits as the largest of the run needs.

use super::thrift::{varint, zigzag};

const BLOCK: usize = 128;
const RUNS: usize = 4;
const RUN: usize = BLOCK / RUNS;

/// Appends the encoded values.
pub(crate) fn encode(values: &[i64], bytes: &mut Vec<u8>) {
    varint(bytes, BLOCK as u64);
    varint(bytes, RUNS as u64);
    varint(bytes, values.len() as u64);
    varint(bytes, zigzag(values.first().copied().unwrap_or(0)));
    let mut differences = [0_i64; BLOCK];
    let mut start = 1;
    while start < values.len() {
        let count = BLOCK.min(values.len() - start);
        for i in 0..count {
            differences[i] = values[start + i].wrapping_sub(values[start + i - 1]);
        }
        let least = differences[..count].iter().copied().min().unwrap_or(0);
        varint(bytes, zigzag(least));
        let mut packed = [0_u64; BLOCK];
        for i in 0..count {
            packed[i] = differences[i].wrapping_sub(least) as u64;
        }
        let widths: [u32; RUNS] = std::array::from_fn(|run| {
            let all = packed[run * RUN..(run + 1) * RUN].iter().fold(0, |bits, v| bits | v);
            64 - all.leading_zeros()
        });
        bytes.extend(widths.map(|width| width as u8));
        for run in 0..count.div_ceil(RUN) {
            pack(&packed[run * RUN..(run + 1) * RUN], widths[run], bytes);
        }
        start += count;
    }
}

fn pack(values: &[u64], width: u32, bytes: &mut Vec<u8>) {
    let (mut pending, mut bits) = (0_u128, 0);
    for value in values {
        pending |= u128::from(*value) << bits;
        bits += width;
        if bits >= 64 {
            bytes.extend((pending as u64).to_le_bytes());
            pending >>= 64;
            bits -= 64;
        }
    }
    bytes.extend(&(pending as u64).to_le_bytes()[..bits as usize / 8]);
}

/// Decodes exactly `count` values from exactly these bytes.
pub(crate) fn decode(mut bytes: &[u8], count: usize) -> Result<Vec<i64>, &'static str> {
    let header = [take_varint(&mut bytes)?, take_varint(&mut bytes)?, take_varint(&mut bytes)?];
    if header != [BLOCK as u64, RUNS as u64, count as u64] {
        return Err("it does not hold as many values as the tile has rows");
    }
    let mut latest = unzigzag(take_varint(&mut bytes)?);
    // A block of 128 values takes five bytes at least, so this is bounded by the bytes that are there.
    if count.saturating_sub(1).div_ceil(BLOCK) > bytes.len() / (1 + RUNS) {
        return Err("it is too short");
    }
    let mut values = Vec::with_capacity(count);
    if count > 0 {
        values.push(latest);
    }
    while values.len() < count {
        let least = unzigzag(take_varint(&mut bytes)?);
        let (widths, rest) = bytes.split_at_checked(RUNS).ok_or("it is too short")?;
        bytes = rest;
        for width in widths {
            let wanted = RUN.min(count - values.len());
            if wanted == 0 {
                break;
            }
            if *width > 64 {
                return Err("a number is wider than 64 bits");
            }
            let (packed, rest) = bytes.split_at_checked(usize::from(*width) * RUN / 8).ok_or("it is too short")?;
            bytes = rest;
            unpack(packed, u32::from(*width), wanted, |difference| {
                latest = latest.wrapping_add(least).wrapping_add(difference as i64);
                values.push(latest);
            });
        }
    }
    if bytes.is_empty() { Ok(values) } else { Err("bytes are left over") }
}

fn unpack(packed: &[u8], width: u32, count: usize, mut each: impl FnMut(u64)) {
    let mut buffer = [0_u8; 64 * RUN / 8 + 8];
    buffer[..packed.len()].copy_from_slice(packed);
    let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    let (mut pending, mut bits, mut at) = (0_u128, 0, 0);
    for _ in 0..count {
        if bits < width {
            let mut word = [0; 8];
            word.copy_from_slice(&buffer[at..at + 8]);
            pending |= u128::from(u64::from_le_bytes(word)) << bits;
            at += 8;
            bits += 64;
        }
        each(pending as u64 & mask);
        pending >>= width;
        bits -= width;
    }
}

fn take_varint(bytes: &mut &[u8]) -> Result<u64, &'static str> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first().ok_or("it is too short")?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number is longer than 64 bits")
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn again(values: &[i64]) -> Vec<i64> {
        let mut bytes = Vec::new();
        encode(values, &mut bytes);
        decode(&bytes, values.len()).unwrap()
    }

    proptest! {
        #[test]
        fn any_numbers_come_back(
            small in prop::collection::vec(-9..9_i64, 0..400),
            wide in prop::collection::vec(any::<i64>(), 0..400),
        ) {
            prop_assert_eq!(again(&small), small);
            prop_assert_eq!(again(&wide), wide);
        }

        #[test]
        fn any_bytes_are_refused_or_decoded(bytes in prop::collection::vec(any::<u8>(), 0..300), count in 0..2000_usize) {
            if let Ok(values) = decode(&bytes, count) {
                prop_assert_eq!(values.len(), count);
            }
        }

        #[test]
        fn damaged_headers_do_not_allocate(mut bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut whole = vec![128, 1, 4];
            varint(&mut whole, 1 << 40);
            whole.append(&mut bytes);
            prop_assert!(decode(&whole, 1 << 40).is_err());
        }
    }

    #[test]
    fn extremes_survive() {
        for values in [vec![], vec![i64::MIN], vec![i64::MAX, i64::MIN, 0, i64::MAX], vec![5; 1000]] {
            assert_eq!(again(&values), values);
        }
    }
}
