//! LZF decompression, as PCD files use it.

use super::Parsed;
use crate::error::Flaw;

/// Decompresses to exactly `size` bytes.
pub(super) fn decompress(packed: &[u8], size: usize) -> Parsed<Vec<u8>> {
    let short = || Flaw::new("the compressed data is damaged");
    // Three bytes make at most 264: a larger promise is refused before anything is allocated.
    if size > packed.len().saturating_mul(88) {
        return Err(short());
    }
    let mut out: Vec<u8> = Vec::with_capacity(size);
    let mut input = packed.iter().copied();
    while let Some(control) = input.next() {
        let control = usize::from(control);
        if control < 32 {
            for _ in 0..=control {
                out.push(input.next().ok_or_else(short)?);
            }
        } else {
            let mut length = control >> 5;
            if length == 7 {
                length += usize::from(input.next().ok_or_else(short)?);
            }
            let back = ((control & 31) << 8) + usize::from(input.next().ok_or_else(short)?) + 1;
            let start = out.len().checked_sub(back).ok_or_else(short)?;
            for k in 0..length + 2 {
                out.push(out[start + k]);
            }
        }
        if out.len() > size {
            return Err(short());
        }
    }
    if out.len() == size { Ok(out) } else { Err(short()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_overlapping_copies_are_undone() {
        // "ab", then 6 bytes copied from 2 back.
        assert_eq!(decompress(&[1, b'a', b'b', 4 << 5, 1], 8).unwrap(), b"abababab");
        // A long copy: 7 + 3 + 2 bytes from 1 back.
        assert_eq!(decompress(&[0, b'x', 7 << 5, 3, 0], 13).unwrap(), [b'x'; 13]);
        assert!(decompress(&[1, b'a'], 2).is_err());
        assert!(decompress(&[2 << 5, 9], 4).is_err());
        assert!(decompress(&[0, 1], usize::MAX).is_err());
    }
}
