//! How good a map is, by the paper's protocol: ground truth of all frames in cells of 0.05 m whose points agree.
//!
//! IoU over occupied queries and classes that occur; Acc counts unoccupied queries as wrong; Brier score and expected
//! calibration error (15 bins) over occupied queries with confidence 1 − u.

use e2bki::{ClassSet, Mapper};
use rustc_hash::FxHashMap;

use super::drive::SimulatedFrame;

/// Side of a ground-truth cell: a quarter of the evaluation voxel.
const CELL_M: f64 = 0.05;
const BINS: usize = 15;
/// Points beyond this are not asked about: a simulated HDL-64E sees little there, and so does a map.
const MAX_RANGE_M: f32 = 50.0;
/// A cell whose points disagree.
const MIXED: u8 = 254;

/// Where the map is asked for a query.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum At {
    VoxelCentre,
    Point,
}

/// What is known of a ground-truth cell.
struct Cell {
    /// Sum of the points' positions within the cell, metres.
    sum: [f32; 3],
    points: u32,
    truth: u8,
    /// What the network said of the first point, and how sure it was.
    said: u8,
    confidence: f32,
}

/// Ground truth gathered from frames.
pub(crate) struct Queries {
    classes: usize,
    cells: FxHashMap<[i32; 3], Cell>,
}

/// Counts behind a score.
struct Tally {
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
    fn new(classes: usize) -> Self {
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
    fn add(&mut self, truth: usize, answer: Option<(usize, f64)>) {
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

    fn score(&self) -> Score {
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

impl Queries {
    pub(crate) fn new(classes: usize) -> Self {
        Self { classes, cells: FxHashMap::default() }
    }

    /// Adds a frame's true points.
    pub(crate) fn add(&mut self, frame: &SimulatedFrame) {
        let classes = self.classes;
        for (i, (point, truth)) in frame.points.iter().zip(&frame.truth).enumerate() {
            let range = point.iter().map(|v| v * v).sum::<f32>().sqrt();
            if usize::from(*truth) >= classes || range == 0.0 || range > MAX_RANGE_M {
                continue;
            }
            let world = frame.pose.apply(point.map(f64::from));
            let key = world.map(|v| (v / CELL_M).floor() as i32);
            let within: [f32; 3] = std::array::from_fn(|a| (world[a] - f64::from(key[a]) * CELL_M) as f32);
            let cell = self.cells.entry(key).or_insert_with(|| {
                let row = &frame.evidence[i * classes..(i + 1) * classes];
                let said = (0..classes).fold(0, |best, c| if row[c] > row[best] { c } else { best });
                let confidence = 1.0 - classes as f32 / (row.iter().sum::<f32>() + classes as f32);
                Cell { sum: [0.0; 3], points: 0, truth: *truth, said: said as u8, confidence }
            });
            (0..3).for_each(|a| cell.sum[a] += within[a]);
            cell.points += 1;
            if cell.truth != *truth {
                cell.truth = MIXED;
            }
        }
    }

    /// Cells whose points agree, in a fixed order.
    fn consistent(&self) -> Vec<(&[i32; 3], &Cell)> {
        let mut cells: Vec<_> = self.cells.iter().filter(|(_, cell)| cell.truth != MIXED).collect();
        cells.sort_unstable_by_key(|(key, _)| **key);
        cells
    }

    /// The network alone at the same places: what it said when it first saw each.
    pub(crate) fn score_network(&self) -> Score {
        let mut tally = Tally::new(self.classes);
        for (_, cell) in self.consistent() {
            tally.add(usize::from(cell.truth), Some((usize::from(cell.said), f64::from(cell.confidence))));
        }
        tally.score()
    }

    /// Asks the map at the centroid of every consistent cell, or at the centre of the voxel that holds it.
    pub(crate) fn score_map(&self, map: &Mapper, at: At) -> Score {
        let side = map.config().resolution;
        let mut tally = Tally::new(self.classes);
        // In portions, so that a long drive does not need all beliefs at once.
        for portion in self.consistent().chunks(1 << 18) {
            let places: Vec<[f64; 3]> = portion
                .iter()
                .map(|(key, cell)| {
                    let mean = |a: usize| f64::from(cell.sum[a]) / f64::from(cell.points);
                    let point: [f64; 3] = std::array::from_fn(|a| f64::from(key[a]) * CELL_M + mean(a));
                    match at {
                        At::Point => point,
                        At::VoxelCentre => point.map(|v| ((v / side).floor() + 0.5) * side),
                    }
                })
                .collect();
            for (belief, (_, cell)) in map.query(&places).iter().zip(portion) {
                tally.add(usize::from(cell.truth), belief.label().map(|label| (label, 1.0 - belief.uncertainty())));
            }
        }
        tally.score()
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
