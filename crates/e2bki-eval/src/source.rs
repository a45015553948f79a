//! Calibration of a source of semantics: one number, learned from labelled frames that are not asked about.
//!
//! A network that is surer of itself than it is right makes the map of it over-confident, whatever the map does. Soft
//! semantics have a temperature for that, hard labels a strength. What counts is the map, not the points by themselves:
//! maps of every second frame are built over a ladder of values, all are asked at the labelled points of the other
//! frames, and the value whose map has the least Brier score is taken, where that is clearly less than with the value
//! there is.

use e2bki::{ClassSet, Config, Mapper};

use crate::calibration::Calibration;
use crate::error::Result;
use crate::frame::{LabelledFrame, Said};

/// Steps of √2 down and up from the configuration's own value.
const LADDER: std::ops::RangeInclusive<i32> = -4..=6;

/// Brier scores nearer than this share of one another are the same: the configuration's own value stays.
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

/// What was learned of a source.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SourceCalibration {
    /// The parameter of [`Config`] that was chosen: `temperature`, or `label_strength` of hard labels.
    pub key: &'static str,
    /// Its best value.
    pub value: f64,
    /// Places that were asked about: those that all maps occupy.
    pub asked: usize,
    /// All values that were tried, ascending.
    pub tried: Vec<Rung>,
}

impl SourceCalibration {
    /// Learns it from frames of one drive in their order; nothing if there is nothing to ask about. `step` is called
    /// after each of the [`Self::rungs`].
    pub fn learn(
        frames: &[LabelledFrame],
        classes: &ClassSet,
        config: &Config,
        mut step: impl FnMut(),
    ) -> Result<Option<Self>> {
        let labelled = frames.iter().any(|frame| matches!(frame.said, Said::Labels(_)));
        let (key, own) =
            if labelled { ("label_strength", config.label_strength) } else { ("temperature", config.temperature) };
        let (mut places, mut truth) = (Vec::new(), Vec::new());
        for frame in frames.iter().skip(1).step_by(2) {
            for (point, class) in frame.points.iter().zip(&frame.truth) {
                if (*class as usize) < classes.len() && point.iter().all(|v| v.is_finite()) {
                    places.push(frame.world_from_sensor.apply(point.map(f64::from)));
                    truth.push(*class as usize);
                }
            }
        }
        let (mut values, mut answers) = (Vec::new(), Vec::new());
        for exponent in LADDER {
            let value = three_digits(own * 2.0_f64.powf(0.5 * f64::from(exponent)));
            let mut config = Config { live_voxels: false, ..config.clone() };
            config.set_text(key, &value.to_string())?;
            let mut map = Mapper::new(classes.clone(), config)?;
            for frame in frames.iter().step_by(2) {
                map.insert(&frame.borrow())?;
            }
            let beliefs = map.query(&places);
            values.push(value);
            answers.push(beliefs.iter().map(|b| b.label().map(|label| (label, 1.0 - b.uncertainty()))).collect());
            step();
        }
        Ok(choose(key, own, values, &answers, &truth))
    }

    /// How many maps are built.
    pub fn rungs() -> usize {
        LADDER.count()
    }

    /// A configuration with the learned value.
    pub fn apply(&self, config: &Config) -> Result<Config> {
        let mut config = config.clone();
        config.set_text(self.key, &self.value.to_string())?;
        Ok(config)
    }
}

/// Label and confidence of every place, where there is one.
type Answers = Vec<Option<(usize, f64)>>;

/// The value with the least Brier score over the places that all answer, or the own one where that is as good.
fn choose(
    key: &'static str,
    own: f64,
    values: Vec<f64>,
    answers: &[Answers],
    truth: &[usize],
) -> Option<SourceCalibration> {
    let common: Vec<usize> = (0..truth.len()).filter(|i| answers.iter().all(|of| of[*i].is_some())).collect();
    let rung = |(value, answers): (f64, &Answers)| {
        let (mut calibration, mut right) = (Calibration::default(), 0);
        for i in &common {
            if let Some((label, sure)) = answers[*i] {
                calibration.add(label == truth[*i], sure);
                right += u32::from(label == truth[*i]);
            }
        }
        let right = 100.0 * f64::from(right) / common.len() as f64;
        Some(Rung { value, brier: calibration.brier()?, ece: calibration.ece()?, right })
    };
    let tried: Vec<Rung> = values.into_iter().zip(answers).map(rung).collect::<Option<_>>()?;
    let best = tried.iter().min_by(|a, b| a.brier.total_cmp(&b.brier))?;
    let as_it_is = tried.get(-LADDER.start() as usize)?;
    let value = if best.brier < (1.0 - NOISE) * as_it_is.brier { best.value } else { own };
    Some(SourceCalibration { key, value, asked: common.len(), tried })
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
        let own = sure.tried.iter().find(|rung| rung.value == 1.0).unwrap();
        let best = sure.tried.iter().find(|rung| rung.value == sure.value).unwrap();
        assert!(sure.value > 1.0 && best.brier < own.brier && best.ece < own.ece, "{sure:?}");
        assert_eq!(sure.tried.len(), SourceCalibration::rungs());
        assert_eq!(sure.apply(&Config::default()).unwrap().temperature, sure.value);
        let right = learn(&drive(0.99, 1.0)).unwrap();
        assert!(right.value < sure.value && right.asked > 1000, "{right:?}");
    }

    #[test]
    fn hard_labels_get_a_strength_and_nothing_is_learned_without_truth() {
        let mut frames = drive(0.9, 0.5);
        frames.iter_mut().for_each(|frame| frame.said = Said::Labels(vec![0; frame.points.len()]));
        let weak = learn(&frames).unwrap();
        assert!(weak.key == "label_strength" && weak.value < Config::default().label_strength, "{weak:?}");
        frames.iter_mut().for_each(|frame| frame.truth.fill(99));
        assert_eq!(learn(&frames), None);
        assert_eq!(learn(&[]), None);
    }
}
