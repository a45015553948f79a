//! Fuzzes any bytes as pictures and label images: no panic, bounded memory, and what is accepted is consistent.

#![no_main]

use e2bki_data::parse;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    parse::picture_size(data).ok();
    parse::picture(data).ok();
    if let Ok(image) = parse::label_image(data) {
        assert_eq!(image.ids.len(), image.width * image.height);
    }
});
