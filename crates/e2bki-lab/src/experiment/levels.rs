//! Uncertainty, accuracy and calibration by the number of mapped frames that saw a place, and calibration by class: sums
//! over all places hide larger errors in parts of them.

use e2bki::SemanticMapper;
use e2bki_eval::{Calibration, LabelledFrame, Queries};
use rustc_hash::FxHashMap;

/// Numbers of frames that make a level: from the first to the last, both included.
const LEVELS: [(u32, u32); 6] = [(0, 0), (1, 1), (2, 2), (3, 4), (5, 9), (10, u32::MAX)];

/// How many mapped frames had a return in each voxel.
pub(super) struct Seen {
    resolution: f64,
    /// Number of frames, and the last of them.
    frames: FxHashMap<[i32; 3], (u32, u32)>,
    count: u32,
}

impl Seen {
    pub(super) fn new(resolution: f64) -> Self {
        Self { resolution, frames: FxHashMap::default(), count: 0 }
    }

    fn voxel(&self, place: [f64; 3]) -> [i32; 3] {
        place.map(|v| (v / self.resolution).floor() as i32)
    }

    /// Adds a mapped frame.
    pub(super) fn add(&mut self, frame: &LabelledFrame) {
        self.count += 1;
        for point in frame.points.iter().filter(|p| p.iter().all(|v| v.is_finite())) {
            let voxel = self.voxel(frame.world_from_sensor.apply(point.map(f64::from)));
            let known = self.frames.entry(voxel).or_default();
            if known.1 != self.count {
                *known = (known.0 + 1, self.count);
            }
        }
    }

    fn at(&self, place: [f64; 3]) -> u32 {
        self.frames.get(&self.voxel(place)).map_or(0, |known| known.0)
    }
}

/// What was asked at some places.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    pub(super) asked: u64,
    right: u64,
    uncertainty: f64,
    pub(super) calibration: Calibration,
}

impl Group {
    fn add(&mut self, right: bool, uncertainty: Option<f64>) {
        self.asked += 1;
        self.right += u64::from(right);
        if let Some(uncertainty) = uncertainty {
            self.uncertainty += uncertainty;
            self.calibration.add(right, 1.0 - uncertainty);
        }
    }

    /// Both together.
    pub(super) fn with(mut self, other: &Self) -> Self {
        self.asked += other.asked;
        self.right += other.right;
        self.uncertainty += other.uncertainty;
        self.calibration.merge(&other.calibration);
        self
    }

    fn of_answered(&self, value: f64) -> Option<f64> {
        let answered = self.calibration.count();
        (answered > 0).then(|| 100.0 * value / answered as f64)
    }

    /// Share of right answers, percent of all answers.
    pub(super) fn right(&self) -> Option<f64> {
        self.of_answered(self.right as f64)
    }

    /// Mean uncertainty of the answers, percent.
    pub(super) fn uncertainty(&self) -> Option<f64> {
        self.of_answered(self.uncertainty)
    }
}

/// The answers of a map by the number of frames that saw a place, and by the class that the map gives it.
pub(super) fn groups(
    map: &dyn SemanticMapper,
    classes: usize,
    seen: &Seen,
    queries: &Queries<3>,
) -> anyhow::Result<(Vec<Group>, Vec<Group>)> {
    let (mut levels, mut by_class) = (vec![Group::default(); LEVELS.len()], vec![Group::default(); classes]);
    let beliefs = map.query_voxels(queries.places())?;
    for ((belief, truth), place) in beliefs.iter().zip(queries.truths()).zip(queries.places()) {
        let right = belief.label() == Some(usize::from(*truth));
        let uncertainty = belief.observed().then(|| belief.uncertainty());
        let frames = seen.at(*place);
        let level = LEVELS.iter().position(|(from, to)| (*from..=*to).contains(&frames));
        if let Some(group) = level.and_then(|level| levels.get_mut(level)) {
            group.add(right, uncertainty);
        }
        if let Some(group) = belief.label().and_then(|label| by_class.get_mut(label)) {
            group.add(right, uncertainty);
        }
    }
    Ok((levels, by_class))
}

/// The levels in words.
pub(super) fn names() -> Vec<String> {
    let name = |(from, to): &(u32, u32)| match (from, to) {
        (from, &u32::MAX) => format!("{from} or more"),
        (from, to) if from == to => from.to_string(),
        (from, to) => format!("{from} to {to}"),
    };
    LEVELS.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::Pose;
    use e2bki_eval::Said;

    #[test]
    fn a_frame_counts_once_in_a_voxel_however_many_points_it_has_there() {
        let points = vec![[1.01, 0.0, 0.0], [1.05, 0.0, 0.0], [3.0, 0.0, 0.0]];
        let frame = |x: f64| LabelledFrame {
            said: Said::Labels(vec![0; 3]),
            truth: vec![0; 3],
            points: points.clone(),
            world_from_sensor: Pose::from_translation([x, 0.0, 0.0]).unwrap(),
        };
        let mut seen = Seen::new(0.2);
        seen.add(&frame(0.0));
        seen.add(&frame(0.0));
        seen.add(&frame(2.0));
        assert_eq!([1.1, 3.1, 5.1, 9.0].map(|x| seen.at([x, 0.1, 0.1])), [2, 3, 1, 0]);
    }
}
