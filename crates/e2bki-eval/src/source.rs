//! Calibration of a source of semantics, learned from labelled frames that are not asked about: what it means by the
//! classes that it says, and how much surer of itself it is than it is right.
//!
//! The first is a confusion of classes: P(true class | said class) over the labelled points, softened, since few frames
//! know little of other places. The second is one number, the temperature of soft semantics or the strength of hard
//! labels. What counts there is the map, not the points by themselves: maps of every second frame are built over a
//! ladder of values, all are asked at the labelled points of the frames between, and the value whose map has the least
//! Brier score is taken. If that is not clearly less than without any of this, everything stays as it is.

use e2bki::config::Confusion;
use e2bki::{ClassSet, Config, EvidentialPoints, Mapper};

use crate::calibration::Calibration;
use crate::error::Result;
use crate::frame::{LabelledFrame, Said};

/// Steps of √2 down and up from the configuration's own value.
const LADDER: std::ops::RangeInclusive<i32> = -4..=6;

/// Share of what a source says that is taken at its word.
const AT_ITS_WORD: f32 = 0.5;

/// Labelled points that must be said to be of a class before its meaning is learned.
const FEWEST: f64 = 20.0;

/// Brier scores within this share of the least are as good: the value nearest to the own one is taken of them.
const SAME: f64 = 0.01;

/// A Brier score must be less by this share than without calibration to change anything.
const NOISE: f64 = 0.02;

/// The map that a value gives.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Rung {
    /// The value.
    pub value: f64,
    /// Brier score of the map's confidence 1 − u, percent.
    pub brier: f64,
    /// Its expected calibration error, percent.
    pub ece: f64,
    /// Right answers, percent.
    pub right: f64,
}

/// Calibration of a source of semantics.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SourceCalibration {
    /// The parameter of [`Config`] that was chosen: `temperature`, or `label_strength` of hard labels.
    pub key: &'static str,
    /// The map without calibration.
    pub before: Rung,
    /// The values that were tried, ascending, all with the learned confusion.
    pub tried: Vec<Rung>,
    /// The best of them; nothing if none is clearly better than what there was.
    pub best: Option<Rung>,
    /// Places that were asked about: those that all maps occupy.
    pub asked: usize,
    #[serde(skip)]
    learned: Config,
}

impl SourceCalibration {
    /// Learns it from frames of one drive in their order; nothing if there is nothing to ask about. `step` is called
    /// after each of [`Self::maps`] maps.
    pub fn learn(
        frames: &[LabelledFrame],
        classes: &ClassSet,
        config: &Config,
        mut step: impl FnMut(),
    ) -> Result<Option<Self>> {
        let labelled = frames.iter().any(|frame| matches!(frame.said, Said::Labels(_)));
        let (key, own) = if labelled {
            ("label_strength", config.input.label_strength)
        } else {
            ("temperature", config.input.temperature)
        };
        // The confusion knows what the trust in classes has to guess.
        let shares = confusion(frames, classes.len(), config)?;
        let corrected = config.clone().with(|c| {
            c.input.confusion = shares;
            c.input.class_trust = 0.0;
        });
        let mut candidates = vec![(own, config.clone())];
        for exponent in LADDER {
            let value = three_digits(own * 2.0_f64.powf(0.5 * f64::from(exponent)));
            let mut config = corrected.clone();
            config.set_text(key, &value.to_string())?;
            candidates.push((value, config));
        }
        let (places, truth) = questions(frames, classes.len());
        let mut answers = Vec::new();
        for (_, config) in &candidates {
            let mut map = Mapper::new(classes.clone(), config.clone().with(|c| c.views.live_voxels = false))?;
            for frame in frames.iter().step_by(2) {
                map.insert(&frame.borrow())?;
            }
            let beliefs = map.query(&places);
            answers.push(beliefs.iter().map(|b| b.label().map(|label| (label, 1.0 - b.uncertainty()))).collect());
            step();
        }
        let values: Vec<f64> = candidates.iter().map(|(value, _)| *value).collect();
        let Some((rungs, asked)) = rungs(&values, &answers, &truth) else { return Ok(None) };
        let (before, tried) = (rungs[0], rungs[1..].to_vec());
        let least = tried.iter().map(|rung| rung.brier).fold(f64::INFINITY, f64::min);
        let as_good = tried.iter().copied().enumerate().filter(|(_, rung)| rung.brier <= (1.0 + SAME) * least);
        let best = as_good.min_by_key(|(i, _)| (*i as i32 + LADDER.start()).abs());
        let best = best.filter(|(_, rung)| rung.brier < (1.0 - NOISE) * before.brier);
        let learned = best.map_or_else(|| config.clone(), |(i, _)| candidates[i + 1].1.clone());
        Ok(Some(Self { key, before, tried, best: best.map(|(_, rung)| rung), asked, learned }))
    }

    /// How many maps are built.
    pub fn maps() -> usize {
        1 + LADDER.count()
    }

    /// The configuration with what was learned.
    pub fn config(&self) -> &Config {
        &self.learned
    }
}

/// P(true class | said class) of the labelled points, softened.
fn confusion(frames: &[LabelledFrame], classes: usize, config: &Config) -> Result<Confusion> {
    let config = config.clone().with(|c| {
        c.input.context = 0.0;
        c.input.confusion = Confusion::default();
    });
    let mut counts = vec![vec![0.0_f64; classes]; classes];
    for frame in frames {
        let (points, _) = EvidentialPoints::from_frame(&frame.borrow(), classes, &config)?;
        // Kept points are in the order of the frame's.
        let mut kept = 0;
        for (position, truth) in frame.points.iter().zip(&frame.truth) {
            if points.position.get(kept) != Some(position) {
                continue;
            }
            let odds = points.odds(kept);
            kept += 1;
            if (*truth as usize) < classes {
                let total: f64 = odds.iter().map(|v| f64::from(*v)).sum();
                let said = counts.iter_mut().zip(odds);
                said.for_each(|(counts, odds)| counts[*truth as usize] += f64::from(*odds) / total);
            }
        }
    }
    let row = |(said, counts): (usize, Vec<f64>)| {
        let total: f64 = counts.iter().sum();
        let own = |class: usize| f32::from(u8::from(class == said));
        let share = |class: usize| if total < FEWEST { own(class) } else { (counts[class] / total) as f32 };
        let mixed = |class: usize| AT_ITS_WORD * own(class) + (1.0 - AT_ITS_WORD) * share(class);
        // Four decimals: more would say more than is known.
        (0..classes).map(|class| (1e4 * mixed(class)).round() / 1e4).collect()
    };
    Ok(Confusion::new(counts.into_iter().enumerate().map(row).collect()))
}

/// Labelled points of every second frame, in the world, with their classes.
fn questions(frames: &[LabelledFrame], classes: usize) -> (Vec<[f64; 3]>, Vec<usize>) {
    let (mut places, mut truth) = (Vec::new(), Vec::new());
    for frame in frames.iter().skip(1).step_by(2) {
        for (point, class) in frame.points.iter().zip(&frame.truth) {
            if (*class as usize) < classes && point.iter().all(|v| v.is_finite()) {
                places.push(frame.world_from_sensor.apply(point.map(f64::from)));
                truth.push(*class as usize);
            }
        }
    }
    (places, truth)
}

/// Label and confidence of every place, where there is one.
type Answers = Vec<Option<(usize, f64)>>;

/// How good the answers are at the places that all answer, and how many those are; nothing if there is none.
fn rungs(values: &[f64], answers: &[Answers], truth: &[usize]) -> Option<(Vec<Rung>, usize)> {
    let common: Vec<usize> = (0..truth.len()).filter(|i| answers.iter().all(|of| of[*i].is_some())).collect();
    let rung = |(value, answers): (&f64, &Answers)| {
        let (mut calibration, mut right) = (Calibration::default(), 0);
        for i in &common {
            if let Some((label, sure)) = answers[*i] {
                calibration.add(label == truth[*i], sure);
                right += u32::from(label == truth[*i]);
            }
        }
        let right = 100.0 * f64::from(right) / common.len() as f64;
        Some(Rung { value: *value, brier: calibration.brier()?, ece: calibration.ece()?, right })
    };
    let rungs = values.iter().zip(answers).map(rung).collect::<Option<Vec<_>>>()?;
    Some((rungs, common.len()))
}

/// The nearest number of three digits.
fn three_digits(value: f64) -> f64 {
    let text = format!("{value:.2e}");
    text.parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki::Pose;

    /// Frames of one wall from a source that says its class with probability `said` and is right in patches that make
    /// up the share `right`.
    fn drive(said: f32, right: f64) -> Vec<LabelledFrame> {
        let frame = |k: usize| {
            let places = (0..2400).map(|i| (2.0 + 0.1 * (i % 60) as f32, 0.1 * (i / 60) as f32 + 0.01 * k as f32));
            let points: Vec<[f32; 3]> = places.map(|(x, z)| [x, 5.0, z]).collect();
            let rest = (1.0 - said) / 2.0;
            // Whole columns of a metre are mistaken: no neighbour can tell.
            let truth =
                points.iter().map(|p| u32::from(f64::from(p[0].floor() * 7.0 % 10.0) >= 10.0 * right)).collect();
            let probabilities = points.iter().flat_map(|_| [said, rest, rest]).collect();
            LabelledFrame { points, said: Said::Probabilities(probabilities), truth, world_from_sensor: Pose::IDENTITY }
        };
        (0..4).map(frame).collect()
    }

    fn learn(frames: &[LabelledFrame]) -> Option<SourceCalibration> {
        let classes = ClassSet::from_names(["a", "b", "c"]).unwrap();
        SourceCalibration::learn(frames, &classes, &Config::default(), || {}).unwrap()
    }

    #[test]
    fn a_source_that_is_too_sure_is_cooled() {
        let sure = learn(&drive(0.99, 0.5)).unwrap();
        let best = sure.best.unwrap();
        assert!(best.brier < 0.7 * sure.before.brier && best.ece < 0.7 * sure.before.ece, "{sure:?}");
        assert_eq!((sure.tried.len() + 1, sure.config().input.temperature), (SourceCalibration::maps(), best.value));
        // Half of what is called `a` is `b`, and half is taken at its word.
        let a = &sure.config().input.confusion.rows()[0];
        assert!((a[1] - 0.25).abs() < 0.06 && (a.iter().sum::<f32>() - 1.0).abs() < 1e-3, "{a:?}");
        let right = learn(&drive(0.99, 1.0)).unwrap();
        assert!(
            right.config().input.confusion.rows().is_empty() || right.config().input.confusion.rows()[0][0] > 0.99,
            "{right:?}"
        );
    }

    #[test]
    fn hard_labels_get_a_strength_and_nothing_is_learned_without_truth() {
        let mut frames = drive(0.9, 0.5);
        frames.iter_mut().for_each(|frame| frame.said = Said::Labels(vec![0; frame.points.len()]));
        let weak = learn(&frames).unwrap();
        assert!(weak.key == "label_strength" && weak.best.is_some(), "{weak:?}");
        frames.iter_mut().for_each(|frame| frame.truth.fill(99));
        assert_eq!(learn(&frames), None);
        assert_eq!(learn(&[]), None);
    }

    #[test]
    fn points_that_are_dropped_do_not_shift_the_truth() {
        let mut frames = drive(0.9, 0.5);
        let all = confusion(&frames, 3, &Config::default()).unwrap();
        for frame in &mut frames {
            (0..frame.points.len()).step_by(3).for_each(|i| frame.points[i] = [f32::NAN, 0.0, 0.0]);
        }
        let some = confusion(&frames, 3, &Config::default()).unwrap();
        assert!((all.rows()[0][0] - some.rows()[0][0]).abs() < 0.02, "{all:?} {some:?}");
    }
}
