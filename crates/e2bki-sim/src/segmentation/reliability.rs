//! Measures how far reported confidence agrees with being right, as a table and as a picture.
//! Confidence is the largest expected probability, (e + 1) / Σ(e + 1); the last bin is closed at 1.

use std::path::Path;

use super::canvas::Canvas;
use crate::Error;
use crate::classes::VOID;

/// One range of confidences.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bin {
    /// Observations in the range.
    pub count: usize,
    /// Their mean confidence.
    pub confidence: f64,
    /// Share of them whose largest evidence is the true class.
    pub accuracy: f64,
}

/// A reliability table.
#[derive(Debug, Clone, PartialEq)]
pub struct Reliability {
    /// Equal ranges of confidence from 0 to 1.
    pub bins: Vec<Bin>,
    /// Share of all observations that are right.
    pub accuracy: f64,
    /// Expected calibration error: mean gap between confidence and accuracy, weighted by count.
    pub error: f64,
    /// Mean uncertainty `C / Σα` of right and of wrong answers.
    pub uncertainty: [f64; 2],
}

/// Table over `bins` ranges of the largest expected probability. Observations without a true class are left out.
pub fn reliability(evidence: &[f32], class_count: usize, truth: &[u8], bins: usize) -> Reliability {
    let mut table = vec![(0_usize, 0.0, 0_usize); bins.max(1)];
    let (mut right, mut total, mut doubt) = (0_usize, 0_usize, [0.0, 0.0]);
    for (row, label) in evidence.chunks_exact(class_count.max(1)).zip(truth).filter(|(_, l)| **l != VOID) {
        let sum: f64 = row.iter().map(|e| f64::from(*e) + 1.0).sum();
        let (best, top) =
            row.iter().enumerate().fold((0, f32::NEG_INFINITY), |b, (k, e)| if *e > b.1 { (k, *e) } else { b });
        let confidence = (f64::from(top) + 1.0) / sum;
        let correct = best == usize::from(*label);
        let k = ((confidence * table.len() as f64) as usize).min(table.len() - 1);
        table[k].0 += 1;
        table[k].1 += confidence;
        table[k].2 += usize::from(correct);
        right += usize::from(correct);
        total += 1;
        doubt[usize::from(!correct)] += class_count as f64 / sum;
    }
    let share = |a: f64, n: usize| if n == 0 { 0.0 } else { a / n as f64 };
    let bins: Vec<Bin> = table
        .iter()
        .map(|&(count, sum, hits)| Bin { count, confidence: share(sum, count), accuracy: share(hits as f64, count) })
        .collect();
    let error = bins.iter().map(|b| b.count as f64 * (b.confidence - b.accuracy).abs()).sum::<f64>();
    Reliability {
        accuracy: share(right as f64, total),
        error: share(error, total),
        uncertainty: [share(doubt[0], right), share(doubt[1], total - right)],
        bins,
    }
}

/// Draws accuracy over confidence, one line per table, with the diagonal of perfect calibration and the share of
/// observations per bin below. Writes a PNG.
pub fn plot_reliability(tables: &[Reliability], path: &Path) -> Result<(), Error> {
    let colors = [[31, 119, 180], [255, 127, 14], [44, 160, 44], [214, 39, 40]];
    let mut canvas = Canvas::new(360, 420);
    let (left, top, side) = (40.0, 16.0, 300.0);
    let at = |x: f64, y: f64| [left + x * side, top + (1.0 - y) * side];
    for k in 0..=5 {
        let v = f64::from(k) / 5.0;
        canvas.line(at(v, 0.0), at(v, 1.0), [225, 225, 225]);
        canvas.line(at(0.0, v), at(1.0, v), [225, 225, 225]);
        canvas.number(2 * k, [(left + v * side) as i64 - 6, (top + side) as i64 + 5]);
        canvas.number(2 * k, [18, (top + (1.0 - v) * side) as i64 - 3]);
    }
    canvas.line(at(0.0, 0.0), at(1.0, 1.0), [120, 120, 120]);
    for (table, color) in tables.iter().zip(colors.iter().cycle()) {
        let used: Vec<&Bin> = table.bins.iter().filter(|b| b.count > 20).collect();
        for pair in used.windows(2) {
            canvas.thick(at(pair[0].confidence, pair[0].accuracy), at(pair[1].confidence, pair[1].accuracy), *color);
        }
        let total: usize = table.bins.iter().map(|b| b.count).sum();
        for pair in table.bins.windows(2) {
            let bar = |b: &Bin| {
                let share = b.count as f64 / total.max(1) as f64;
                [left + b.confidence * side, 412.0 - 70.0 * share]
            };
            if pair[0].count > 0 && pair[1].count > 0 {
                canvas.thick(bar(&pair[0]), bar(&pair[1]), *color);
            }
        }
    }
    canvas.line([left, 412.0], [left + side, 412.0], [0, 0, 0]);
    canvas.save(path)
}
