//! How good layers and ways are, against the truth.

use e2bki::free::State;
use e2bki_eval::Calibration;
use e2bki_layers::{Layers, Way};

use super::truth::Truth;
use super::ways::RISKS;

/// Cells farther from the way driven than this are not scored, metres.
const NEAR_M: f64 = 20.0;

/// The median of values.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Scores of a method's layers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LayerScore {
    pub(super) height_m: Option<f64>,
    pub(super) slope_deg: Option<f64>,
    /// Share of the heights within two of their standard deviations.
    pub(super) within_two: Option<f64>,
    /// Area under the curve of hit rate over false-alarm rate of `lethal`, percent.
    pub(super) auroc: Option<f64>,
    pub(super) ece: Option<f64>,
    /// Share of the true cells of which the map knows something, percent.
    pub(super) known: Option<f64>,
    /// For every risk: truly blocked cells that are not above it, and truly free ones that are, percent.
    pub(super) missed: [Option<f64>; RISKS.len()],
    pub(super) refused: [Option<f64>; RISKS.len()],
}

/// Cells that are true, near, and known to all methods.
pub(super) fn common(truth: &Truth, maps: &[Layers]) -> Vec<usize> {
    let near = |cell: &usize| truth.away[*cell] < NEAR_M && truth.layers.cells()[*cell].state != State::Unknown;
    let known = |cell: &usize| maps.iter().all(|map| map.cells()[*cell].lethal.is_finite());
    (0..truth.away.len()).filter(near).filter(known).collect()
}

/// Scores of layers: ground where the truth is free, traversability at the cells that all methods know.
pub(super) fn layers(truth: &Truth, map: &Layers, common: &[usize]) -> LayerScore {
    let near: Vec<usize> = (0..truth.away.len())
        .filter(|cell| truth.away[*cell] < NEAR_M && truth.layers.cells()[*cell].state != State::Unknown)
        .collect();
    let free = near.iter().filter(|cell| truth.layers.cells()[**cell].state == State::Free);
    let pairs: Vec<(&e2bki_layers::Cell, &e2bki_layers::Cell)> =
        free.map(|cell| (&truth.layers.cells()[*cell], &map.cells()[*cell])).collect();
    let known = pairs.iter().filter(|(_, found)| found.height.is_finite());
    let heights: Vec<(f64, f64)> =
        known.map(|(t, f)| (f64::from((f.height - t.height).abs()), f64::from(f.height_std))).collect();
    let slopes = pairs.iter().map(|(t, f)| f64::from((f.slope - t.slope).abs())).filter(|v| v.is_finite()).collect();
    let within = heights.iter().filter(|(error, std)| *error <= 2.0 * std).count();
    let mut calibration = Calibration::default();
    let mut judged: Vec<(f32, bool)> = Vec::new();
    for cell in common {
        let (lethal, p) = (truth.layers.cells()[*cell].lethal > 0.5, map.cells()[*cell].lethal);
        calibration.add(lethal, f64::from(p));
        judged.push((p, lethal));
    }
    let covered = near.iter().filter(|cell| map.cells()[**cell].lethal.is_finite()).count();
    let share = |part: usize, all: usize| (all > 0).then(|| 100.0 * part as f64 / all as f64);
    let of = |blocked: bool, risk: f64| {
        let cells = || judged.iter().filter(|(_, lethal)| *lethal == blocked);
        share(cells().filter(|(p, _)| (f64::from(*p) <= risk) == blocked).count(), cells().count())
    };
    let (missed, refused) = (RISKS.map(|risk| of(true, risk)), RISKS.map(|risk| of(false, risk)));
    LayerScore {
        height_m: median(heights.iter().map(|(error, _)| *error).collect()),
        slope_deg: median(slopes),
        within_two: share(within, heights.len()),
        auroc: auroc(judged),
        ece: calibration.ece(),
        known: share(covered, near.len()),
        missed,
        refused,
    }
}

/// Area under the curve by ranks, ties counted half, percent.
pub(super) fn auroc(mut judged: Vec<(f32, bool)>) -> Option<f64> {
    judged.sort_by(|a, b| a.0.total_cmp(&b.0));
    let positives = judged.iter().filter(|(_, lethal)| *lethal).count() as f64;
    let negatives = judged.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return None;
    }
    let (mut below, mut area) = (0.0, 0.0);
    for tie in judged.chunk_by(|a, b| a.0 == b.0) {
        let bad = tie.iter().filter(|(_, lethal)| *lethal).count() as f64;
        let good = tie.len() as f64 - bad;
        area += bad * (below + 0.5 * good);
        below += good;
    }
    Some(100.0 * area / (positives * negatives))
}

/// Whether the robot, without its clearance, meets a true obstacle on a way.
pub(super) fn collides(truth: &Truth, way: &Way) -> bool {
    let grid = truth.layers.grid();
    let half = 0.5 * truth.layers.settings().robot.width;
    let cells = (half / grid.resolution).ceil() as i64;
    way.steps.iter().any(|step| {
        (-cells..=cells).any(|dy| {
            (-cells..=cells).any(|dx| {
                let at = [step.at[0] + dx as f64 * grid.resolution, step.at[1] + dy as f64 * grid.resolution];
                let Some(cell) = grid.cell(at) else { return false };
                let [x, y] = grid.center(cell);
                let inside = (x - step.at[0]).hypot(y - step.at[1]) <= half;
                inside && truth.layers.cells()[cell].lethal > 0.5
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_is_the_share_of_pairs_in_order() {
        let judged = vec![(0.1, false), (0.4, true), (0.35, false), (0.8, true), (0.4, false)];
        // Of six pairs of a good and a bad one, five are in order and one is tied.
        assert!((auroc(judged).unwrap() - 100.0 * 5.5 / 6.0).abs() < 1e-9);
        assert_eq!(auroc(vec![(0.1, true)]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
    }
}
