//! Fuzzes any bytes as a NumPy array, and as a grid of channels: no panic, bounded memory, and what is accepted is consistent.

#![no_main]

use e2bki_data::parse;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(array) = parse::npy(data) {
        assert_eq!(array.values().len(), array.shape.iter().product::<usize>());
        if let Ok(grid) = parse::Grid::from_npy(&array) {
            assert_eq!(grid.values.len(), array.len());
        }
    }
});
