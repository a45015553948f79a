//! Headerless binary files: points as little-endian f32, labels as little-endian u32.

use super::Parsed;
use crate::error::Flaw;

/// x, y, z of records of `fields` little-endian f32 (KITTI and its kin: 4, with reflectance).
pub fn points(bytes: &[u8], fields: usize) -> Parsed<Vec<[f32; 3]>> {
    if !(3..=64).contains(&fields) {
        return Err(Flaw::new(format!("{fields} numbers per point; 3 to 64 are possible")));
    }
    let record = 4 * fields;
    if !bytes.len().is_multiple_of(record) {
        return Err(Flaw::new(format!(
            "{} bytes is not a multiple of {record} ({fields} × f32 a point): the file is cut short or has other fields",
            bytes.len()
        )));
    }
    let value = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    Ok(bytes.chunks_exact(record).map(|r| [value(r), value(&r[4..]), value(&r[8..])]).collect())
}

/// Labels, one u32 each: semantic id in the low 16 bits, instance in the high ones.
pub fn labels(bytes: &[u8]) -> Parsed<Vec<u32>> {
    let (words, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Flaw::new(format!(
            "{} bytes is not a multiple of 4 (u32 a label): the file is cut short",
            bytes.len()
        )));
    }
    Ok(words.iter().map(|w| u32::from_le_bytes(*w)).collect())
}
