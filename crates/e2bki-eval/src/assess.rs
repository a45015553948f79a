//! Asking a map, and what its answers are worth.

use e2bki::{Beliefs, ClassSet, SemanticMapper};

use crate::calibration::Calibration;
use crate::confidence::{Confidence, VarianceRange};
use crate::error::Result;
use crate::protocol::Entrant;
use crate::queries::Queries;
use crate::record::{CalibrationRecord, Record, View};
use crate::tally::{Score, Tally};
use crate::truth::Questions;

/// Queries asked at once: enough to keep every thread busy, few enough that a long drive needs little memory.
const PORTION: usize = 1 << 20;

/// The class a method gives each query; [`Answers::NONE`] where it has nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answers(pub Vec<u16>);

impl Answers {
    /// No answer.
    pub const NONE: u16 = u16::MAX;
}

/// Asks an entrant's map every question of a view. The record has no `miou_common`: that takes all entrants.
pub fn assess(dataset: &str, entrant: &Entrant, view: View, questions: &Questions) -> Result<(Record, Answers)> {
    let (mut record, answers) = assess_map(dataset, entrant.map.as_ref(), entrant.confidence, view, questions)?;
    record.method = entrant.name.clone();
    record.mapped = entrant.mapped;
    record.hz = entrant.hz();
    if entrant.mapped > 0 && !entrant.stages.total().is_zero() {
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3 / entrant.mapped as f64;
        record.stage_ms =
            entrant.stages.by_stage().iter().map(|(stage, time)| (stage.to_string(), ms(*time))).collect();
    }
    Ok((record, answers))
}

/// Asks a map every question of a view; `confidence` is the reading that the record's `bs` and `ece` have.
pub fn assess_map(
    dataset: &str,
    map: &dyn SemanticMapper,
    confidence: Confidence,
    view: View,
    questions: &Questions,
) -> Result<(Record, Answers)> {
    let mut record = Record::new(dataset, "", view);
    let (places, range) = if view.is_planar() {
        let cells = map.bev()?;
        (cells.centers.len(), VarianceRange::of(cells.beliefs.iter()))
    } else {
        let voxels = map.voxels()?;
        (voxels.centers.len(), VarianceRange::of(voxels.beliefs.iter()))
    };
    let asked = match view {
        View::Voxel => ask(&questions.volume, map.classes(), range, |places| map.query_voxels(places)),
        View::Continuous => ask(&questions.volume, map.classes(), range, |places| map.query(places)),
        View::Bev => ask(&questions.plane, map.classes(), range, |places| map.query_bev(places)),
        View::BevContinuous => ask(&questions.plane, map.classes(), range, |places| map.query_bev_points(places)),
    }?;
    fill(&mut record, map.classes(), &asked.score, &asked.calibrations, confidence);
    record.came_of(questions);
    if !view.is_planar() {
        let side = map.resolution();
        record.volume_m3 = Some(places as f64 * side * side * side);
        record.empty_claimed = claimed(map, view, &questions.empty.clear)?;
        record.near_empty_claimed = claimed(map, view, &questions.empty.near)?;
    }
    record.bytes = Some(map.byte_size() as u64);
    Ok((record, asked.answers))
}

/// The network alone: what it said of each place when it first saw it.
pub fn assess_network(dataset: &str, classes: &ClassSet, view: View, questions: &Questions) -> Record {
    let mut record = Record::new(dataset, "network, no map", view);
    let (mut tally, mut calibration) = (Tally::new(classes.len()), Calibration::default());
    let mut add = |truth: u16, said: Option<(usize, f64)>| {
        tally.add(usize::from(truth), said.map(|(label, _)| label));
        if let Some((label, sure)) = said {
            calibration.add(label == usize::from(truth), sure);
        }
    };
    if view.is_planar() {
        questions.plane.truths().iter().enumerate().for_each(|(i, truth)| add(*truth, questions.plane.said(i)));
    } else {
        questions.volume.truths().iter().enumerate().for_each(|(i, truth)| add(*truth, questions.volume.said(i)));
    }
    fill(&mut record, classes, &tally.score(), &[(Confidence::Decomposed, calibration)], Confidence::Decomposed);
    record.came_of(questions);
    record
}

/// Mean IoU of each method over the queries that all of them answer.
pub fn common_miou(classes: usize, truths: &[u16], methods: &[Answers]) -> Vec<Option<f64>> {
    let mut tallies = vec![Tally::new(classes); methods.len()];
    for (i, truth) in truths.iter().enumerate() {
        let answer = |answers: &Answers| answers.0.get(i).copied().filter(|label| *label != Answers::NONE);
        if methods.iter().all(|answers| answer(answers).is_some()) {
            for (tally, answers) in tallies.iter_mut().zip(methods) {
                tally.add(usize::from(*truth), answer(answers).map(usize::from));
            }
        }
    }
    tallies.iter().map(|tally| tally.score().miou).collect()
}

struct Asked {
    score: Score,
    calibrations: Vec<(Confidence, Calibration)>,
    answers: Answers,
}

fn ask<const D: usize>(
    queries: &Queries<D>,
    classes: &ClassSet,
    range: VarianceRange,
    mut beliefs_at: impl FnMut(&[[f64; D]]) -> e2bki::Result<Beliefs>,
) -> Result<Asked> {
    let mut tally = Tally::new(classes.len());
    let mut calibrations: Vec<(Confidence, Calibration)> =
        Confidence::ALL.map(|reading| (reading, Calibration::default())).to_vec();
    let mut answers = Answers(Vec::with_capacity(queries.len()));
    for (places, truths) in queries.places().chunks(PORTION).zip(queries.truths().chunks(PORTION)) {
        for (belief, truth) in beliefs_at(places)?.iter().zip(truths) {
            let label = belief.label();
            tally.add(usize::from(*truth), label);
            answers.0.push(label.and_then(|label| u16::try_from(label).ok()).unwrap_or(Answers::NONE));
            if let Some(label) = label {
                for (reading, calibration) in &mut calibrations {
                    calibration.add(label == usize::from(*truth), reading.of(&belief, range));
                }
            }
        }
    }
    Ok(Asked { score: tally.score(), calibrations, answers })
}

/// Share of empty places that a map claims is occupied, in percent.
fn claimed(map: &dyn SemanticMapper, view: View, places: &[[f64; 3]]) -> Result<Option<f64>> {
    let mut claims = 0_u64;
    for portion in places.chunks(PORTION) {
        let beliefs = if view == View::Continuous { map.query(portion)? } else { map.query_voxels(portion)? };
        claims += beliefs.iter().filter(|belief| belief.observed()).count() as u64;
    }
    Ok((!places.is_empty()).then(|| 100.0 * claims as f64 / places.len() as f64))
}

impl Record {
    /// Notes how many frames had something to ask about.
    fn came_of(&mut self, questions: &Questions) {
        (self.asked_frames, self.labelled_frames) = (Some(questions.frames), Some(questions.labelled_frames));
    }
}

fn fill(
    record: &mut Record,
    classes: &ClassSet,
    score: &Score,
    calibrations: &[(Confidence, Calibration)],
    primary: Confidence,
) {
    (record.miou, record.miou_strict, record.acc) = (score.miou, score.strict_miou, score.acc);
    (record.queries, record.occupied) = (score.queries, score.occupied);
    let by_name = |iou: &[Option<f64>]| classes.names().iter().cloned().zip(iou.iter().copied()).collect();
    (record.iou, record.iou_strict) = (by_name(&score.iou), by_name(&score.strict_iou));
    record.confidence = Some(primary);
    for (reading, calibration) in calibrations {
        let scores = CalibrationRecord { bs: calibration.brier(), ece: calibration.ece() };
        record.calibration.insert(*reading, scores);
        if *reading == primary {
            (record.bs, record.ece) = (scores.bs, scores.ece);
            record.reliability = calibration.reliability();
        }
    }
}
