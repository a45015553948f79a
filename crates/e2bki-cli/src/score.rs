//! Scores by the paper's protocol, in percent.
//!
//! IoU over occupied queries and classes that occur; Acc counts unoccupied queries as wrong; Brier score and expected
//! calibration error (15 bins) over occupied queries.

use e2bki::ClassSet;

const BINS: usize = 15;

/// Counts behind a score.
pub(crate) struct Tally {
    truths: Vec<u64>,
    hits: Vec<u64>,
    claims: Vec<u64>,
    asked: u64,
    answered: u64,
    brier: f64,
    bins: [(f64, f64, f64); BINS],
}

/// Scores in percent; nothing where there is nothing to score.
pub(crate) struct Score {
    pub(crate) iou: Vec<Option<f64>>,
    pub(crate) miou: Option<f64>,
    pub(crate) accuracy: Option<f64>,
    pub(crate) occupied: Option<f64>,
    pub(crate) brier: Option<f64>,
    pub(crate) ece: Option<f64>,
    pub(crate) queries: u64,
}

impl Tally {
    pub(crate) fn new(classes: usize) -> Self {
        let zero = vec![0; classes];
        Self {
            truths: zero.clone(),
            hits: zero.clone(),
            claims: zero,
            asked: 0,
            answered: 0,
            brier: 0.0,
            bins: [(0.0, 0.0, 0.0); BINS],
        }
    }

    /// One query: the true class, and the answer with its confidence.
    pub(crate) fn add(&mut self, truth: usize, answer: Option<(usize, f64)>) {
        self.asked += 1;
        let Some((label, confidence)) = answer else { return };
        self.answered += 1;
        self.truths[truth] += 1;
        self.claims[label] += 1;
        let right = f64::from(u8::from(label == truth));
        self.hits[label] += u64::from(label == truth);
        self.brier += (right - confidence).powi(2);
        let bin = &mut self.bins[((confidence * BINS as f64) as usize).min(BINS - 1)];
        *bin = (bin.0 + 1.0, bin.1 + right, bin.2 + confidence);
    }

    pub(crate) fn score(&self) -> Score {
        let share = |part: f64, whole: u64| (whole > 0).then(|| 100.0 * part / whole as f64);
        let iou: Vec<Option<f64>> = (0..self.truths.len())
            .map(|c| {
                let union = self.truths[c] + self.claims[c] - self.hits[c];
                if self.truths[c] > 0 { share(self.hits[c] as f64, union) } else { None }
            })
            .collect();
        let present: Vec<f64> = iou.iter().flatten().copied().collect();
        let gap: f64 = self.bins.iter().map(|(_, right, confidence)| (right - confidence).abs()).sum();
        Score {
            miou: (!present.is_empty()).then(|| present.iter().sum::<f64>() / present.len() as f64),
            iou,
            accuracy: share(self.hits.iter().sum::<u64>() as f64, self.asked),
            occupied: share(self.answered as f64, self.asked),
            brier: share(self.brier, self.answered),
            ece: share(gap, self.answered),
            queries: self.asked,
        }
    }
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |v| format!("{v:.1}"))
}

/// A table of scores: one row each, then the classes.
pub(crate) fn rows(scores: &[(&str, &Score)], classes: &ClassSet) -> Vec<Vec<String>> {
    let mut heading: Vec<String> = vec!["%".into()];
    heading.extend(scores.iter().map(|(name, _)| name.to_string()));
    let mut rows = vec![heading];
    let mut row = |name: &str, value: &dyn Fn(&Score) -> String| {
        let mut row = vec![name.to_string()];
        row.extend(scores.iter().map(|(_, score)| value(score)));
        rows.push(row);
    };
    row("mIoU", &|s| percent(s.miou));
    row("Acc (unoccupied = wrong)", &|s| percent(s.accuracy));
    row("occupied", &|s| percent(s.occupied));
    row("Brier score (low is good)", &|s| percent(s.brier));
    row("ECE (low is good)", &|s| percent(s.ece));
    for (c, name) in classes.names().iter().enumerate() {
        row(&format!("IoU {name}"), &|s| percent(s.iou[c]));
    }
    row("queries", &|s| s.queries.to_string());
    rows
}

impl Score {
    pub(crate) fn to_json(&self, name: &str, classes: &ClassSet) -> serde_json::Value {
        let iou: serde_json::Map<String, serde_json::Value> =
            classes.names().iter().cloned().zip(self.iou.iter().map(|v| (*v).into())).collect();
        serde_json::json!({
            "name": name, "miou": self.miou, "acc": self.accuracy, "occupied": self.occupied,
            "bs": self.brier, "ece": self.ece, "queries": self.queries, "iou": iou,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misses_count_in_accuracy_and_not_in_iou() {
        // Four of class 0 (two right, one called 1, one missed), two of class 1 (both right); class 2 never occurs.
        let mut tally = Tally::new(3);
        for answer in [Some((0, 1.0)), Some((0, 1.0)), Some((1, 0.5)), None] {
            tally.add(0, answer);
        }
        tally.add(1, Some((1, 0.8)));
        tally.add(1, Some((1, 0.8)));
        let score = tally.score();
        let close = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-9;
        assert!(close(score.iou[0], 200.0 / 3.0) && close(score.iou[1], 200.0 / 3.0) && score.iou[2].is_none());
        assert!(
            close(score.miou, 200.0 / 3.0) && close(score.accuracy, 400.0 / 6.0) && close(score.occupied, 500.0 / 6.0)
        );
        assert!(close(score.brier, 100.0 * (0.25 + 2.0 * 0.04) / 5.0));
        assert!(close(score.ece, 100.0 * (0.5 + 0.4) / 5.0));
        let nothing = Tally::new(2).score();
        assert!(nothing.miou.is_none() && nothing.accuracy.is_none() && nothing.ece.is_none());
    }
}
