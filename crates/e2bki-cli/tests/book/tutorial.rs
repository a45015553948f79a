//! The tutorial as a reader follows it: every command is run, and prints what the page shows.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::pages::root;

/// The code blocks of a page, each with the name of its language.
fn blocks(page: &str) -> Vec<(String, String)> {
    let (mut found, mut open) = (Vec::new(), None);
    for event in Parser::new(page) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                open = Some((language.to_string(), String::new()));
            }
            Event::Text(text) => {
                if let Some((_, block)) = &mut open {
                    block.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => found.extend(open.take()),
            _ => {}
        }
    }
    found
}

fn shell(line: &str, folder: &Path) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_e2bki")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("exec {line}")).current_dir(folder);
    command.env("PATH", format!("{}:{path}", program.display())).env("COLUMNS", "120");
    command
}

/// What a command prints; a viewer is asked for its page and ended.
fn run(line: &str, folder: &Path) -> String {
    if !line.starts_with("e2bki view ") {
        let done = shell(line, folder).output().unwrap();
        let printed = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{line}\n{printed}{}", String::from_utf8_lossy(&done.stderr));
        return printed;
    }
    let mut viewer = shell(&format!("{line} --port 0"), folder).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(viewer.stdout.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.find_map(|line| line.strip_prefix("open http://").map(String::from)).unwrap();
    let host = address.split('/').next().unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    viewer.kill().unwrap();
    viewer.wait().unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    String::new()
}

/// Words of a line: how wide a column is does not matter.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn every_command_of_the_tutorial_does_what_it_says() {
    let page = std::fs::read_to_string(root().join("docs/tutorial.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (mut printed, mut commands) = (String::new(), 0);
    for (language, block) in blocks(&page) {
        match language.as_str() {
            "sh" => {
                printed.clear();
                for line in block.lines().map(|line| line.split(" # ").next().unwrap().trim()) {
                    printed += &run(line, folder.path());
                    commands += 1;
                }
            }
            // What the commands above it print; lines of dots stand for others.
            "text" => {
                for line in block.lines().filter(|line| !line.trim().is_empty() && line.trim() != "…") {
                    let found = printed.lines().any(|other| words(other) == words(line));
                    assert!(found, "the tutorial shows `{line}`, the commands print\n{printed}");
                }
            }
            // A file whose name stands in its first line.
            "toml" => {
                let name = block.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap();
                std::fs::write(folder.path().join(name), &block).unwrap();
            }
            _ => {}
        }
    }
    assert!(commands >= 10, "{commands} commands");
    for file in ["inspect.png", "mine.e2bki", "costs.pgm", "costs.yaml"] {
        assert!(folder.path().join(file).exists(), "{file} was not written");
    }
}
