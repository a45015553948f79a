//! The server under clients that misbehave, over the loopback interface.

#![allow(clippy::expect_used, clippy::unwrap_used)] // a test may fail loudly

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use common::{Browser, get, map, status};
use e2bki_view::{Scene, Scenes, ServeOptions, Server};
use serde_json::json;

fn serve() -> Server {
    let show = Scenes::of_maps(vec![Scene::of_map("small", map(2), Vec::new(), None)]);
    Server::start(&ServeOptions { port: 0, ..ServeOptions::default() }, show).unwrap()
}

/// Files that this process may have open; unknown where the system does not say.
fn file_limit() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find(|line| line.starts_with("Max open files"))?;
    line.split_whitespace().nth(3).map(|soft| soft.parse().unwrap_or(u64::MAX))
}

fn query(id: u32) -> serde_json::Value {
    json!({"kind": "query", "id": id, "map": 0, "at": [0, 0, 0]})
}

#[test]
fn a_client_works_while_two_thousand_requests_are_half_open() {
    const HALF_OPEN: usize = 2000;
    match file_limit() {
        Some(limit) if limit < HALF_OPEN as u64 + 500 => {
            eprintln!("SKIPPED: {HALF_OPEN} connections need more open files than the limit of {limit} (ulimit -n)");
            return;
        }
        _ => {}
    }
    let server = serve();
    let at = server.address();
    let mut first = Browser::open(at);
    let mut held = Vec::new();
    for i in 0..HALF_OPEN {
        let mut stream = TcpStream::connect_timeout(&at, Duration::from_secs(20)).unwrap();
        // What the server closes meanwhile cannot be written to.
        drop(write!(stream, "GET / HTTP/1.1\r\nHost: {at}\r\nX-Slow: "));
        held.push(stream);
        if i % 200 == 199 {
            let begun = Instant::now();
            assert_eq!(first.ask(&query(i as u32))["id"], i);
            assert!(begun.elapsed() < Duration::from_secs(5), "an answer took {:?}", begun.elapsed());
        }
    }
    // Others come in too: pages and sockets.
    assert_eq!(status(&get(at, "/", &format!("Host: {at}\r\n"))), 200);
    assert_eq!(Browser::open(at).ask(&query(7))["id"], 7);
    assert_eq!(first.ask(&query(8))["id"], 8);
    // Of all that are half open the server holds few, and none for long.
    let open = |stream: &mut TcpStream| {
        stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        matches!(stream.read(&mut [0; 512]), Err(e) if matches!(e.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut))
    };
    let count = held.iter_mut().filter_map(|stream| open(stream).then_some(())).count();
    assert!(count <= 128, "{count} are still open");
    std::thread::sleep(Duration::from_secs(6));
    // A late answer (408) may be read before the end.
    let left = held.iter_mut().filter_map(|stream| (open(stream) && open(stream)).then_some(())).count();
    assert_eq!(left, 0, "still open after the time for a request's head");
    assert_eq!(first.ask(&query(9))["id"], 9);
}

#[test]
fn there_are_so_many_sockets_and_no_more() {
    let server = serve();
    let at = server.address();
    let mut all: Vec<Browser> = (0..64).map(|_| Browser::open(at)).collect();
    let refused = Browser::try_open(at, "/ws", None).err().expect("all places are taken");
    assert!(refused.contains("503"), "{refused}");
    drop(all.pop());
    let begun = Instant::now();
    while Browser::try_open(at, "/ws", None).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(10), "a place that was left is free again");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(all[0].ask(&query(1))["id"], 1);
}

/// The first line and headers that the server answers a request with.
fn ask(at: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // The server may refuse before it has read everything.
    drop(stream.write_all(request.as_bytes()));
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer));
    String::from_utf8_lossy(&answer).to_lowercase()
}

#[test]
fn other_methods_are_not_allowed() {
    let server = serve();
    let at = server.address();
    for path in ["/", "/app.js", "/ws"] {
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "NONSENSE"] {
            let answer = ask(at, &format!("{method} {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"));
            assert_eq!(status(&answer), 405, "{method} {path}: {answer}");
            let allow = answer.lines().find(|line| line.starts_with("allow:")).expect("what is allowed");
            assert!(allow.contains("get") && allow.contains("head"), "{allow}");
        }
    }
    let head = ask(at, &format!("HEAD / HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"));
    assert!(status(&head) == 200 && head.ends_with("\r\n\r\n"), "a HEAD has no instance: {head}");
}

#[test]
fn heads_of_requests_are_bounded() {
    let server = serve();
    let at = server.address();
    let long = format!("GET / HTTP/1.1\r\nHost: {at}\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    let many = format!("GET / HTTP/1.1\r\nHost: {at}\r\n{}\r\n", "A: b\r\n".repeat(100));
    for request in [long, many] {
        let answer = ask(at, &request);
        // A server that closes while more is being sent may lose its answer on the way.
        assert!(answer.is_empty() || status(&answer) == 431, "{answer}");
    }
    assert_eq!(status(&get(at, "/", &format!("Host: {at}\r\n"))), 200);
}
