//! Fuzzes any bytes as headerless points: no panic, bounded memory, and what is accepted is consistent.

#![no_main]

use e2bki_data::parse;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    for fields in [3, 4, 5] {
        if let Ok(points) = parse::points(data, fields) {
            assert_eq!(points.len() * fields * 4, data.len());
        }
    }
});
