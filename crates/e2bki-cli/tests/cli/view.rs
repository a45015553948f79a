//! Looking at maps as a user meets it: the viewer as a process, and reports.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use crate::{e2bki, golden};

/// A viewer that ends with the test.
struct Viewer {
    child: Child,
    printed: Vec<String>,
    /// Kept open: a program whose reader has gone away ends.
    _output: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Viewer {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_e2bki"));
        let mut child =
            command.arg("view").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut printed = Vec::new();
        while !printed.last().is_some_and(|line: &String| line.starts_with("open ")) {
            printed.push(lines.next().expect("an address before the end").unwrap());
        }
        Self { child, printed, _output: lines }
    }

    fn address(&self) -> &str {
        let url = self.printed.last().unwrap().strip_prefix("open http://").unwrap();
        url.split('/').next().unwrap()
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_map_is_served_and_a_taken_port_is_said() {
    let (folder, map) = (tempfile::tempdir().unwrap(), golden());
    std::fs::copy(&map, folder.path().join("map.e2bki")).unwrap();
    // A folder that holds one map is that map.
    let first = Viewer::start(&[folder.path().to_str().unwrap(), "--port", "0"]);
    let mut stream = std::net::TcpStream::connect(first.address()).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", first.address()).unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("e2bki viewer"), "{page}");
    let port = first.address().rsplit(':').next().unwrap();
    let mut second = Viewer::start(&[map.to_str().unwrap(), map.to_str().unwrap(), "--port", port]);
    assert_ne!(first.address(), second.address());
    second.child.kill().unwrap();
    let mut said = String::new();
    second.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains(&format!("port {port} is taken")), "{said}");
}

#[test]
fn what_cannot_be_shown_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let (empty, broken) = (folder.path().to_str().unwrap(), folder.path().join("broken.e2bki"));
    let map = golden();
    let refused = |arguments: &[&str], hint: &str| {
        let output = e2bki(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(hint) && !said.contains("panicked"), "{arguments:?}: {said}");
    };
    refused(&["view", empty], "holds no map");
    let mut bytes = std::fs::read(&map).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&broken, bytes).unwrap();
    refused(&["view", broken.to_str().unwrap()], "e2bki recover");
    refused(&["view", "no-such-map"], "no-such-map");
    refused(&["view", map.to_str().unwrap(), "--resolution", "0"], "0.005 to 10");
    refused(&["view", map.to_str().unwrap(), "--trajectory", "no-such-poses"], "no-such-poses");
    refused(&["view", map.to_str().unwrap(), "--host", "203.0.113.1"], "--host");
}

#[test]
fn a_report_is_one_file_with_everything_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let [drive, report, map, scores] =
        ["drive", "map.html", "map.e2bki", "eval.html"].map(|name| folder.path().join(name));
    let [drive, map_file] = [drive.to_str().unwrap(), map.to_str().unwrap()];
    let made = e2bki(&["simulate", "--world", "urban", "--frames", "2", "--format", "semantickitti", "--out", drive]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mapped = e2bki(&["map", drive, "--report", report.to_str().unwrap(), "--set", "cell_size=0.3", "-o", map_file]);
    assert!(mapped.status.success(), "{}", String::from_utf8_lossy(&mapped.stderr));
    let html = std::fs::read_to_string(&report).unwrap();
    assert_eq!(html.matches("data:image/png;base64,").count(), 2);
    for part in [
        "Uncertainty",
        "Time per frame",
        "sanitise",
        "cell_size = 0.3",
        "--set cell_size=0.3",
        "received",
        "primitives",
    ] {
        assert!(html.contains(part), "{part}");
    }
    for outside in ["src=\"http", "href=", "@import"] {
        assert!(!html.contains(outside), "{outside}");
    }
    // The map scored by the labels it was made from: nearly all is right, and the report says what the table says.
    let scored = e2bki(&["eval", map_file, drive, "--report", scores.to_str().unwrap(), "--json", "-"]);
    assert!(scored.status.success(), "{}", String::from_utf8_lossy(&scored.stderr));
    let numbers: serde_json::Value = serde_json::from_slice(&scored.stdout).unwrap();
    assert_eq!(numbers["scores"].as_array().unwrap().len(), 3);
    let accuracy = numbers["scores"][0]["acc"].as_f64().unwrap();
    assert!((90.0..=100.0).contains(&accuracy), "{accuracy}");
    let html = std::fs::read_to_string(&scores).unwrap();
    assert!(html.contains(&format!("<strong>{accuracy:.1}</strong>")) && html.contains("<svg"));
    let refused = e2bki(&["eval", golden().to_str().unwrap(), drive]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && said.contains("--classes"), "{said}");
}
