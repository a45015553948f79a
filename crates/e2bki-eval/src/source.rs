//! Calibration of a source of semantics, learned from labelled frames that are not asked about: what it means by the
//! classes that it says, how much surer of itself it is than it is right, and how sure the map may be in the end.
//!
//! The first is a confusion of classes: P(true class | said class) over the labelled points, softened, since few frames
//! know little of other places. The second is one number, the temperature of soft semantics or the strength of hard
//! labels. The third is `agreement`, with which beliefs are read (`reading.rs`). What counts is the map, not the points by
//! themselves: maps of every second frame are built over a ladder of values with and without the confusion, all are asked at the
//! labelled points of the frames between and read as surely as they may be, and the one with the least Brier score is
//! taken. If that is not clearly less than that of the map as it is, only the way of reading is learned. A confusion is of
//! the shares of classes of one drive too, which no score on that drive can tell from what the source means; so it must gain
//! more than the parts of the ground differ by.

use e2bki::config::Confusion;
use e2bki::{Belief, ClassSet, Config, EvidentialPoints, Mapper, SemanticMapper};

use crate::calibration::Calibration;
use crate::error::Result;
use crate::frame::{LabelledFrame, Said};
use crate::halves::{Halves, gain};
use crate::reading;

/// Steps of 2 down and up from the configuration's own value.
const LADDER: std::ops::RangeInclusive<i32> = -2..=3;

/// Share of what a source says that is taken at its word.
const AT_ITS_WORD: f32 = 0.5;

/// Labelled points that must be said to be of a class before its meaning is learned.
const FEWEST: f64 = 20.0;

/// Brier scores within this share of the least are as good: the value nearest to the own one is taken of them.
const SAME: f64 = 0.01;

/// A Brier score must be less by this share than that of the map as it is to change what is mapped.
const NOISE: f64 = 0.02;

/// Standard errors between parts of the ground that a confusion of classes must gain.
const ERRORS: f64 = 2.0;

/// The map that a value gives.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Rung {
    /// The value.
    pub value: f64,
    /// Whether classes are corrected by the learned confusion.
    pub corrected: bool,
    /// The `agreement` with which the map is read.
    pub agreement: f64,
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
    /// What was tried: the values ascending, without and then with the learned confusion.
    pub tried: Vec<Rung>,
    /// The best of them; nothing if none is better than what there was.
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
        let mut candidates = vec![(own, false, config.clone())];
        for (corrected, start) in [(false, config), (true, &corrected)] {
            for exponent in LADDER {
                let value = if exponent == 0 { own } else { three_digits(own * 2.0_f64.powi(exponent)) };
                let mut config = start.clone();
                config.set_text(key, &value.to_string())?;
                candidates.push((value, corrected, config));
            }
        }
        let questions = frames.iter().skip(1).step_by(2).flat_map(|frame| frame.labelled_places(classes.len()));
        let (places, truth): (Vec<[f64; 3]>, Vec<usize>) = questions.unzip();
        let mut answers = Vec::new();
        for (_, _, config) in &candidates {
            let mut map = Mapper::new(classes.clone(), config.clone().with(|c| c.views.live_voxels = false))?;
            for frame in frames.iter().step_by(2) {
                map.insert(&frame.borrow())?;
            }
            answers.push(map.query_voxels(&places)?.iter().collect::<Vec<Belief>>());
            step();
        }
        let common: Vec<usize> = (0..truth.len()).filter(|i| answers.iter().all(|of| of[*i].observed())).collect();
        let known = |of: &[Belief]| -> Vec<(Belief, bool)> {
            common.iter().map(|i| (of[*i], of[*i].label() == Some(truth[*i]))).collect()
        };
        let own_agreement = config.views.agreement;
        let Some(before) = rung((own, false, own_agreement), &known(&answers[0])) else { return Ok(None) };
        let mut tried = Vec::new();
        for ((value, corrected, config), answers) in candidates.iter_mut().zip(&answers).skip(1) {
            let known = known(answers);
            config.views.agreement = reading::fit(&known, own_agreement);
            tried.extend(rung((*value, *corrected, config.views.agreement), &known));
        }
        let mut best = best_of(&before, &tried);
        if let Some(corrected) = best.filter(|i| tried[*i].corrected) {
            let plain = best_of(&before, &tried[..LADDER.count()]);
            let of = |i: usize| &candidates[i + 1].2;
            if !clearly_better(frames, classes, [plain.map_or(config, of), of(corrected)])? {
                best = plain;
            }
        }
        let learned = best.map_or_else(|| config.clone(), |i| candidates[i + 1].2.clone());
        Ok(Some(Self { key, before, best: best.map(|i| tried[i]), tried, asked: common.len(), learned }))
    }

    /// How many maps are built.
    pub fn maps() -> usize {
        1 + 2 * LADDER.count()
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

/// How good answers are, read with an `agreement`; nothing if there is none.
fn rung((value, corrected, agreement): (f64, bool, f64), known: &[(Belief, bool)]) -> Option<Rung> {
    let mut calibration = Calibration::default();
    for (belief, right) in known {
        calibration.add(*right, 1.0 - belief.read_with(agreement).uncertainty());
    }
    let right = known.iter().filter(|(_, right)| *right).count();
    let right = 100.0 * right as f64 / known.len() as f64;
    Some(Rung { value, corrected, agreement, brier: calibration.brier()?, ece: calibration.ece()?, right })
}

/// Which of what was tried is taken: the least Brier score if it is clearly less than that of the map as it is, read as
/// surely as it may be; otherwise this, unless it is no better than what there was.
fn best_of(before: &Rung, tried: &[Rung]) -> Option<usize> {
    let as_it_is = tried.iter().position(|rung| rung.value == before.value && !rung.corrected)?;
    let least = tried.iter().map(|rung| rung.brier).fold(f64::INFINITY, f64::min);
    // Of those that are as good, the one that changes least.
    let as_good = (0..tried.len()).filter(|i| tried[*i].brier <= (1.0 + SAME) * least);
    let change = |i: &usize| (tried[*i].corrected, (*i as i32 % LADDER.count() as i32 + LADDER.start()).abs());
    let clearly = as_good.min_by_key(change);
    let clearly = clearly.filter(|i| tried[*i].brier < (1.0 - NOISE) * tried[as_it_is].brier);
    let read = Some(as_it_is).filter(|i| tried[*i].ece < before.ece && tried[*i].agreement != before.agreement);
    clearly.or(read)
}

/// Whether a configuration is worth more than another by more than parts of the ground differ.
fn clearly_better(frames: &[LabelledFrame], classes: &ClassSet, [old, new]: [&Config; 2]) -> Result<bool> {
    let Some(halves) = Halves::new(frames, classes) else { return Ok(false) };
    let (gained, error) = gain(&halves.ask(new)?, &halves.ask(old)?);
    Ok(gained > ERRORS * error)
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
        assert_eq!(sure.config().views.agreement, best.agreement);
        assert!(best.brier < 0.7 * sure.before.brier && best.ece < 0.2 * sure.before.ece, "{sure:?}");
        assert_eq!((sure.tried.len() + 1, sure.config().input.temperature), (SourceCalibration::maps(), best.value));
        // Half of what is called `a` is `b`, and half is taken at its word.
        let a = &confusion(&drive(0.99, 0.5), 3, &Config::default()).unwrap().rows()[0].clone();
        assert!((a[1] - 0.25).abs() < 0.06 && (a.iter().sum::<f32>() - 1.0).abs() < 1e-3, "{a:?}");
        // No answer becomes right by it, so that the classes are not corrected.
        assert!(!best.corrected && sure.config().input.confusion.rows().is_empty(), "{sure:?}");
    }

    #[test]
    fn of_what_is_as_good_the_least_change_is_taken() {
        let rung = |value: f64, corrected, agreement, brier, ece| Rung {
            value,
            corrected,
            agreement,
            brier,
            ece,
            right: 90.0,
        };
        let before = rung(1.0, false, 1.5, 8.0, 4.0);
        let ladder = |corrected, at_own: [f64; 2], best: f64| -> Vec<Rung> {
            let brier = |exponent: i32| match exponent {
                0 => at_own[0],
                2 => best,
                _ => 20.0,
            };
            LADDER.map(|e| rung(2.0_f64.powi(e), corrected, 2.0, brier(e), at_own[1])).collect()
        };
        let of = |plain: Vec<Rung>, corrected: Vec<Rung>| {
            let tried = [plain, corrected].concat();
            best_of(&before, &tried).map(|i| (tried[i].value, tried[i].corrected))
        };
        // Clearly better, with the confusion or without.
        assert_eq!(of(ladder(false, [7.9, 2.0], 7.0), ladder(true, [7.5, 2.0], 7.5)), Some((4.0, false)));
        assert_eq!(of(ladder(false, [7.9, 2.0], 7.0), ladder(true, [6.0, 2.0], 5.99)), Some((1.0, true)));
        // As good with it as without.
        assert_eq!(of(ladder(false, [7.9, 2.0], 7.0), ladder(true, [6.99, 2.0], 6.98)), Some((4.0, false)));
        // Not clearly better than the map as it is, read as surely as it may be; and this no better than before.
        assert_eq!(of(ladder(false, [7.9, 2.0], 7.85), ladder(true, [7.9, 2.0], 7.8)), Some((1.0, false)));
        assert_eq!(of(ladder(false, [8.0, 4.1], 7.95), ladder(true, [8.0, 4.0], 7.9)), None);
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
