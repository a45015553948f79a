//! Every value of a frame checked, and every point's semantics made an opinion.

use rayon::prelude::*;

use super::opinion::{self, Verdict};
use super::report::Dropped;
use super::{EvidentialPoints, Frame, FrameReport, LogitKind, Semantics};
use crate::config::Config;
use crate::error::Result;
use crate::maths::argmax;
use crate::pose::WORLD_LIMIT_M;

/// Points per parallel task; fixed, so that results do not depend on the number of threads.
const CHUNK: usize = 8192;

/// How the source speaks of the points that passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// Every point has odds of its own.
    Opinions,
    /// Every point has a label and no odds yet: how far labels are believed depends on those around them.
    Labels,
}

/// The points that passed every check, and the account of all.
pub(crate) struct Checked {
    pub(crate) points: EvidentialPoints,
    pub(crate) said: Said,
    pub(crate) report: FrameReport,
}

/// Checks a frame and converts it. Fails, before anything is kept, if the arrays do not fit.
pub(crate) fn check_input(frame: &Frame<'_>, classes: usize, config: &Config) -> Result<Checked> {
    frame.check(classes)?;
    config.check_classes(classes)?;
    let count = frame.points.len();
    let chunks: Vec<(EvidentialPoints, Dropped, usize)> = (0..count.div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| convert(frame, chunk * CHUNK..count.min((chunk + 1) * CHUNK), classes, config))
        .collect();
    let mut report = FrameReport { received: count, ..FrameReport::default() };
    let mut points = EvidentialPoints { classes, ..EvidentialPoints::default() };
    points
        .reserve(chunks.iter().map(|(chunk, ..)| chunk.len()).sum(), !matches!(frame.semantics, Semantics::Labels(_)));
    for (chunk, dropped, repaired) in chunks {
        points.position.extend_from_slice(&chunk.position);
        points.odds.extend_from_slice(&chunk.odds);
        points.label.extend_from_slice(&chunk.label);
        points.range.extend_from_slice(&chunk.range);
        report.dropped.add(&dropped);
        report.repaired += repaired;
    }
    report.kept = points.len();
    let said = if matches!(frame.semantics, Semantics::Labels(_)) { Said::Labels } else { Said::Opinions };
    Ok(Checked { points, said, report })
}

/// Converts a run of points.
fn convert(
    frame: &Frame<'_>,
    range: std::ops::Range<usize>,
    classes: usize,
    config: &Config,
) -> (EvidentialPoints, Dropped, usize) {
    let mut points = EvidentialPoints { classes, ..EvidentialPoints::default() };
    points.reserve(range.len(), !matches!(frame.semantics, Semantics::Labels(_)));
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
