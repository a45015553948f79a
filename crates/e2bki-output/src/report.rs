//! `--report`: the results of a run as one HTML file.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use e2bki::{ClassSet, Config, Mapper, SemanticMapper};
use e2bki_eval::Record;
use e2bki_eval::plot::{Figure, Panel};
use e2bki_store::heat;
use e2bki_view::{Bar, Legend, Report};

use crate::pictures;

/// Uncertainty at the top of the colour scale.
const TOP: f64 = 0.5;

/// Scores of maps: IoU by class of each record as bars, and all reliability diagrams in one.
pub fn scores(report: &mut Report, records: &[Record], classes: &ClassSet) -> Result<()> {
    let scored: Vec<&Record> = records.iter().filter(|record| record.iou.values().any(Option::is_some)).collect();
    let score = |record: &Record, name: &str| record.iou.get(name).copied().flatten();
    let (seen, unseen): (Vec<_>, Vec<_>) = (classes.names().iter().zip(classes.colors()))
        .partition(|(name, _)| scored.iter().any(|record| score(record, name).is_some()));
    if !scored.is_empty() {
        report.section("IoU by class, %");
        let bar = |record: &Record, (name, color): &(&String, &[u8; 3])| Bar {
            name: (*name).clone(),
            color: **color,
            percent: score(record, name),
        };
        let chart = |record: &&Record| (record.method.clone(), seen.iter().map(|class| bar(record, class)).collect());
        report.bars(&scored.iter().map(chart).collect::<Vec<_>>());
        if !unseen.is_empty() {
            let names: Vec<&str> = unseen.iter().map(|(name, _)| name.as_str()).collect();
            report.text(&format!("Classes without queries or predictions: {}.", names.join(", ")));
        }
    }
    if records.iter().any(|record| !record.reliability.is_empty()) {
        report.section("Reliability");
        report.text("On the dashed line, confidence equals accuracy; below it, a map is overconfident.");
        let curves = records.iter().map(|record| (record.method.clone(), record.reliability.as_slice()));
        let mut figure = Figure::new("", 1, vec![Panel::reliability("", curves)]);
        figure.panel_px = (620, 460);
        report.drawing(&figure.svg()?);
    }
    Ok(())
}

/// The map from above: classes and uncertainty.
pub fn from_above(report: &mut Report, map: &dyn SemanticMapper, trajectory: &[[f64; 3]]) -> Result<()> {
    let cells = map.bev()?;
    if cells.centers.is_empty() {
        return Ok(());
    }
    report.section("The map from above");
    let classes = map.classes();
    let color = |b: &e2bki::Belief| b.label().map_or(pictures::BACKGROUND, |label| classes.colors()[label]);
    let semantic = pictures::bev(&cells, trajectory, color);
    let uncertain = pictures::bev(&cells, trajectory, |b| heat(b.uncertainty() / TOP));
    let width = |values: fn(f64, f64) -> f64, from: f64| cells.centers.iter().map(|c| c[0]).fold(from, values);
    let wide_m = width(f64::max, f64::NEG_INFINITY) - width(f64::min, f64::INFINITY) + cells.resolution;
    let way = if trajectory.is_empty() { "" } else { " (white: sensor trajectory)" };
    let legend = seen(classes, cells.beliefs.iter().filter_map(|b| b.label()));
    report.picture(&format!("Classes{way}"), &semantic, Some(&legend), Some(wide_m))?;
    let ramp = Legend::Ramp {
        colors: (0..=8).map(|i| heat(f64::from(i) / 8.0)).collect(),
        low: "sure (u = 0)".into(),
        high: format!("unsure (u ≥ {TOP})"),
    };
    report.picture("Uncertainty u = u_sem + u_spa", &uncertain, Some(&ramp), Some(wide_m))?;
    Ok(())
}

/// Legend of the visible classes.
pub fn seen(classes: &ClassSet, labels: impl Iterator<Item = usize>) -> Legend {
    let labels: BTreeSet<usize> = labels.collect();
    Legend::Classes(labels.into_iter().map(|i| (classes.names()[i].clone(), classes.colors()[i])).collect())
}

/// Milliseconds per frame of each stage.
pub fn stages(report: &mut Report, stages: &[(String, f64)]) {
    report.section("Time per frame");
    report.amounts("ms", stages);
}

/// Bytes of the map, by part.
pub fn memory(report: &mut Report, map: &Mapper) {
    report.section("Memory of the map");
    let bytes = map.byte_size();
    let row = |name: &str, bytes: usize| vec![name.to_string(), format!("{:.1}", bytes as f64 / 1e6)];
    report.table(&[
        vec!["part".into(), "MB".into()],
        row("primitives", bytes.primitives),
        row("derived from them", bytes.derived),
        row("index", bytes.index),
        row("voxels", bytes.voxels),
        row("all", bytes.total()),
    ]);
}

/// How to reproduce it: the command, and the parameters where there is one set of them.
pub fn again(report: &mut Report, config: Option<&Config>) {
    report.section("Made with");
    report.code("command", &command(), true);
    if let Some(config) = config {
        report.code("every parameter", &config.to_toml(), false);
    }
}

/// Writes a report of a map alone: what it holds, how it looks from above, its memory and parameters.
pub fn report_map(map: &Mapper, title: &str, trajectory: &[[f64; 3]], path: &Path) -> Result<()> {
    let mut page =
        Report::new(title, &format!("{} classes, {} m voxels", map.classes().len(), map.config().views.resolution));
    page.figures(&[
        ("frames", map.frames().to_string()),
        ("primitives", map.len().to_string()),
        ("voxels", map.live_voxel_count().to_string()),
    ]);
    from_above(&mut page, map, trajectory)?;
    page.picture("Primitives as ellipsoids", &pictures::primitives(map, trajectory), None, None)?;
    memory(&mut page, map);
    page.section("Made with");
    page.code("every parameter", &map.config().to_toml(), false);
    save(&page, path)
}

/// Writes the file and says so.
pub fn write(report: &Report, path: &Path) -> Result<()> {
    save(report, path)?;
    crate::table::line(&format!("wrote {}", path.display()))
}

fn save(report: &Report, path: &Path) -> Result<()> {
    crate::outputs::write(path, report.to_html())
}

/// The command line as a shell takes it.
pub fn command() -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    let quoted = |word: String| {
        if !word.is_empty() && word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    let words = std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    ["e2bki".to_string()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}
