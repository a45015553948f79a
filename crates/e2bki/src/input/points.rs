//! Evidential points: the checked form in which every frame enters the engine.

use rayon::prelude::*;

use super::cubes::Cubes;
use super::labels::odds_from_labels;
use super::opinion::{self, Verdict};
use super::report::Dropped;
use super::{Frame, FrameReport, LogitKind, Semantics};
use crate::config::Config;
use crate::error::Result;
use crate::maths::argmax;
use crate::pose::WORLD_LIMIT_M;

/// Points per parallel task; fixed, so that results do not depend on the number of threads.
const CHUNK: usize = 8192;

/// Points of a frame with proper opinions (paper: D′), in sensor coordinates.
#[derive(Debug, Clone, Default)]
pub struct EvidentialPoints {
    /// Number of classes.
    pub classes: usize,
    /// Position in sensor coordinates, metres.
    pub position: Vec<[f32; 3]>,
    /// Rows of odds b/u, `classes` values each.
    pub(super) odds: Vec<f32>,
    /// The row of each point, where points share rows; otherwise each has its own.
    pub(super) row_of: Option<Vec<u32>>,
    /// Most likely class; the lowest id wins ties.
    pub label: Vec<u16>,
    /// Distance from the sensor, metres.
    pub range: Vec<f32>,
}

impl EvidentialPoints {
    /// Checks a frame and converts it. Fails, before anything is kept, if the arrays do not fit.
    pub fn from_frame(frame: &Frame<'_>, classes: usize, config: &Config) -> Result<(Self, FrameReport)> {
        frame.check(classes)?;
        config.check_classes(classes)?;
        let count = frame.points.len();
        let chunks: Vec<(Self, Dropped, usize)> = (0..count.div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| convert(frame, chunk * CHUNK..count.min((chunk + 1) * CHUNK), classes, config))
            .collect();
        let mut report = FrameReport { received: count, ..FrameReport::default() };
        let mut points = Self { classes, ..Self::default() };
        points.position.reserve(count);
        for (chunk, dropped, repaired) in chunks {
            points.position.extend_from_slice(&chunk.position);
            points.odds.extend_from_slice(&chunk.odds);
            points.label.extend_from_slice(&chunk.label);
            points.range.extend_from_slice(&chunk.range);
            report.dropped.add(&dropped);
            report.repaired += repaired;
        }
        let labelled = matches!(frame.semantics, Semantics::Labels(_));
        let side = config.input.label_neighbourhood as f32;
        let cubes = (labelled || config.input.context > 0.0)
            .then(|| Cubes::new(&points.position, &points.label, classes, side));
        let mut cubes_of_rows = None;
        if let Some(cubes) = cubes.as_ref().filter(|_| labelled) {
            let rows = odds_from_labels(cubes, &points.label, classes, config.input.label_strength as f32);
            (points.odds, points.row_of, cubes_of_rows) = (rows.odds, Some(rows.of_point), Some(rows.cubes));
        }
        points.translate(config.input.confusion.rows());
        if let Some(cubes) = cubes.filter(|_| config.input.context > 0.0) {
            let of_rows = cubes_of_rows.unwrap_or_else(|| cubes.numbers.of.iter().map(|cube| (*cube, 1)).collect());
            points.mix_with_neighbours(&cubes, &of_rows, config.input.context as f32, config.input.class_trust);
        }
        report.kept = points.len();
        Ok((points, report))
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.position.len()
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.position.is_empty()
    }

    /// Odds b/u of every class of one point.
    pub fn odds(&self, point: usize) -> &[f32] {
        &self.odds[self.row(point) * self.classes..][..self.classes]
    }

    /// Number of the row that holds a point's odds.
    pub(crate) fn row(&self, point: usize) -> usize {
        self.row_of.as_ref().map_or(point, |rows| rows[point] as usize)
    }

    /// Whether points share rows of odds, most of which are zero then.
    pub(crate) fn share_rows(&self) -> bool {
        self.row_of.is_some()
    }

    /// Uncertainty u of one point.
    pub fn uncertainty(&self, point: usize) -> f64 {
        1.0 / (1.0 + self.odds(point).iter().map(|v| f64::from(*v)).sum::<f64>())
    }
}

/// Converts a run of points.
fn convert(
    frame: &Frame<'_>,
    range: std::ops::Range<usize>,
    classes: usize,
    config: &Config,
) -> (EvidentialPoints, Dropped, usize) {
    let mut points = EvidentialPoints { classes, ..EvidentialPoints::default() };
    let mut dropped = Dropped::default();
    let mut repaired = 0;
    let mut odds = vec![0.0; classes];
    let softmax =
        matches!(frame.semantics, Semantics::Probabilities(_) | Semantics::Logits { kind: LogitKind::Softmax, .. });
    for i in range {
        let position = frame.points[i];
        let distance = match distance(position, config, &mut dropped) {
            Some(distance) => distance,
            None => continue,
        };
        let row = |values: &[f32]| i * classes..(i * classes + classes).min(values.len());
        let verdict = match frame.semantics {
            Semantics::Labels(labels) => {
                if labels[i] as usize >= classes {
                    dropped.unlabelled += 1;
                    continue;
                }
                points.label.push(labels[i] as u16);
                points.position.push(position);
                points.range.push(distance);
                continue;
            }
            Semantics::Evidence(v) => opinion::from_evidence(&v[row(v)], 0.0, &mut odds),
            Semantics::Dirichlet(v) => opinion::from_evidence(&v[row(v)], 1.0, &mut odds),
            Semantics::Opinion { probabilities: v, uncertainty } => {
                opinion::from_opinion(&v[row(v)], uncertainty[i], &mut odds)
            }
            Semantics::Probabilities(v) => opinion::from_probabilities(&v[row(v)], config.input.temperature, &mut odds),
            Semantics::Logits { values: v, kind: LogitKind::ExpEvidence } => {
                opinion::from_log_evidence(&v[row(v)], &mut odds)
            }
            Semantics::Logits { values: v, kind: LogitKind::Softmax } => {
                opinion::from_softmax(&v[row(v)], config.input.temperature, &mut odds)
            }
        };
        if !softmax && config.input.temperature != 1.0 {
            opinion::tempered(&mut odds, config.input.temperature);
        }
        match verdict {
            Verdict::NonFinite => dropped.non_finite_semantics += 1,
            Verdict::Improper => dropped.improper_opinion += 1,
            Verdict::NoEvidence => dropped.no_evidence += 1,
            Verdict::Proper | Verdict::Repaired => {
                repaired += usize::from(verdict == Verdict::Repaired);
                points.label.push(argmax(&odds) as u16);
                points.position.push(position);
                points.range.push(distance);
                points.odds.extend_from_slice(&odds);
            }
        }
    }
    (points, dropped, repaired)
}

/// Distance of a usable return from the sensor; counts the reason otherwise.
fn distance(position: [f32; 3], config: &Config, dropped: &mut Dropped) -> Option<f32> {
    if position.iter().any(|v| !v.is_finite()) {
        dropped.non_finite_point += 1;
        return None;
    }
    if position == [0.0; 3] {
        dropped.no_return += 1;
        return None;
    }
    let [x, y, z] = position.map(f64::from);
    let distance = (x * x + y * y + z * z).sqrt();
    if distance < config.input.min_range {
        dropped.too_near += 1;
        return None;
    }
    if distance > config.input.max_range.min(WORLD_LIMIT_M) {
        dropped.too_far += 1;
        return None;
    }
    Some(distance as f32)
}
