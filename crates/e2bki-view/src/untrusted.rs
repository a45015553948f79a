//! Everything a client can send, parsed from plain bytes: what fuzzing calls.

use std::io::{Read, Write};

use axum::http::{HeaderMap, HeaderValue, Uri, header};
use tungstenite::Message;
use tungstenite::protocol::{Role, WebSocket, WebSocketConfig};

use crate::assets;
use crate::guard::Guard;
use crate::request::{MAX_MESSAGE, Request};

/// Parses bytes as a message of the page, as lines of path, Host and Origin, and as WebSocket frames with the server's limits.
/// Must neither panic nor take more memory than a small multiple of its input.
pub fn parse_untrusted(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        drop(Request::read(text));
    }
    head(bytes);
    frames(bytes);
}

/// Who may ask, and for what.
fn head(bytes: &[u8]) {
    let mut lines = bytes.split(|b| *b == b'\n');
    let Some(uri) = lines.next().and_then(|line| Uri::try_from(line).ok()) else { return };
    let mut headers = HeaderMap::new();
    for (name, line) in [header::HOST, header::ORIGIN].into_iter().zip(lines) {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.insert(name, value);
        }
    }
    for token in [None, Some("0123456789abcdef".to_string())] {
        Guard { token }.admits(&uri, &headers);
    }
    assets::find(uri.path());
}

/// Frames and the messages in them.
fn frames(bytes: &[u8]) {
    let limits = WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE)).max_frame_size(Some(MAX_MESSAGE));
    let mut socket = WebSocket::from_raw_socket(Input(bytes), Role::Server, Some(limits));
    while let Ok(message) = socket.read() {
        assert!(message.len() <= MAX_MESSAGE, "a message of {} bytes", message.len());
        if let Message::Text(text) = message {
            drop(Request::read(&text));
        }
    }
}

/// A connection that only sends.
struct Input<'a>(&'a [u8]);

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Input<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A masked text frame, as a browser sends it.
    fn frame(text: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x81, 0x80 | text.len() as u8, 1, 2, 3, 4];
        bytes.extend(text.iter().zip([1, 2, 3, 4].into_iter().cycle()).map(|(b, mask)| b ^ mask));
        bytes
    }

    #[test]
    fn any_bytes_are_parsed_or_refused() {
        let query = br#"{"kind":"query","id":1,"map":0,"at":[0,0,0]}"#;
        let mut two = frame(query);
        two.extend(frame(b"[[[["));
        // A length of 2^63 bytes, ten bytes of them.
        let mut huge = vec![0x81, 0xff];
        huge.extend((1_u64 << 63).to_be_bytes());
        huge.extend([0; 10]);
        let cases =
            [&two[..], &huge, query, b"", b"/ws?token=1\nlocalhost:80\nhttp://localhost:80", b"\xff\xfe\n\0\n:"];
        for case in cases {
            for end in 0..=case.len() {
                parse_untrusted(&case[..end]);
            }
        }
        let mut state = 1_u64;
        for length in 0..2000 {
            let noise: Vec<u8> = (0..length % 300)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 56) as u8
                })
                .collect();
            parse_untrusted(&noise);
        }
    }
}
