//! A primitive that is found again in any file that holds it, as bytes that nothing else has.

#![allow(dead_code)] // not every test needs all

use e2bki::{Mapper, PrimitiveState};

/// Log-evidence of the marker, in quanta: 60 bits that no sum has by chance.
const EVIDENCE: i64 = 0x0b7e_1516_28ae_d2a6;

/// The marker of a map, in a tile where nothing else is: there the first value of a column is written as it is. It is a primitive
/// of the map but for its place and evidence.
pub(crate) fn of(map: &Mapper) -> Vec<PrimitiveState> {
    let marked = |mut state: PrimitiveState| {
        let classes = state.log_evidence.len();
        state.sums.origin = [32 * 300, 32 * -200, 0];
        state.log_evidence = vec![0; classes];
        state.log_evidence[0] = EVIDENCE;
        PrimitiveState { id: 0, ..state }
    };
    map.states().take(1).map(marked).collect()
}

/// Puts the marker into a map.
pub(crate) fn mark(map: &mut Mapper) -> e2bki::Result<()> {
    let marker = of(map);
    map.put_back_anew(marker)
}

/// The bytes that stand for the marker in a file: its first value in zigzag, seven bits to a byte (Parquet's delta encoding).
pub(crate) fn bytes() -> Vec<u8> {
    let mut value = (EVIDENCE as u64) << 1;
    let mut bytes = Vec::new();
    while value > 0 {
        let more = value > 0x7f;
        bytes.push((value & 0x7f) as u8 | if more { 0x80 } else { 0 });
        value >>= 7;
    }
    bytes
}

/// How often the marker is in some bytes.
pub(crate) fn count(bytes: &[u8]) -> usize {
    let marker = self::bytes();
    bytes.windows(marker.len()).filter(|window| *window == marker).count()
}
