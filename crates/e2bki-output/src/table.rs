//! Printing: aligned tables for people, JSON for machines.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

use crate::outputs;

/// Text that a terminal shows and does not obey: names of classes and drives come from files that anybody may have made.
/// Control characters, and those that turn the direction of what follows, are written as escapes.
pub fn harmless(text: &str) -> Cow<'_, str> {
    shown(text, |_| false)
}

/// The same for text of several lines.
fn harmless_lines(text: &str) -> Cow<'_, str> {
    shown(text, |c| matches!(c, '\n' | '\t'))
}

fn shown(text: &str, allowed: impl Fn(char) -> bool) -> Cow<'_, str> {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let harmful = |c: char| (c.is_control() || turns(c)) && !allowed(c);
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let each = |c: char| if harmful(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(each).collect())
}

/// Says something on standard error. Nobody may be there to hear it: a terminal that was closed is no reason to stop.
pub fn say(text: &str) {
    writeln!(std::io::stderr(), "{}", harmless_lines(text)).ok();
}

/// Rows of cells; the first is the heading. The first column is aligned left, the others right.
pub fn print(rows: &[Vec<String>]) -> Result<()> {
    let rows: Vec<Vec<Cow<'_, str>>> = rows.iter().map(|row| row.iter().map(|cell| harmless(cell)).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|c| rows.iter().filter_map(|row| row.get(c)).map(|cell| cell.chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        for (c, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[c] - cell.chars().count());
            text += &if c == 0 { format!("{cell}{pad}") } else { format!("  {pad}{cell}") };
        }
        text = text.trim_end().to_string() + "\n";
        if number == 0 {
            text += &("─".repeat(widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1)) + "\n");
        }
    }
    line(&text)
}

/// Rows of words: every column is aligned left.
pub fn print_left(rows: &[Vec<String>]) -> Result<()> {
    let rows: Vec<Vec<Cow<'_, str>>> = rows.iter().map(|row| row.iter().map(|cell| harmless(cell)).collect()).collect();
    let width = rows.iter().filter_map(|row| row.first()).map(|cell| cell.chars().count()).max().unwrap_or(0);
    for row in &rows {
        let cell = |i: usize| row.get(i).map(|cell| &**cell).unwrap_or_default();
        let first = cell(0);
        line(format!("{first}{}  {}", " ".repeat(width - first.chars().count()), cell(1)).trim_end())?;
    }
    Ok(())
}

/// Whether standard output is kept for JSON (`--json -`), so that a machine can read it: people are then told on
/// standard error.
static FOR_MACHINES: AtomicBool = AtomicBool::new(false);

/// Looks for `--json -` among the arguments of the program.
pub fn heed(arguments: &[std::ffi::OsString]) {
    let asked = arguments.windows(2).any(|pair| pair[0] == "--json" && pair[1] == "-");
    FOR_MACHINES.store(asked || arguments.iter().any(|a| a == "--json=-"), Ordering::Relaxed);
}

/// Prints text and a line end. A reader that went away (`| head`) is no reason to leave the work undone: what a command
/// prints may come before what it writes.
pub fn line(text: &str) -> Result<()> {
    let text = harmless_lines(text);
    let printed = if FOR_MACHINES.load(Ordering::Relaxed) {
        writeln!(std::io::stderr(), "{text}")
    } else {
        writeln!(std::io::stdout(), "{text}")
    };
    match printed {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot print"),
    }
}

/// Writes JSON to a file, or to standard output for `-`.
pub fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    if path.as_os_str() == "-" {
        return writeln!(std::io::stdout(), "{}", text.trim_end()).context("cannot print");
    }
    outputs::write(path, text)
}

/// A progress bar on standard error; nothing where that is not a terminal.
pub fn progress(length: usize, what: &str) -> indicatif::ProgressBar {
    let style = indicatif::ProgressStyle::with_template("{msg:14} {bar:40} {pos}/{len} {eta}")
        .unwrap_or_else(|_| indicatif::ProgressStyle::default_bar());
    indicatif::ProgressBar::new(length as u64).with_style(style).with_message(what.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        assert_eq!(
            harmless("road \u{1b}]0;owned\u{7}\u{9b}2J\r\n\u{202e}x"),
            "road \\u{1b}]0;owned\\u{7}\\u{9b}2J\\r\\n\\u{202e}x"
        );
        assert_eq!(harmless("Straße, 道路, дорога – é"), "Straße, 道路, дорога – é");
        assert_eq!(harmless_lines("a\nb\tc\u{1b}[31m"), "a\nb\tc\\u{1b}[31m");
    }
}
