//! Any bytes as what a browser sends to the viewer: a message, the head of a request, WebSocket frames.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| e2bki_view::parse_untrusted(bytes));
