//! Pages in Markdown: their links and the places in them that can be linked to.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The folder of the project.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Files with one of these endings, below a folder; not those that were built.
pub(crate) fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let built = ["target", "node_modules", "experiments-out", "demo-out"].contains(&name.as_str());
            if !built && !name.starts_with('.') {
                found.extend(files(&path, endings));
            }
        } else if path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A page.
pub(crate) struct Page {
    /// Where its links and pictures lead.
    pub(crate) links: Vec<String>,
    /// The places of its headings, as browsers know them.
    pub(crate) anchors: Vec<String>,
}

impl Page {
    pub(crate) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let (mut links, mut anchors, mut heading) = (Vec::new(), Vec::new(), None);
        let mut seen: HashMap<String, usize> = HashMap::new();
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    links.push(dest_url.to_string())
                }
                Event::Html(html) | Event::InlineHtml(html) => {
                    for part in ["src=\"", "href=\""].iter().flat_map(|start| html.split(start).skip(1)) {
                        links.extend(part.split('"').next().map(String::from));
                    }
                    for part in html.split("id=\"").skip(1) {
                        anchors.extend(part.split('"').next().map(String::from));
                    }
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(part) | Event::Code(part) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&part);
                    }
                }
                Event::End(TagEnd::Heading(_)) => {
                    let place = place(&heading.take().unwrap_or_default());
                    let before = seen.entry(place.clone()).or_default();
                    anchors.push(if *before == 0 { place } else { format!("{place}-{before}") });
                    *before += 1;
                }
                _ => {}
            }
        }
        Self { links, anchors }
    }
}

/// The place of a heading: mdBook and code hosts make it alike from these.
fn place(heading: &str) -> String {
    let kept = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    };
    heading.trim().chars().filter_map(kept).collect()
}
