//! What a few labelled frames teach about reach: whether uncertain primitives are better kept, how far all kernels reach,
//! and those of single classes.
//!
//! Maps of half of the frames are asked at the labelled points of the other half, and the other way round. A step is
//! taken if the answers of both together are better by it: right, in all classes, and as sure as they may be (every map
//! is read with the `agreement` that fits it), less a price for volume. Labelled returns alone would have every reach as
//! long as it is allowed to be, so the volume is bounded as well. What helps in a few places only is chance: the gain must
//! stand out of its own error, found by leaving out an eighth of the ground at a time; more so for a single class, of
//! which one drive knows less.

use e2bki::config::{ClassFactors, Gate};
use e2bki::{Belief, ClassSet, Config, Mapper, SemanticMapper};

use crate::calibration::Calibration;
use crate::error::Result;
use crate::frame::LabelledFrame;
use crate::reading;
use crate::tally::Tally;

/// Times as much volume as without anything learned that a map may claim.
const BUDGET: f64 = 1.3;

/// What a percent of that volume costs, in percent of [`Worth::total`].
const PRICE: f64 = 0.01;

/// What must be gained by a step, in the same percent: less is noise.
const LEAST_GAIN: f64 = 0.025;

/// Standard errors that must be gained by a step of all classes, and of a single one.
const COMMON: f64 = 0.5;
const SINGLE: f64 = 2.0;

/// A step of the reach of all classes, and how many are tried.
const REACH: f64 = 1.1;
const REACHES: usize = 4;

/// Factors of the reach of a class.
const FACTORS: [f32; 2] = [1.4, 0.7];

/// Labelled points that a class must have before anything is learned of it.
const FEWEST: usize = 50;

/// Points that are asked about in each half, evenly spread.
const MOST: usize = 50_000;

/// Parts of the ground, made of squares of so many metres.
const PARTS: usize = 8;
const SQUARE_M: f64 = 4.0;

/// Answers of maps that were asked at the frames they were not made of, all in percent but the volume.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Worth {
    /// Right answers of all places.
    pub acc: f64,
    /// Mean IoU with unanswered places as missed.
    pub miou: f64,
    /// Brier score of the confidence 1 − u.
    pub brier: f64,
    /// Its expected calibration error.
    pub ece: f64,
    /// Claimed volume of both maps, cubic metres.
    pub volume_m3: f64,
}

impl Worth {
    fn total(&self) -> f64 {
        self.acc + 0.5 * self.miou - 0.5 * self.brier
    }
}

/// What was learned of reach.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ClassCalibration {
    /// The maps without it.
    pub before: Worth,
    /// The maps with it.
    pub after: Worth,
    /// Maps that were built.
    pub maps: usize,
    #[serde(skip)]
    common: Config,
    #[serde(skip)]
    learned: Config,
}

/// One half of the frames to map, and what to ask of the map.
struct Fold<'a> {
    mapped: Vec<&'a LabelledFrame>,
    places: Vec<[f64; 3]>,
    truth: Vec<usize>,
}

/// The answers to all that was asked, by parts of the ground.
struct Found {
    config: Config,
    parts: Vec<(Tally, Calibration)>,
    volume_m3: f64,
}

impl ClassCalibration {
    /// Learns it from frames of one drive in their order, starting from a configuration; nothing if there is nothing to
    /// ask about. The volume is bounded by that of `uncalibrated`, which knows nothing of the labels. `step` is called
    /// after every step that was tried.
    pub fn learn(
        frames: &[LabelledFrame],
        classes: &ClassSet,
        uncalibrated: &Config,
        config: &Config,
        mut step: impl FnMut(),
    ) -> Result<Option<Self>> {
        let folds = [fold(frames, 0, classes.len()), fold(frames, 1, classes.len())];
        if folds.iter().any(|fold| fold.mapped.is_empty() || fold.truth.is_empty()) {
            return Ok(None);
        }
        let mut search = Search::new(&folds, classes, uncalibrated, config)?;
        let before = search.best.worth(None);
        search.consider(|c| c.fusion.gate = Gate::Off, COMMON)?;
        step();
        for _ in 0..REACHES {
            let taken = search.consider(|c| c.kernel.uncertainty_sensitivity *= REACH, COMMON)?;
            step();
            if !taken {
                break;
            }
        }
        let common = search.best.config.clone();
        let mut asked = vec![0; classes.len()];
        folds.iter().flat_map(|fold| &fold.truth).for_each(|class| asked[*class] += 1);
        // Frequent classes first: what is learned of them, others are measured with.
        let mut order: Vec<usize> = (0..classes.len()).filter(|class| asked[*class] >= FEWEST).collect();
        order.sort_by_key(|class| std::cmp::Reverse(asked[*class]));
        for class in order {
            for factor in FACTORS {
                let reach = |c: &Config| times(&c.kernel.class_reach, class, factor, classes.len());
                let taken = search.consider(|c| c.kernel.class_reach = reach(c), SINGLE)?;
                step();
                if taken {
                    break;
                }
            }
        }
        let (after, learned) = (search.best.worth(None), search.best.config.clone());
        Ok(Some(Self { before, after, maps: search.maps, common, learned }))
    }

    /// The configuration with what was learned.
    pub fn config(&self) -> &Config {
        &self.learned
    }

    /// The configuration with what was learned of all classes alike.
    pub fn common(&self) -> &Config {
        &self.common
    }

    /// Most steps that are tried.
    pub fn most_steps(classes: usize) -> usize {
        1 + REACHES + FACTORS.len() * classes
    }
}

/// The best configuration so far.
struct Search<'a> {
    folds: &'a [Fold<'a>],
    classes: &'a ClassSet,
    /// Volume without anything learned.
    volume_m3: f64,
    maps: usize,
    best: Found,
}

impl<'a> Search<'a> {
    fn new(folds: &'a [Fold<'a>], classes: &'a ClassSet, uncalibrated: &Config, config: &Config) -> Result<Self> {
        let volume_m3 = ask(folds, classes, uncalibrated)?.volume_m3;
        let best = ask(folds, classes, config)?;
        Ok(Self { folds, classes, volume_m3, maps: 2 * folds.len(), best })
    }

    /// Takes a change if it is worth more than it costs by so many standard errors; says whether.
    fn consider(&mut self, change: impl FnOnce(&mut Config), errors: f64) -> Result<bool> {
        let found = ask(self.folds, self.classes, &self.best.config.clone().with(change))?;
        self.maps += self.folds.len();
        let (gain, error) = gain(&found, &self.best);
        let larger = found.volume_m3 - self.best.volume_m3;
        let gain = gain - PRICE * 100.0 * larger / self.volume_m3.max(f64::MIN_POSITIVE);
        let fits = found.volume_m3 <= BUDGET * self.volume_m3 || larger <= 0.0;
        let taken = fits && gain > LEAST_GAIN.max(errors * error);
        if taken {
            self.best = found;
        }
        Ok(taken)
    }
}

impl Found {
    /// What the answers are worth, with one part of the ground left out.
    fn worth(&self, without: Option<usize>) -> Worth {
        let classes = self.parts.first().map_or(0, |(tally, _)| tally.classes());
        let (mut tally, mut calibration) = (Tally::new(classes), Calibration::default());
        for (_, (answers, sure)) in self.parts.iter().enumerate().filter(|(part, _)| Some(*part) != without) {
            tally.merge(answers);
            calibration.merge(sure);
        }
        let score = tally.score();
        Worth {
            acc: score.acc.unwrap_or(0.0),
            miou: score.strict_miou.unwrap_or(0.0),
            brier: calibration.brier().unwrap_or(0.0),
            ece: calibration.ece().unwrap_or(0.0),
            volume_m3: self.volume_m3,
        }
    }
}

/// How much more one is worth than another, and the standard error of that: a jackknife over parts of the ground.
fn gain(new: &Found, old: &Found) -> (f64, f64) {
    let of = |without| new.worth(without).total() - old.worth(without).total();
    let without: Vec<f64> = (0..PARTS).map(|part| of(Some(part))).collect();
    let mean = without.iter().sum::<f64>() / PARTS as f64;
    let squares: f64 = without.iter().map(|v| (v - mean) * (v - mean)).sum();
    (of(None), (squares * (PARTS - 1) as f64 / PARTS as f64).sqrt())
}

/// The factors with that of one class changed.
fn times(factors: &ClassFactors, class: usize, factor: f32, classes: usize) -> ClassFactors {
    let changed = |c: usize| factors.of(c) * if c == class { factor } else { 1.0 };
    ClassFactors::new((0..classes).map(changed).collect())
}

/// Every second frame from `first` on is mapped; labelled points of the others are asked about.
fn fold(frames: &[LabelledFrame], first: usize, classes: usize) -> Fold<'_> {
    let asked = frames.iter().skip(1 - first).step_by(2);
    let all: Vec<([f64; 3], usize)> = asked.flat_map(|frame| frame.labelled_places(classes)).collect();
    let (places, truth) = all.iter().step_by(all.len().div_ceil(MOST).max(1)).copied().unzip();
    Fold { mapped: frames.iter().skip(first).step_by(2).collect(), places, truth }
}

/// The maps of a configuration, asked and read as surely as they may be.
fn ask(folds: &[Fold<'_>], classes: &ClassSet, config: &Config) -> Result<Found> {
    let (mut tallies, mut answers, mut volume_m3) = (vec![Tally::new(classes.len()); PARTS], Vec::new(), 0.0);
    for fold in folds {
        let mut map = Mapper::new(classes.clone(), config.clone().with(|c| c.views.live_voxels = false))?;
        for frame in &fold.mapped {
            map.insert(&frame.borrow())?;
        }
        let beliefs = map.query_voxels(&fold.places)?;
        for ((belief, place), truth) in beliefs.iter().zip(&fold.places).zip(&fold.truth) {
            let part = part(*place);
            tallies[part].add(*truth, belief.label());
            answers.extend(belief.label().map(|label| (part, (belief, label == *truth))));
        }
        volume_m3 += map.voxels(config.views.resolution)?.centers.len() as f64 * config.views.resolution.powi(3);
    }
    let known: Vec<(Belief, bool)> = answers.iter().map(|(_, answer)| *answer).collect();
    let agreement = reading::fit(&known, config.views.agreement);
    let mut sure = vec![Calibration::default(); PARTS];
    for (part, (belief, right)) in answers {
        sure[part].add(right, 1.0 - belief.read_with(agreement).uncertainty());
    }
    let config = config.clone().with(|c| c.views.agreement = agreement);
    Ok(Found { config, parts: tallies.into_iter().zip(sure).collect(), volume_m3 })
}

/// The part of the ground that a place is in: squares, dealt out as if at random.
fn part(place: [f64; 3]) -> usize {
    let [x, y] = [place[0], place[1]].map(|v| (v / SQUARE_M).floor() as i64 as u64);
    let mixed = x.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ y.wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    (mixed.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 40) as usize % PARTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Said;
    use e2bki::Pose;

    /// Sparse frames of a wall of `a` with posts of `b`, said rightly: what is missing are answers between the points.
    fn drive() -> Vec<LabelledFrame> {
        let frame = |k: usize| {
            let (across, up) = (0.17 * k as f32, 0.35 * (k % 2) as f32);
            let places = (0..2400).map(|i| (0.7 * (i % 60) as f32 + across, 0.7 * (i / 60) as f32 + up));
            let points: Vec<[f32; 3]> = places.map(|(x, z)| [x, 5.0, z]).collect();
            let truth: Vec<u32> = points.iter().map(|p| u32::from(p[0].floor() as i32 % 5 == 0)).collect();
            let said = |truth: &u32| if *truth == 1 { [0.05, 0.9, 0.05] } else { [0.9, 0.05, 0.05] };
            let probabilities = truth.iter().flat_map(said).collect();
            LabelledFrame { points, said: Said::Probabilities(probabilities), truth, world_from_sensor: Pose::IDENTITY }
        };
        (0..4).map(frame).collect()
    }

    fn classes() -> ClassSet {
        ClassSet::from_names(["a", "b", "c"]).unwrap()
    }

    #[test]
    fn reach_grows_where_answers_are_missing_and_stops_at_the_budget() {
        let (config, mut steps) = (Config::default(), 0);
        let learned = ClassCalibration::learn(&drive(), &classes(), &config, &config, || steps += 1).unwrap().unwrap();
        assert!(learned.after.acc > learned.before.acc + 1.0, "{learned:?}");
        assert!(learned.after.total() > learned.before.total(), "{learned:?}");
        let reach = learned.config().kernel.uncertainty_sensitivity;
        assert!(reach > config.kernel.uncertainty_sensitivity, "{reach}");
        assert!(learned.after.volume_m3 <= BUDGET * learned.before.volume_m3, "{learned:?}");
        assert_eq!(learned.config().kernel.class_reach.of(2), 1.0, "of a class that is not there nothing is learned");
        assert!(steps <= ClassCalibration::most_steps(3) && learned.maps == 2 * (steps + 2));
        // What it says of itself is what its configuration gives.
        let again = ClassCalibration::learn(&drive(), &classes(), &config, learned.config(), || ()).unwrap().unwrap();
        assert_eq!(again.before, learned.after);
    }

    #[test]
    fn what_helps_in_one_place_only_has_a_large_error() {
        let found = |right: [u64; PARTS]| {
            let part = |right: u64| {
                let (mut tally, mut sure) = (Tally::new(1), Calibration::default());
                (0..100).for_each(|i| tally.add(0, (i < right).then_some(0)));
                sure.add(true, 1.0);
                (tally, sure)
            };
            Found { config: Config::default(), parts: right.map(part).to_vec(), volume_m3: 1.0 }
        };
        let old = found([50; PARTS]);
        // One of eight parts gains 8 percent: 1 percent of Acc and of IoU, and as large an error.
        let (gained, error) = gain(&found([58, 50, 50, 50, 50, 50, 50, 50]), &old);
        assert!((gained - 1.5).abs() < 1e-9 && (error - 1.5).abs() < 1e-9, "{gained} {error}");
        let (gained, error) = gain(&found([51; PARTS]), &old);
        assert!((gained - 1.5).abs() < 1e-9 && error < 1e-9, "{gained} {error}");
    }

    #[test]
    fn nothing_is_learned_from_one_frame_or_without_truth() {
        let config = Config::default();
        let learn = |frames: &[LabelledFrame]| ClassCalibration::learn(frames, &classes(), &config, &config, || ());
        assert_eq!(learn(&drive()[..1]).unwrap(), None);
        let mut frames = drive();
        frames.iter_mut().for_each(|frame| frame.truth.fill(99));
        assert_eq!(learn(&frames).unwrap(), None);
        assert_eq!(learn(&[]).unwrap(), None);
    }
}
