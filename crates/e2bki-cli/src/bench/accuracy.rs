//! How good the maps of a few configurations are: even scans mapped, the points of the odd ones asked about.

use anyhow::Result;
use e2bki::{ClassSet, Config, Mapper};
use serde_json::{Value, json};

use super::inputs::Input;
use crate::score::{self, Score, Tally};
use crate::table;

/// Configurations side by side: a name and the settings that differ from the default.
const VARIANTS: [(&str, &[(&str, &str)]); 6] = [
    ("default", &[]),
    ("merge by distance", &[("merge", "true")]),
    ("cells 0.4 m", &[("cell_size", "0.4")]),
    ("K-means++ 1024", &[("clustering", "kmeans++"), ("cluster_count", "total"), ("merge", "true")]),
    (
        "K-means++ 8192",
        &[("clustering", "kmeans++"), ("cluster_count", "total"), ("clusters", "8192"), ("merge", "true")],
    ),
    ("spheres", &[("shape", "sphere")]),
];

pub(crate) fn run(input: &[Input], classes: &ClassSet, threads: usize) -> Result<Value> {
    let mut scores: Vec<(&str, Score)> = Vec::new();
    for (name, settings) in VARIANTS {
        let mut config = Config { threads, ..Config::default() };
        for (key, value) in settings {
            config.set_text(key, value)?;
        }
        let mut map = Mapper::new(classes.clone(), config)?;
        for frame in input.iter().step_by(2) {
            map.insert(&frame.borrow())?;
        }
        scores.push((name, held_out(&map, input)));
    }
    let shown: Vec<(&str, &Score)> = scores.iter().map(|(name, score)| (*name, score)).collect();
    table::print(&score::rows(&shown, classes))?;
    table::line("")?;
    Ok(json!({"name": "accuracy", "scores": shown.iter().map(|(n, s)| s.to_json(n, classes)).collect::<Vec<_>>()}))
}

/// Asks for the voxels that hold the points of the odd frames.
fn held_out(map: &Mapper, input: &[Input]) -> Score {
    let side = map.config().resolution;
    let mut tally = Tally::new(map.classes().len());
    for frame in input.iter().skip(1).step_by(2) {
        let known: Vec<usize> =
            (0..frame.points.len()).filter(|k| (frame.truth[*k] as usize) < map.classes().len()).collect();
        let places: Vec<[f64; 3]> = known
            .iter()
            .map(|k| frame.pose.apply(frame.points[*k].map(f64::from)).map(|v| ((v / side).floor() + 0.5) * side))
            .collect();
        for (belief, k) in map.query(&places).iter().zip(known) {
            tally.add(frame.truth[k] as usize, belief.label().map(|label| (label, 1.0 - belief.uncertainty())));
        }
    }
    tally.score()
}
