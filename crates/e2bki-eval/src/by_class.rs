//! What a few labelled frames teach about reach: whether uncertain primitives are better kept, how far all kernels reach,
//! and those of single classes.
//!
//! A step is taken if the answers are better by it: right, in all classes, and as sure as they may be, less a price for
//! volume (`halves.rs`). Labelled returns alone would have every reach as long as it is allowed to be, so the volume is
//! bounded as well. What helps in a few places only is chance: the gain must stand out of its own error. Of single classes
//! one drive knows less, so theirs is shrunk by how little is known (`response.rs`).

use e2bki::config::{ClassFactors, Gate};
use e2bki::{ClassSet, Config};

use crate::error::Result;
use crate::frame::LabelledFrame;
use crate::halves::{Found, Halves, Worth, gain};
use crate::response::{PROBE, Response, price_within};

/// Times as much volume as without anything learned that a map may claim.
const BUDGET: f64 = 1.35;

/// What a percent of that volume costs at least, in percent of [`Worth::total`].
const PRICE: f64 = 0.01;

/// What must be gained by a step, in the same percent and in standard errors: less is noise.
const LEAST_GAIN: f64 = 0.025;
const LEAST_ERRORS: f64 = 0.5;

/// A step of the reach of all classes, and how many are tried.
const REACH: f64 = 1.1;
const REACHES: usize = 4;

/// Shares of what is best for the single classes that are tried.
const SHARES: [f64; 2] = [1.0, 0.5];

/// Labelled points that a class must have before anything is learned of it.
const FEWEST: usize = 50;

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
        let Some(halves) = Halves::new(frames, classes) else { return Ok(None) };
        let mut search = Search::new(&halves, uncalibrated, config)?;
        let before = search.best.worth(None);
        search.consider(|c| c.fusion.gate = Gate::Off)?;
        step();
        for _ in 0..REACHES {
            let taken = search.consider(|c| c.kernel.uncertainty_sensitivity *= REACH)?;
            step();
            if !taken {
                break;
            }
        }
        let common = search.best.config.clone();
        search.single_classes(&mut step)?;
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
        1 + REACHES + 2 * classes + SHARES.len()
    }
}

/// The best configuration so far.
struct Search<'a> {
    halves: &'a Halves<'a>,
    /// Volume without anything learned.
    volume_m3: f64,
    maps: usize,
    best: Found,
}

impl<'a> Search<'a> {
    fn new(halves: &'a Halves<'a>, uncalibrated: &Config, config: &Config) -> Result<Self> {
        let volume_m3 = halves.ask(uncalibrated)?.volume_m3;
        Ok(Self { halves, volume_m3, maps: 2 * Halves::MAPS, best: halves.ask(config)? })
    }

    /// Volume in percent of that without anything learned.
    fn percent(&self, volume_m3: f64) -> f64 {
        100.0 * volume_m3 / self.volume_m3.max(f64::MIN_POSITIVE)
    }

    fn ask(&mut self, config: &Config) -> Result<Found> {
        self.maps += Halves::MAPS;
        self.halves.ask(config)
    }

    /// Takes a change if it is worth more than it costs and more than its error; says whether.
    fn consider(&mut self, change: impl FnOnce(&mut Config)) -> Result<bool> {
        let found = self.ask(&self.best.config.clone().with(change))?;
        let (gain, error) = gain(&found, &self.best);
        let larger = self.percent(found.volume_m3 - self.best.volume_m3);
        let fits = found.volume_m3 <= BUDGET * self.volume_m3 || larger <= 0.0;
        let taken = fits && gain - PRICE * larger > LEAST_GAIN.max(LEAST_ERRORS * error);
        if taken {
            self.best = found;
        }
        Ok(taken)
    }

    /// Changes the reach of every class a little, one at a time, and takes all where they are best together, as far as that
    /// is known and within the bound of the volume.
    fn single_classes(&mut self, step: &mut impl FnMut()) -> Result<()> {
        let asked = self.halves.asked();
        let mut responses = Vec::new();
        for class in (0..asked.len()).filter(|class| asked[*class] >= FEWEST) {
            let changed = |factor: f32, config: &Config| {
                let reach = times(&config.kernel.class_reach, class, factor, asked.len());
                config.clone().with(|c| c.kernel.class_reach = reach)
            };
            let up = self.ask(&changed(PROBE, &self.best.config))?;
            step();
            let down = self.ask(&changed(1.0 / PROBE, &self.best.config))?;
            step();
            let volumes = [&down, &self.best, &up].map(|found| self.percent(found.volume_m3));
            responses.push(Response::new(class, [&down, &self.best, &up], volumes));
        }
        let room = self.percent(BUDGET * self.volume_m3 - self.best.volume_m3);
        let price = price_within(&responses, PRICE, room);
        for share in SHARES {
            let mut reach = self.best.config.kernel.class_reach.clone();
            for response in &responses {
                // Two digits after the point: more would say more than is known.
                let factor = (100.0 * (share * response.best(price)).exp()).round() / 100.0;
                reach = times(&reach, response.class, factor as f32, asked.len());
            }
            let taken = self.consider(|c| c.kernel.class_reach = reach)?;
            step();
            if taken {
                break;
            }
        }
        Ok(())
    }
}

/// The factors with that of one class changed.
fn times(factors: &ClassFactors, class: usize, factor: f32, classes: usize) -> ClassFactors {
    let changed = |c: usize| factors.of(c) * if c == class { factor } else { 1.0 };
    ClassFactors::new((0..classes).map(changed).collect())
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
        assert!(steps <= ClassCalibration::most_steps(3) && learned.maps == Halves::MAPS * (steps + 2));
        // What it says of itself is what its configuration gives.
        let again = ClassCalibration::learn(&drive(), &classes(), &config, learned.config(), || ()).unwrap().unwrap();
        assert_eq!(again.before, learned.after);
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
