//! The book: every link leads somewhere, every page is in it, and what it says is what the program does.

#![allow(clippy::expect_used, clippy::unwrap_used)] // a test may fail loudly

mod pages;
mod tutorial;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use pages::{Page, files, root};

#[test]
fn every_link_of_every_page_leads_somewhere() {
    let (mut broken, mut links) = (Vec::new(), 0);
    for path in files(&root(), &["md"]) {
        let page = Page::read(&path);
        for link in &page.links {
            links += 1;
            if let Some(why) = fault(&path, &page, link) {
                broken.push(format!("{}: {link}: {why}", path.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(links > 100, "only {links} links found: are the pages read at all?");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Why a link of a page is broken, if it is. Nothing is asked of the network.
fn fault(path: &Path, page: &Page, link: &str) -> Option<String> {
    if ["http://", "https://", "mailto:"].iter().any(|scheme| link.starts_with(scheme)) {
        return None;
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let target = path.parent().unwrap().join(file);
    if !file.is_empty() && !target.exists() {
        return Some("there is no such file".into());
    }
    let anchors = match (anchor, file) {
        (None, _) => return None,
        (Some(_), "") => page.anchors.clone(),
        (Some(_), _) if target.extension().is_some_and(|ending| ending == "md") => Page::read(&target).anchors,
        (Some(_), _) => return Some("only pages have places to link to".into()),
    };
    let found = anchors.iter().any(|known| Some(known.as_str()) == anchor);
    (!found).then(|| format!("no heading has that place; there are {}", anchors.join(", ")))
}

#[test]
fn every_page_of_the_book_is_in_its_contents_once() {
    let docs = root().join("docs");
    let contents = Page::read(&docs.join("SUMMARY.md"));
    let listed: Vec<PathBuf> = contents.links.iter().map(|link| docs.join(link).canonicalize().unwrap()).collect();
    let once: BTreeSet<&PathBuf> = listed.iter().collect();
    assert_eq!(once.len(), listed.len(), "a page stands in SUMMARY.md twice");
    for page in files(&docs, &["md"]).iter().filter(|page| !page.ends_with("SUMMARY.md")) {
        assert!(once.contains(&page.canonicalize().unwrap()), "{} is not in docs/SUMMARY.md", page.display());
    }
}

#[test]
fn documents_that_the_code_names_exist() {
    let mut named = 0;
    for path in files(&root(), &["rs", "py", "pyi", "sh", "toml", "mjs"]) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        for (at, _) in text.match_indices("docs/") {
            let name: String =
                text[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || "_-./".contains(*c)).collect();
            let name = name.trim_end_matches('.');
            if [".md", ".json", ".png"].iter().any(|ending| name.ends_with(ending)) {
                named += 1;
                assert!(root().join(name).exists(), "{} names {name}, which does not exist", path.display());
            }
        }
    }
    assert!(named > 0);
}

#[test]
fn the_page_of_parameters_is_what_the_program_prints() {
    let printed = Command::new(env!("CARGO_BIN_EXE_e2bki")).args(["config", "--markdown"]).output().unwrap();
    let page = std::fs::read_to_string(root().join("docs/parameters.md")).unwrap();
    assert!(
        String::from_utf8(printed.stdout).unwrap() == page,
        "docs/parameters.md is out of date: e2bki config --markdown > docs/parameters.md"
    );
}

/// Letters of all sources, without the breaks of long lines: `…` of a message stands for what is filled in.
fn sources() -> String {
    let all = files(&root().join("crates"), &["rs"]);
    let text: String = all.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    text.split('\\').map(str::trim_start).collect()
}

#[test]
fn messages_that_the_questions_page_explains_are_those_of_the_program() {
    let page = std::fs::read_to_string(root().join("docs/faq.md")).unwrap();
    let (sources, mut messages) = (sources(), 0);
    for heading in page.lines().filter_map(|line| line.strip_prefix("### ")) {
        messages += 1;
        let message =
            heading.strip_prefix("``").and_then(|m| m.strip_suffix("``")).unwrap_or(heading.trim_matches('`'));
        for part in message.split('…').map(str::trim).filter(|part| part.len() > 2) {
            assert!(sources.contains(part), "no source has the message `{part}`");
        }
    }
    assert!(messages > 10, "{messages}");
}

#[test]
fn the_readme_has_the_numbers_of_the_benchmarks() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let (readme, benchmarks) = (read("README.md"), read("BENCHMARKS.md"));
    let default = |row: &str| {
        let line = benchmarks.lines().find(|line| line.starts_with(&format!("| {row} |"))).expect(row);
        line.split('|').nth(2).unwrap().trim().to_string()
    };
    let before = |mark: &str| benchmarks.split(mark).next().unwrap().rsplit("**").next().unwrap().trim().to_string();
    for number in [
        format!("mIoU {}", default("mIoU")),
        format!("accuracy {} %", default("Acc")),
        format!("(ECE) {} %", default("ECE")),
        before("from frame to frame"),
    ] {
        assert!(readme.contains(&number), "BENCHMARKS.md has {number:?}, README.md has not");
    }
}
