//! How good the maps of a few configurations are: even scans mapped, the points of the odd ones asked about.

use anyhow::Result;
use e2bki::{ClassSet, Config, Mapper};
use e2bki_eval::{Asked, Confidence, Entrant, GroundTruth, LabelledFrame, Record, View, assess};
use serde_json::{Value, json};

use crate::{score, table};

/// Configurations side by side: a name and the settings that differ from the default.
const VARIANTS: [(&str, &[(&str, &str)]); 7] = [
    ("default", &[]),
    ("independent points", &[("correlation", "0")]),
    ("merge by distance", &[("merge", "true")]),
    ("cells 0.4 m", &[("cell_size", "0.4")]),
    ("K-means++ 1024", &[("clustering", "kmeans++"), ("cluster_count", "total"), ("merge", "true")]),
    (
        "K-means++ 8192",
        &[("clustering", "kmeans++"), ("cluster_count", "total"), ("clusters", "8192"), ("merge", "true")],
    ),
    ("spheres", &[("shape", "sphere")]),
];

pub(crate) fn run(input: &[LabelledFrame], classes: &ClassSet, threads: usize) -> Result<Value> {
    let mut entrants = Vec::new();
    for (name, settings) in VARIANTS {
        let mut config = Config::default().with(|c| c.run.threads = threads);
        for (key, value) in settings {
            config.set_text(key, value)?;
        }
        let map = Mapper::new(classes.clone(), config)?;
        entrants.push(Entrant::new(name, Box::new(map), 2, Confidence::Decomposed));
    }
    let mut truth = GroundTruth::new(classes.len(), Asked::Points, f64::INFINITY, &[View::Voxel]);
    let frames = input.iter().map(|frame| Ok(frame.clone()));
    e2bki_eval::run(frames, &mut entrants, &mut truth, |i| i % 2 == 1, |_| {})?;
    let questions = truth.into_questions();
    let records = entrants
        .iter()
        .map(|entrant| Ok(assess("held-out scans", entrant, View::Voxel, &questions)?.0))
        .collect::<Result<Vec<Record>>>()?;
    table::print(&score::rows(&records, classes))?;
    table::line("")?;
    Ok(json!({"name": "accuracy", "scores": records}))
}
