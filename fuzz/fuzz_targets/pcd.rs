//! Fuzzes any bytes as PCD: no panic, bounded memory, and what is accepted is consistent.

#![no_main]

use e2bki_data::parse;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(table) = parse::pcd(data) {
        if let Ok(points) = table.points() {
            assert_eq!(points.len(), table.count);
        }
        table.labels();
    }
});
