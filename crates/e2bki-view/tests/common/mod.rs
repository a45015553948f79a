//! Maps to look at, and a browser in a few lines.

#![allow(dead_code)] // every test file uses a part

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
use serde_json::Value;
use tungstenite::{Message, WebSocket};

pub(crate) fn new_map() -> Mapper {
    Mapper::new(ClassSet::from_names(["road", "wall", "tree"]).unwrap(), Config::default()).unwrap()
}

/// Inserts a frame of a drive along x: a road with a wall and a tree, across several tiles.
pub(crate) fn insert(map: &mut Mapper, i: usize, mut seen: impl FnMut(&Mapper, &Frame<'_>)) {
    let points: Vec<[f32; 3]> = (0..1500)
        .map(|k| {
            let t = (k * 37 + i * 11) % 1500;
            [0.03 * t as f32 - 20.0, (t % 11) as f32 * 0.7 - 4.0, (t % 5) as f32 * 0.31 - 1.0]
        })
        .collect();
    let labels: Vec<u32> = (0..1500).map(|k| ((k / 400 + i / 3) % 3) as u32).collect();
    let world_from_sensor = Pose::from_translation([6.0 * i as f64, 20.0, 1.0]).unwrap();
    let frame = Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None };
    map.insert(&frame).unwrap();
    seen(map, &frame);
}

pub(crate) fn map(frames: usize) -> Mapper {
    let mut map = new_map();
    (0..frames).for_each(|i| insert(&mut map, i, |_, _| {}));
    map
}

/// The answer to a plain request, head and instance.
pub(crate) fn get(at: SocketAddr, path: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

pub(crate) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

pub(crate) struct Browser {
    socket: WebSocket<TcpStream>,
    pub hello: Value,
}

impl Browser {
    pub(crate) fn open(at: SocketAddr) -> Self {
        Self::try_open(at, "/ws", None).unwrap()
    }

    pub(crate) fn try_open(at: SocketAddr, path: &str, origin: Option<&str>) -> Result<Self, String> {
        let stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut request =
            tungstenite::client::IntoClientRequest::into_client_request(format!("ws://{at}{path}")).unwrap();
        if let Some(origin) = origin {
            request.headers_mut().insert("Origin", origin.parse().unwrap());
        }
        let (socket, _) = tungstenite::client(request, stream).map_err(|e| e.to_string())?;
        let mut browser = Self { socket, hello: Value::Null };
        browser.hello = browser.text();
        assert_eq!(browser.hello["kind"], "hello");
        Ok(browser)
    }

    pub(crate) fn text(&mut self) -> Value {
        serde_json::from_str(self.socket.read().unwrap().to_text().unwrap()).unwrap()
    }

    pub(crate) fn send_text(&mut self, text: &str) {
        drop(self.socket.send(Message::text(text)));
    }

    pub(crate) fn send_binary(&mut self, bytes: Vec<u8>) {
        self.socket.send(Message::binary(bytes)).unwrap();
    }

    pub(crate) fn ask_text(&mut self, text: &str) -> Value {
        self.send_text(text);
        self.text()
    }

    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        self.ask_text(&request.to_string())
    }

    pub(crate) fn bytes(&mut self, request: &Value) -> Vec<u8> {
        self.send_text(&request.to_string());
        self.socket.read().unwrap().into_data().to_vec()
    }

    /// Reads until the connection ends.
    pub(crate) fn is_closed(&mut self) -> bool {
        (0..10_000).any(|_| match self.socket.read() {
            Ok(message) => message.is_close(),
            Err(tungstenite::Error::Io(e)) => e.kind() != std::io::ErrorKind::WouldBlock,
            Err(_) => true,
        })
    }
}

/// Place, class and uncertainty.
pub(crate) type Thing = ([f64; 3], usize, f64);

/// Reads a tile by the description of its format.
pub(crate) fn things(bytes: &[u8]) -> Vec<Thing> {
    assert_eq!(&bytes[..4], b"E2T1");
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let count = number(20) as usize;
    let origin: Vec<f64> = (0..3).map(|i| f64::from_le_bytes(bytes[24 + 8 * i..][..8].try_into().unwrap())).collect();
    let shapes = if bytes[5] == 0 { 12 + 8 } else { 0 };
    assert_eq!(bytes.len(), 64 + count * (12 + shapes + 8 + 4));
    let (values, kinds) = (64 + count * (12 + shapes), 64 + count * (12 + shapes + 8));
    let short = |at: usize| u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap());
    (0..count)
        .map(|i| {
            let place = std::array::from_fn(|k| {
                origin[k] + f64::from(f32::from_le_bytes(bytes[64 + 12 * i + 4 * k..][..4].try_into().unwrap()))
            });
            (place, usize::from(short(kinds + 4 * i)), f64::from(short(values + 8 * i + 4)) / 65535.0)
        })
        .collect()
}

/// The same things in any order, to the precision of the tile's numbers.
pub(crate) fn assert_same(mut found: Vec<Thing>, mut expected: Vec<Thing>) {
    assert_eq!(found.len(), expected.len());
    let key = |thing: &Thing| (thing.0.map(|v| (v * 100.0).round() as i64), thing.1);
    found.sort_by_key(key);
    expected.sort_by_key(key);
    for (a, b) in found.iter().zip(&expected) {
        assert!((0..3).all(|i| (a.0[i] - b.0[i]).abs() < 1e-5) && a.1 == b.1, "{a:?} {b:?}");
        assert!((a.2 - b.2).abs() <= 0.5 / 65535.0 + 1e-9, "{a:?} {b:?}");
    }
}
