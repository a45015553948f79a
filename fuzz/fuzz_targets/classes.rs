//! Fuzzes any text as a class table: no panic, bounded memory, and what is accepted is consistent.

#![no_main]

use e2bki_data::{ClassTable, VOID};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(table) = ClassTable::from_toml(text, "fuzz")
        && let Ok(remap) = table.remap("kitti360")
    {
        for id in [0, 7, 65_535, u32::MAX] {
            let class = remap.class(id);
            assert!(class == VOID || (class as usize) < table.classes().len());
        }
    }
});
