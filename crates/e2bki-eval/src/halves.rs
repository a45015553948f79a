//! What a configuration is worth on labelled frames: maps of half of them are asked at the labelled points of the other
//! half, and the other way round, and read with the `agreement` that fits them. Errors of what is gained are those between
//! parts of the ground: points of one wall are one sample.

use e2bki::{Belief, ClassSet, Config, Mapper, SemanticMapper};

use crate::calibration::Calibration;
use crate::error::Result;
use crate::frame::LabelledFrame;
use crate::reading;
use crate::tally::Tally;

/// Points that are asked about in each half, evenly spread.
const MOST: usize = 50_000;

/// Parts of the ground, made of squares of so many metres.
pub(crate) const PARTS: usize = 8;
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
    pub(crate) fn total(&self) -> f64 {
        self.acc + 0.5 * self.miou - 0.5 * self.brier
    }
}

/// The frames in two halves, each to be asked of a map of the other.
pub(crate) struct Halves<'a> {
    folds: [Fold<'a>; 2],
    classes: &'a ClassSet,
}

/// One half of the frames to map, and what to ask of the map.
struct Fold<'a> {
    mapped: Vec<&'a LabelledFrame>,
    places: Vec<[f64; 3]>,
    truth: Vec<usize>,
}

/// The answers to all that was asked, by parts of the ground.
pub(crate) struct Found {
    pub(crate) config: Config,
    pub(crate) parts: Vec<(Tally, Calibration)>,
    pub(crate) volume_m3: f64,
}

impl<'a> Halves<'a> {
    /// Maps that are built to ask once.
    pub(crate) const MAPS: usize = 2;

    /// Every second frame and the others; nothing if there is nothing to map or to ask about.
    pub(crate) fn new(frames: &'a [LabelledFrame], classes: &'a ClassSet) -> Option<Self> {
        let folds = [fold(frames, 0, classes.len()), fold(frames, 1, classes.len())];
        let usable = folds.iter().all(|fold| !fold.mapped.is_empty() && !fold.truth.is_empty());
        usable.then_some(Self { folds, classes })
    }

    /// Places that are asked about, by class.
    pub(crate) fn asked(&self) -> Vec<usize> {
        let mut asked = vec![0; self.classes.len()];
        self.folds.iter().flat_map(|fold| &fold.truth).for_each(|class| asked[*class] += 1);
        asked
    }

    /// The maps of a configuration, asked and read as surely as they may be.
    pub(crate) fn ask(&self, config: &Config) -> Result<Found> {
        let (mut tallies, mut answers) = (vec![Tally::new(self.classes.len()); PARTS], Vec::new());
        let mut volume_m3 = 0.0;
        for fold in &self.folds {
            let mut map = Mapper::new(self.classes.clone(), config.clone().with(|c| c.views.live_voxels = false))?;
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
}

impl Found {
    /// What the answers are worth, with one part of the ground left out.
    pub(crate) fn worth(&self, without: Option<usize>) -> Worth {
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
pub(crate) fn gain(new: &Found, old: &Found) -> (f64, f64) {
    jackknife(|without| new.worth(without).total() - old.worth(without).total())
}

/// A number of all parts of the ground, and its standard error from leaving out one at a time.
pub(crate) fn jackknife(of: impl Fn(Option<usize>) -> f64) -> (f64, f64) {
    let without: Vec<f64> = (0..PARTS).map(|part| of(Some(part))).collect();
    let mean = without.iter().sum::<f64>() / PARTS as f64;
    let squares: f64 = without.iter().map(|v| (v - mean) * (v - mean)).sum();
    (of(None), (squares * (PARTS - 1) as f64 / PARTS as f64).sqrt())
}

/// Every second frame from `first` on is mapped; labelled points of the others are asked about.
fn fold(frames: &[LabelledFrame], first: usize, classes: usize) -> Fold<'_> {
    let asked = frames.iter().skip(1 - first).step_by(2);
    let all: Vec<([f64; 3], usize)> = asked.flat_map(|frame| frame.labelled_places(classes)).collect();
    let (places, truth) = all.iter().step_by(all.len().div_ceil(MOST).max(1)).copied().unzip();
    Fold { mapped: frames.iter().skip(first).step_by(2).collect(), places, truth }
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
}
