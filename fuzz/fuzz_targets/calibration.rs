//! Fuzzes any text as calibration: no panic, bounded memory, and what is accepted is consistent.

#![no_main]

use e2bki_data::parse;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let keyed = parse::Keyed::parse(text);
        if let Ok(numbers) = keyed.numbers::<12>("Tr") {
            assert!(numbers.iter().all(|v| v.is_finite()));
            parse::rigid(&numbers).ok();
        }
        parse::numbers::<4>(text).ok();
        parse::transform(text, "os1_cloud_node-pylon_camera_node").ok();
    }
});
