//! Fuzzes any bytes as LAS: no panic, bounded memory, and what is accepted is consistent.

#![no_main]

use e2bki_data::parse;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(table) = parse::las(data) {
        assert_eq!(table.points().map(|p| p.len()), Ok(table.count));
    }
});
