//! Fuzzes any text as poses: no panic, bounded memory, and what is accepted is consistent.

#![no_main]

use e2bki_data::parse;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        parse::pose_rows(text).ok();
        parse::indexed_poses(text).ok();
        parse::pandaset_poses(text).ok();
    }
});
