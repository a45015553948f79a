//! Fuzzes any bytes as a half-precision grid, its shape from the first bytes: no panic, bounded memory, and what is accepted is consistent.

#![no_main]

use e2bki_data::camera::Sampler;
use e2bki_data::parse;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let [c, h, w, rest @ ..] = data {
        let shape = [*c, *h, *w].map(usize::from);
        if let Ok(grid) = parse::grid_f16(rest, shape) {
            let sampler = Sampler::new(&grid, [shape[2] * 8 + 3, shape[1] * 8]);
            let mut row = vec![0.0; grid.channels];
            for place in [[0.0, 0.0], [1e9, -4.0], [12.25, 7.5]] {
                sampler.at(place, &mut row);
            }
        }
    }
});
