//! Fuzzes any bytes as labels: no panic, bounded memory, and what is accepted is consistent.

#![no_main]

use e2bki_data::parse;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(labels) = parse::labels(data) {
        assert_eq!(labels.len() * 4, data.len());
    }
});
