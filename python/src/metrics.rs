//! Metrics and the protocol. Results go to Python as JSON, which `e2bki.metrics` makes objects of.

use std::time::Instant;

use e2bki::{ClassSet, Frame, FrameReport, Timings};
use e2bki_baselines::Baseline;
use e2bki_eval::{
    Answers, Asked, Calibration, Confidence, GroundTruth, Questions, Record, SourceCalibration, Tally, VarianceRange,
    View, assess_map, assess_network, common_miou,
};
use pyo3::prelude::*;
use serde_json::json;

use crate::arrays;
use crate::baselines::PyBaseline;
use crate::beliefs::PyBeliefs;
use crate::classes::class_set;
use crate::config::{PyConfig, config_or_default};
use crate::errors::{Failure, Result};
use crate::frame::PyFrame;
use crate::map::PyMap;
use crate::sim::named;
use crate::threads;

/// evaluate_beliefs(truth, beliefs, reading) -> str
#[pyfunction]
pub(crate) fn evaluate_beliefs(
    py: Python<'_>,
    truth: &Bound<'_, PyAny>,
    beliefs: &Bound<'_, PyBeliefs>,
    reading: &str,
) -> Result<String> {
    let (source, classes) = (&beliefs.get().source, beliefs.get().classes.len());
    let truth = arrays::labels(truth, "truth", Some(source.len()))?;
    let reading: Confidence = named("confidence", reading, "decomposed, variance, min-max")?;
    let (tally, calibration) = threads::work(py, || {
        let range = VarianceRange::of((0..source.len()).map(|place| source.get(place)));
        let (mut tally, mut calibration) = (Tally::new(classes), Calibration::default());
        for (place, truth) in truth.iter().enumerate() {
            let (belief, truth) = (source.get(place), *truth as usize);
            tally.add(truth, belief.label());
            if let Some(label) = belief.label().filter(|_| truth < classes) {
                calibration.add(label == truth, reading.of(&belief, range));
            }
        }
        (tally, calibration)
    })?;
    scores(&tally, Some(&calibration))
}

/// evaluate_labels(truth, labels, classes, confidence) -> str
#[pyfunction]
#[pyo3(signature = (truth, labels, classes, confidence))]
pub(crate) fn evaluate_labels(
    truth: &Bound<'_, PyAny>,
    labels: &Bound<'_, PyAny>,
    classes: usize,
    confidence: Option<&Bound<'_, PyAny>>,
) -> Result<String> {
    if !(1..=e2bki::MAX_CLASSES).contains(&classes) {
        return Err(Failure::value(format!("`classes` is {classes}; allowed: 1 to {}", e2bki::MAX_CLASSES)));
    }
    let truth = arrays::labels(truth, "truth", None)?;
    let labels = arrays::labels(labels, "belief", Some(truth.len()))?;
    let confidence =
        confidence.map(|values| arrays::vector_f64(values, "confidence", Some(truth.len()))).transpose()?;
    let (mut tally, mut calibration) = (Tally::new(classes), Calibration::default());
    for (place, (truth, label)) in truth.iter().zip(&labels).enumerate() {
        let (truth, label) = (*truth as usize, Some(*label as usize).filter(|label| *label < classes));
        tally.add(truth, label);
        if let (Some(label), Some(confidence)) = (label.filter(|_| truth < classes), &confidence) {
            calibration.add(label == truth, confidence[place]);
        }
    }
    scores(&tally, confidence.is_some().then_some(&calibration))
}

fn scores(tally: &Tally, calibration: Option<&Calibration>) -> Result<String> {
    let score = tally.score();
    let value = json!({
        "iou": score.iou, "miou": score.miou, "miou_strict": score.strict_miou, "acc": score.acc,
        "queries": score.queries, "occupied": score.occupied,
        "bs": calibration.and_then(Calibration::brier), "ece": calibration.and_then(Calibration::ece),
        "reliability": calibration.map(Calibration::reliability).unwrap_or_default(),
    });
    Ok(value.to_string())
}

/// A map that takes part in a comparison.
enum Method<'a> {
    Ours(&'a PyMap),
    Baseline(&'a PyBaseline),
}

impl Method<'_> {
    fn classes(&self) -> &ClassSet {
        match self {
            Self::Ours(map) => &map.classes,
            Self::Baseline(map) => &map.classes,
        }
    }

    /// Dempster–Shafer maps and ours carry an uncertainty of their own; the others have a variance only.
    fn confidence(&self) -> Confidence {
        match self {
            Self::Baseline(map) if map.baseline != Baseline::Dst => Confidence::Variance,
            _ => Confidence::Decomposed,
        }
    }

    fn insert(&self, py: Python<'_>, frame: &Frame<'_>) -> Result<FrameReport> {
        Ok(match self {
            Self::Ours(map) => map.write(py, |map| map.insert(frame))??,
            Self::Baseline(map) => map.with(py, |map| map.insert(frame))??,
        })
    }

    fn assess(&self, py: Python<'_>, dataset: &str, view: View, questions: &Questions) -> Result<(Record, Answers)> {
        let confidence = self.confidence();
        Ok(match self {
            Self::Ours(map) => map.read(py, |map| assess_map(dataset, map, confidence, view, questions))??,
            Self::Baseline(map) => map.with(py, |map| assess_map(dataset, map, confidence, view, questions))??,
        })
    }
}

/// A method with its name and what mapping cost it.
struct Entrant<'a> {
    name: String,
    method: Method<'a>,
    mapped: usize,
    seconds: f64,
    stages: Timings,
}

/// calibrate_source(frames, classes, config) -> tuple[Config, str] | None
#[pyfunction]
pub(crate) fn calibrate_source(
    py: Python<'_>,
    frames: &Bound<'_, PyAny>,
    classes: &Bound<'_, PyAny>,
    config: Option<PyConfig>,
) -> Result<Option<(PyConfig, String)>> {
    let (classes, config) = (class_set(classes)?, config_or_default(config));
    let mut labelled = Vec::new();
    for frame in frames.try_iter()? {
        labelled.push(frame?.cast::<PyFrame>().map_err(PyErr::from)?.get().labelled()?);
    }
    let learned = threads::work(py, || SourceCalibration::learn(&labelled, &classes, &config, || {}))??;
    let Some(learned) = learned else { return Ok(None) };
    let text = serde_json::to_string(&learned).map_err(|e| Failure::value(e.to_string()))?;
    Ok(Some((PyConfig(learned.config().clone()), text)))
}

/// compare(frames, methods, views, dataset, every, asked, max_range, held_out, network) -> str
#[pyfunction]
#[pyo3(signature = (frames, methods, views, dataset, every, asked, max_range, held_out, network))]
#[allow(clippy::too_many_arguments)] // called by e2bki.metrics only
pub(crate) fn compare(
    py: Python<'_>,
    frames: &Bound<'_, PyAny>,
    methods: Vec<(String, Bound<'_, PyAny>)>,
    views: Vec<String>,
    dataset: &str,
    every: usize,
    asked: &str,
    max_range: f64,
    held_out: bool,
    network: bool,
) -> Result<String> {
    let views: Vec<View> = views
        .iter()
        .map(|view| named("view", view, "voxel, continuous, bev, bev-continuous"))
        .collect::<Result<_>>()?;
    let asked = match asked {
        "cells" => Asked::Cells,
        "points" => Asked::Points,
        other => return Err(Failure::value(format!("`asked` is \"{other}\"; allowed: \"cells\", \"points\""))),
    };
    let mut entrants = Vec::new();
    for (name, method) in &methods {
        let method = if let Ok(map) = method.cast::<PyMap>() {
            Method::Ours(map.get())
        } else if let Ok(map) = method.cast::<PyBaseline>() {
            Method::Baseline(map.get())
        } else {
            return Err(Failure::kind(format!("`{name}` is neither a Map nor a baseline")));
        };
        entrants.push(Entrant { name: name.clone(), method, mapped: 0, seconds: 0.0, stages: Timings::default() });
    }
    let Some(classes) = entrants.first().map(|entrant| entrant.method.classes().clone()) else {
        return Err(Failure::value("there is nothing to compare: name at least one method"));
    };
    if let Some(other) = entrants.iter().find(|entrant| entrant.method.classes().names() != classes.names()) {
        return Err(Failure::value(format!("`{}` has other classes than `{}`", other.name, entrants[0].name)));
    }
    let mut truth = GroundTruth::new(classes.len(), asked, max_range, &views);
    let mut count = 0;
    for frame in frames.try_iter()? {
        let frame = frame?;
        let frame = frame.cast::<PyFrame>().map_err(PyErr::from)?.get();
        let maps = usize::is_multiple_of(count, every.max(1));
        for entrant in entrants.iter_mut().filter(|_| maps) {
            let start = Instant::now();
            let report = entrant.method.insert(py, &frame.borrow())?;
            entrant.seconds += start.elapsed().as_secs_f64();
            entrant.stages.add(&report.timings);
            entrant.mapped += 1;
        }
        if !(held_out && maps) {
            let labelled = frame.labelled()?;
            threads::work(py, || truth.add(&labelled))?;
        }
        count += 1;
    }
    let questions = threads::work(py, || truth.into_questions())?;
    let mut records = Vec::new();
    for view in views {
        records.extend(ask(py, &entrants, view, dataset, count, &questions)?);
        if network {
            records.push(Record { frames: count, ..assess_network(dataset, &classes, view, &questions) });
        }
    }
    Ok(serde_json::to_string(&records)?)
}

/// Asks every entrant the questions of a view.
fn ask(
    py: Python<'_>,
    entrants: &[Entrant<'_>],
    view: View,
    dataset: &str,
    frames: usize,
    questions: &Questions,
) -> Result<Vec<Record>> {
    let (mut records, mut answers) = (Vec::new(), Vec::new());
    for entrant in entrants {
        let (mut record, given) = entrant.method.assess(py, dataset, view, questions)?;
        record.method.clone_from(&entrant.name);
        (record.frames, record.mapped) = (frames, entrant.mapped);
        record.hz = (entrant.seconds > 0.0).then(|| entrant.mapped as f64 / entrant.seconds);
        let per_frame = |time: std::time::Duration| time.as_secs_f64() * 1e3 / entrant.mapped.max(1) as f64;
        let stages = entrant.stages.by_stage();
        record.stage_ms = stages.iter().map(|(stage, time)| (stage.to_string(), per_frame(*time))).collect();
        records.push(record);
        answers.push(given);
    }
    let truths = if view.is_planar() { questions.plane.truths() } else { questions.volume.truths() };
    let classes = entrants.first().map_or(0, |entrant| entrant.method.classes().len());
    for (record, miou) in records.iter_mut().zip(common_miou(classes, truths, &answers)) {
        record.miou_common = miou;
    }
    Ok(records)
}
