//! `--report` of a run over a dataset.

use std::path::Path;

use anyhow::Result;
use e2bki::Config;
use e2bki_view::Report;

use super::method::Map;
use super::report::Account;
use super::source::Source;
use crate::report;

/// Writes the report.
pub(crate) fn write(
    account: &Account,
    dataset: &Source,
    map: &Map,
    (method, config): (&str, &Config),
    trajectory: &[[f64; 3]],
    path: &Path,
) -> Result<()> {
    let about = format!("{} sequence {}, mapped with {method}", dataset.format(), dataset.sequence());
    let mut page = Report::new("e2bki map", &about);
    page.figures(&account.figures(map));
    report::from_above(&mut page, map.seen(), trajectory)?;
    if matches!(map, Map::Budgeted(_)) {
        page.text("Only the part of the map that was in memory at the end is drawn; the map file holds all of it.");
    }
    page.section("Frames and points");
    for rows in account.tables(dataset) {
        page.table(&rows);
    }
    let stages: Vec<(String, f64)> = account.stages().into_iter().map(|(name, ms)| (name.to_string(), ms)).collect();
    report::stages(&mut page, &stages);
    if let Some(map) = map.primitives() {
        report::memory(&mut page, map);
    }
    for note in dataset.notes() {
        page.text(&format!("note: {note}"));
    }
    report::again(&mut page, Some(config));
    report::write(&page, path)
}
