//! What a few labelled frames teach about single classes: how much the beliefs in each count, and how far its kernels reach.
//!
//! Maps of half of the frames are asked at the labelled points of the other half, and the other way round. A factor of a
//! class is taken if it makes the answers of both together better: Acc and mean IoU, with unanswered places as missed, less a
//! price for places on beams that are claimed though nothing is there. Labelled returns alone would have every reach as
//! long as it is allowed to be.

use e2bki::config::ClassFactors;
use e2bki::{ClassSet, Config, Mapper};

use crate::error::Result;
use crate::frame::LabelledFrame;
use crate::near::NearReturns;
use crate::tally::Tally;

/// Steps that a factor can take from where it is.
const STEPS: [f32; 2] = [1.4, 0.7];

/// What a percent of claimed near-empty places costs, in percent of Acc and mean IoU together.
const PRICE: f64 = 0.1;

/// What must be gained by a step, in percent of Acc and mean IoU together: less is noise.
const LEAST_GAIN: f64 = 0.05;

/// Labelled points that a class must have before anything is learned of it.
const FEWEST: usize = 50;

/// Answers of maps that were asked at the frames they were not made of.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Worth {
    /// Right answers, percent of all places.
    pub acc: f64,
    /// Mean IoU with unanswered places as missed, percent.
    pub miou: f64,
    /// Near-empty places that are claimed, percent.
    pub near: f64,
}

impl Worth {
    fn total(&self) -> f64 {
        self.acc + self.miou - PRICE * self.near
    }
}

/// What was learned of single classes.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ClassCalibration {
    /// The maps without it.
    pub before: Worth,
    /// The maps with it.
    pub after: Worth,
    /// Maps that were built.
    pub maps: usize,
    #[serde(skip)]
    reach: Config,
    #[serde(skip)]
    learned: Config,
}

/// One half of the frames to map, and what to ask of the map.
struct Fold<'a> {
    mapped: Vec<&'a LabelledFrame>,
    places: Vec<[f64; 3]>,
    truth: Vec<usize>,
}

impl ClassCalibration {
    /// Learns it from frames of one drive in their order, starting from a configuration; nothing if there is nothing to
    /// ask about. `step` is called after every factor that was tried.
    pub fn learn(
        frames: &[LabelledFrame],
        classes: &ClassSet,
        config: &Config,
        mut step: impl FnMut(),
    ) -> Result<Option<Self>> {
        let folds = [fold(frames, 0, classes.len()), fold(frames, 1, classes.len())];
        let mut asked = vec![0; classes.len()];
        folds.iter().flat_map(|fold| &fold.truth).for_each(|class| asked[*class] += 1);
        if folds.iter().any(|fold| fold.mapped.is_empty() || fold.truth.is_empty()) {
            return Ok(None);
        }
        let mut near = NearReturns::new(0);
        frames.iter().for_each(|frame| near.add(frame));
        let near = near.places();

        let mut maps = 0;
        let mut worth_of = |config: &Config| {
            maps += folds.len();
            worth(&folds, &near, classes, config)
        };
        let before = worth_of(config)?;
        let (mut learned, mut after) = (config.clone(), before);
        // Frequent classes first: what is learned of them, others are measured with.
        let mut order: Vec<usize> = (0..classes.len()).filter(|class| asked[*class] >= FEWEST).collect();
        order.sort_by_key(|class| std::cmp::Reverse(asked[*class]));
        let mut reach = config.clone();
        for change in [times_reach, times_weight] {
            // Before the last of them: reach alone.
            reach = learned.clone();
            for class in &order {
                for factor in STEPS {
                    let candidate = change(&learned, *class, factor, classes.len());
                    let found = worth_of(&candidate)?;
                    step();
                    if found.total() > after.total() + LEAST_GAIN {
                        (learned, after) = (candidate, found);
                        break;
                    }
                }
            }
        }
        Ok(Some(Self { before, after, maps, reach, learned }))
    }

    /// The configuration with what was learned.
    pub fn config(&self) -> &Config {
        &self.learned
    }

    /// The configuration with what was learned of reach alone.
    pub fn reach(&self) -> &Config {
        &self.reach
    }

    /// Most factors that are tried.
    pub fn most_steps(classes: usize) -> usize {
        2 * STEPS.len() * classes
    }
}

fn times_reach(config: &Config, class: usize, factor: f32, classes: usize) -> Config {
    config.clone().with(|c| c.kernel.class_reach = times(&c.kernel.class_reach, class, factor, classes))
}

fn times_weight(config: &Config, class: usize, factor: f32, classes: usize) -> Config {
    config.clone().with(|c| c.input.class_weights = times(&c.input.class_weights, class, factor, classes))
}

/// The factors with that of one class changed.
fn times(factors: &ClassFactors, class: usize, factor: f32, classes: usize) -> ClassFactors {
    let changed = |c: usize| factors.of(c) * if c == class { factor } else { 1.0 };
    ClassFactors::new((0..classes).map(changed).collect())
}

/// Every second frame from `first` on is mapped; the labelled points of the others are asked about.
fn fold(frames: &[LabelledFrame], first: usize, classes: usize) -> Fold<'_> {
    let (mut places, mut truth) = (Vec::new(), Vec::new());
    for frame in frames.iter().skip(1 - first).step_by(2) {
        for (point, class) in frame.points.iter().zip(&frame.truth) {
            if (*class as usize) < classes && point.iter().all(|v| v.is_finite()) {
                places.push(frame.world_from_sensor.apply(point.map(f64::from)));
                truth.push(*class as usize);
            }
        }
    }
    Fold { mapped: frames.iter().skip(first).step_by(2).collect(), places, truth }
}

/// The maps of a configuration, asked.
fn worth(folds: &[Fold<'_>], near: &[[f64; 3]], classes: &ClassSet, config: &Config) -> Result<Worth> {
    let (mut tally, mut claimed) = (Tally::new(classes.len()), 0);
    for fold in folds {
        let mut map = Mapper::new(classes.clone(), config.clone().with(|c| c.views.live_voxels = false))?;
        for frame in &fold.mapped {
            map.insert(&frame.borrow())?;
        }
        let answers = map.query(&fold.places);
        answers.iter().zip(&fold.truth).for_each(|(belief, truth)| tally.add(*truth, belief.label()));
        claimed += map.query(near).iter().filter(|belief| belief.observed()).count();
    }
    let (score, asked) = (tally.score(), (folds.len() * near.len()).max(1));
    Ok(Worth {
        acc: score.acc.unwrap_or(0.0),
        miou: score.strict_miou.unwrap_or(0.0),
        near: 100.0 * claimed as f64 / asked as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Said;
    use e2bki::Pose;

    /// Frames of a wall of `a` with one column in five of `b`, from a source that says `b` a little more than `a` at half of
    /// the points of `a` as well.
    fn drive() -> Vec<LabelledFrame> {
        let frame = |k: usize| {
            let places = (0..3000).map(|i| (2.0 + 0.1 * (i % 60) as f32, 0.1 * (i / 60) as f32 + 0.01 * k as f32));
            let points: Vec<[f32; 3]> = places.map(|(x, z)| [x, 5.0, z]).collect();
            let truth: Vec<u32> = points.iter().map(|p| u32::from(p[0].floor() as i32 % 5 == 0)).collect();
            let said = |(i, truth): (usize, &u32)| match (*truth, i / 7 % 2) {
                (1, _) => [0.05, 0.9, 0.05],
                (_, 0) => [0.55, 0.4, 0.05],
                _ => [0.4, 0.55, 0.05],
            };
            let probabilities = truth.iter().enumerate().flat_map(said).collect();
            LabelledFrame { points, said: Said::Probabilities(probabilities), truth, world_from_sensor: Pose::IDENTITY }
        };
        (0..4).map(frame).collect()
    }

    #[test]
    fn a_class_that_is_said_too_often_counts_less() {
        let classes = ClassSet::from_names(["a", "b", "c"]).unwrap();
        let config = Config::default().with(|c| c.input.context = 0.0);
        let mut steps = 0;
        let learned = ClassCalibration::learn(&drive(), &classes, &config, || steps += 1).unwrap().unwrap();
        assert!(learned.after.acc > learned.before.acc + 1.0, "{learned:?}");
        let weights = &learned.config().input.class_weights;
        assert!(weights.of(1) < weights.of(0), "{weights:?}");
        assert!(learned.config().input.class_weights.of(2) == 1.0 && learned.config().kernel.class_reach.of(2) == 1.0);
        assert!(steps <= ClassCalibration::most_steps(3) && learned.maps == 2 * (steps + 1));
        // What it says of itself is what its configuration gives.
        let folds = [fold(&[], 0, 3)];
        assert_eq!(worth(&folds, &[], &classes, learned.config()).unwrap().acc, 0.0);
        let again = ClassCalibration::learn(&drive(), &classes, learned.config(), || ()).unwrap().unwrap();
        assert_eq!(again.before, learned.after);
    }

    #[test]
    fn nothing_is_learned_from_one_frame_or_without_truth() {
        let classes = ClassSet::from_names(["a", "b", "c"]).unwrap();
        let learn = |frames: &[LabelledFrame]| ClassCalibration::learn(frames, &classes, &Config::default(), || ());
        assert_eq!(learn(&drive()[..1]).unwrap(), None);
        let mut frames = drive();
        frames.iter_mut().for_each(|frame| frame.truth.fill(99));
        assert_eq!(learn(&frames).unwrap(), None);
        assert_eq!(learn(&[]).unwrap(), None);
    }
}
