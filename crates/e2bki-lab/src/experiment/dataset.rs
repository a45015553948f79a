//! Where an experiment's frames come from: simulated drives as the paper's cameras would see them, or a folder.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Result;
use e2bki::{ClassSet, Pose};
use e2bki_data::Format;
use e2bki_eval::{Error, LabelledFrame, Said};
use e2bki_sim::{Drive, Generation, Split, Standard};

use super::cache::FrameCache;
use super::disturb::miscalibrated;
use super::look::{Look, Looker};
use crate::real::{Eye, Recording};
use crate::{OpenSource, OwnNetworks};

/// Frames that kernels are learned from.
const TRAINING_FRAMES: usize = 60;

/// A way is back where it was within this distance, metres.
const SAME_PLACE_M: f64 = 1.0;
/// More frames than a round has.
const ROUND_FRAMES: usize = 5000;

/// Frames with ground truth, one at a time.
pub(super) struct Dataset {
    /// Name in tables and records.
    pub(super) name: String,
    /// What it is one of: drives of one set with other seeds, folds of one recording.
    pub(super) group: String,
    /// Source of the semantics that are mapped, for records.
    pub(super) semantics: String,
    /// Everything its frames depend on.
    pub(super) identity: String,
    pub(super) classes: ClassSet,
    pub(super) frames: usize,
    /// Points farther away are not queried.
    pub(super) max_range_m: f64,
    /// Map every second frame and ask at the points of the others.
    pub(super) held_out: bool,
    /// The dataset of the paper that this is, or stands in for.
    pub(super) stands_for: Option<Standard>,
    /// Unnoticed calibration error of the camera, radians.
    calibration_rad: f64,
    source: Source,
}

enum Source {
    Simulated { drive: Box<Drive>, look: Look, looker: Looker, cache: FrameCache },
    Folder { recording: Box<Recording>, part: Part },
}

/// How drives are simulated.
pub(super) struct Simulation<'a> {
    /// Which drives of the sets.
    pub(super) drives: Generation,
    /// LiDAR columns per turn, where not the sensor's own.
    pub(super) columns: Option<usize>,
    /// Folder for finished frames.
    pub(super) out: &'a Path,
    pub(super) open_source: OpenSource,
    /// Networks of the program.
    pub(super) own: OwnNetworks,
}

/// Some of the frames of a dataset folder.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Name in tables and records; that of the layout and the folder where not given.
    pub(super) name: Option<String>,
    pub(super) folder: PathBuf,
    /// Sequence of the folder, where it has several.
    pub(super) sequence: Option<String>,
    /// Sequences that methods may learn from; where there are none, the frames that are mapped.
    pub(super) learn_from: Vec<String>,
    pub(super) eye: Eye,
    /// Source of the semantics, as `--semantics` takes it.
    pub(super) semantics: String,
    /// The frames; numbers beyond the last are left out.
    pub(super) frames: Range<usize>,
    pub(super) held_out: bool,
}

impl Dataset {
    /// The first drive of a standard set: the points inside the camera's view, as the paper's inputs are.
    pub(super) fn simulated(
        standard: Standard,
        split: Split,
        look: &Look,
        frames: usize,
        simulation: &Simulation,
    ) -> Result<Self> {
        Self::simulated_nth(standard, split, 0, look, frames, simulation)
    }

    /// The same with another seed for every number.
    pub(super) fn simulated_nth(
        standard: Standard,
        split: Split,
        nth: u64,
        look: &Look,
        frames: usize,
        simulation: &Simulation,
    ) -> Result<Self> {
        let mut options = standard.drives_of(simulation.drives, split)[0].options;
        options.columns = simulation.columns.or(options.columns);
        options.seed += 1000 * nth;
        let drive = Drive::new(options)?;
        let looker = Looker::new(look, standard, &drive, simulation)?;
        let name = if nth == 0 { name_of(standard).into() } else { format!("{} {}", name_of(standard), nth + 1) };
        let classes = ClassSet::new(drive.classes().iter().map(|class| (class.name, class.color)))?;
        let identity = format!(
            "{name} {split:?} {} {}",
            look.identity(standard, simulation.own)?,
            serde_json::to_string(&options)?
        );
        let cache = FrameCache::open(simulation.out, &identity, classes.len())?;
        Ok(Self {
            group: name_of(standard).into(),
            name: if look.goes_without_saying() { name } else { format!("{name}, network {look}") },
            semantics: look.describe(),
            identity: format!("{identity} {frames}"),
            classes,
            frames,
            max_range_m: f64::INFINITY,
            held_out: false,
            stands_for: Some(standard),
            calibration_rad: 0.0,
            source: Source::Simulated { drive: Box::new(drive), look: look.clone(), looker, cache },
        })
    }

    /// Some frames of a dataset folder.
    pub(super) fn part(part: Part, open_source: OpenSource) -> Result<Self> {
        let Part { sequence, semantics, eye, .. } = &part;
        let recording = Recording::open_sequence(&part.folder, sequence.as_deref(), semantics, *eye, open_source)?;
        let frames = part.frames.start..part.frames.end.min(recording.len());
        let Part { name, folder, held_out, semantics, .. } = &part;
        let identity = format!("{} {semantics} {frames:?} {held_out} {}", folder.display(), recording.identity()?);
        let short = || folder.file_name().map_or_else(|| "?".into(), |name| name.to_string_lossy().into_owned());
        let group = format!("{}{}", title(recording.format()), if *held_out { ", held out" } else { "" });
        let name = match name {
            Some(name) => name.clone(),
            None => {
                let which = recording.sequence().map_or_else(short, String::from);
                format!("{} {which}{}", title(recording.format()), if *held_out { ", held out" } else { "" })
            }
        };
        Ok(Self {
            name,
            group,
            identity,
            semantics: recording.semantics().into(),
            classes: recording.classes().clone(),
            frames: frames.len(),
            max_range_m: if part.eye == Eye::Camera { f64::INFINITY } else { 50.0 },
            held_out: *held_out,
            stands_for: match (recording.format(), part.eye) {
                (Format::Rellis3d, Eye::Camera) => Some(Standard::RellisLike),
                (Format::Kitti360, Eye::Camera) => Some(Standard::KittiLike),
                _ => None,
            },
            calibration_rad: 0.0,
            source: Source::Folder { recording: Box::new(recording), part },
        })
    }

    /// What its rows are of where drives of a set are averaged.
    pub(super) fn table_name(&self) -> &str {
        if self.is_simulated() { &self.group } else { &self.name }
    }

    /// Whether it is a stand-in.
    pub(super) fn is_simulated(&self) -> bool {
        matches!(self.source, Source::Simulated { .. })
    }

    /// Whose labels are the truth, in words.
    pub(super) fn truth(&self) -> &'static str {
        match &self.source {
            Source::Simulated { .. } => "labels of points",
            Source::Folder { recording, .. } => recording.truth(),
        }
    }

    /// What was assumed or left out when it was opened.
    pub(super) fn notes(&self) -> &[String] {
        match &self.source {
            Source::Simulated { .. } => &[],
            Source::Folder { recording, .. } => recording.notes(),
        }
    }

    /// The same with an unnoticed calibration error of the camera.
    pub(super) fn miscalibrated(mut self, degrees: f64) -> Self {
        self.calibration_rad = degrees.to_radians();
        self.identity += &format!(" camera turned by {degrees}°");
        self
    }

    /// A frame.
    pub(super) fn frame(&self, index: usize) -> Result<LabelledFrame> {
        let frame = self.undisturbed(index)?;
        if self.calibration_rad == 0.0 {
            return Ok(frame);
        }
        miscalibrated(&frame, self.classes.len(), self.calibration_rad)
    }

    fn undisturbed(&self, index: usize) -> Result<LabelledFrame> {
        match &self.source {
            Source::Simulated { drive, looker, cache, .. } => {
                if let Some(frame) = cache.get(index) {
                    return Ok(frame);
                }
                let frame = drive.frame(index);
                let evidence = looker.evidence(drive, &frame)?;
                let all = LabelledFrame {
                    world_from_sensor: Pose::from_matrix(frame.world_from_sensor)?,
                    truth: frame.labels.iter().map(|label| u32::from(*label)).collect(),
                    said: Said::Evidence(evidence),
                    points: frame.points,
                };
                let seen = all.filtered(self.classes.len(), |i| drive.pixel_of(all.points[i]).is_some());
                cache.put(index, &seen)?;
                Ok(seen)
            }
            Source::Folder { recording, part } => recording.frame(part.frames.start + index),
        }
    }

    /// The first frame of a second round: where the way comes back to its first frame, looking the same way.
    pub(super) fn second_pass(&self) -> Option<usize> {
        let Source::Simulated { drive, .. } = &self.source else { return None };
        let pose = |index: usize| Pose::from_matrix(drive.world_from_sensor(index).to_matrix()).ok();
        let ahead = |pose: &Pose| {
            let (from, to) = (pose.apply([0.0; 3]), pose.apply([1.0, 0.0, 0.0]));
            (from, [0, 1, 2].map(|i| to[i] - from[i]))
        };
        let (first, direction) = ahead(&pose(0)?);
        let back = |index: &usize| {
            pose(*index).is_some_and(|pose| {
                let (place, along) = ahead(&pose);
                let apart = (0..3).map(|i| (place[i] - first[i]).powi(2)).sum::<f64>().sqrt();
                apart < SAME_PLACE_M && (0..3).map(|i| along[i] * direction[i]).sum::<f64>() > 0.9
            })
        };
        (self.frames + 1..ROUND_FRAMES).find(back)
    }

    /// All frames, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = e2bki_eval::Result<LabelledFrame>> {
        (0..self.frames).map(|index| self.frame(index).map_err(|e| Error::Frame { index, why: format!("{e:#}") }))
    }

    /// Whether a frame is queried.
    pub(super) fn asks(&self, index: usize) -> bool {
        !self.held_out || index % 2 == 1
    }

    /// Every so many frames one is mapped, unless an experiment says otherwise.
    pub(super) fn every(&self) -> usize {
        if self.held_out { 2 } else { 5 }
    }

    /// Drives to learn kernels from, with the step between their frames: other sequences where there are some.
    pub(super) fn trainings(&self, simulation: &Simulation) -> Result<Vec<(Self, usize)>> {
        match &self.source {
            Source::Folder { part, .. } if !part.learn_from.is_empty() => {
                let of = |sequence: &String| {
                    let part =
                        Part { sequence: Some(sequence.clone()), frames: 0..usize::MAX, name: None, ..part.clone() };
                    let mut training = Self::part(part, simulation.open_source)?;
                    let step = training.every();
                    training.frames = training.frames.min(step * TRAINING_FRAMES.div_ceil(self.learns_from().len()));
                    Ok((training, step))
                };
                part.learn_from.iter().map(of).collect()
            }
            _ => Ok(vec![self.training(simulation)?]),
        }
    }

    /// Sequences that methods may learn from.
    pub(super) fn learns_from(&self) -> &[String] {
        match &self.source {
            Source::Simulated { .. } => &[],
            Source::Folder { part, .. } => &part.learn_from,
        }
    }

    /// A drive to train on, which shares no asked frame with this one, and the frames to take of it.
    pub(super) fn training(&self, simulation: &Simulation) -> Result<(Self, usize)> {
        match (&self.source, self.stands_for) {
            (Source::Simulated { look, .. }, Some(standard)) => {
                let frames = self.frames.min(TRAINING_FRAMES);
                // What a trained network says of the drives that it learned from is no sample of what it says elsewhere.
                let (split, look) = match look {
                    Look::Simulated(_) => (Split::Train, Look::default()),
                    Look::Own | Look::Trained(_) => (Split::Validation, look.clone()),
                };
                Ok((Self::simulated(standard, split, &look, frames, simulation)?, 1))
            }
            // Held out: the frames that are mapped may be learned from. Otherwise there is nothing else to learn from.
            (Source::Folder { part, .. }, _) => Ok((Self::part(part.clone(), simulation.open_source)?, self.every())),
            (Source::Simulated { .. }, None) => anyhow::bail!("a simulated drive without its standard set"),
        }
    }
}

/// Name of a layout in tables.
fn title(format: Format) -> &'static str {
    match format {
        Format::Rellis3d => "RELLIS-3D",
        Format::Kitti360 => "KITTI-360",
        Format::SemanticKitti => "SemanticKITTI",
        Format::PandaSet => "PandaSet",
        other => other.name(),
    }
}

/// Name of a stand-in.
pub(super) fn name_of(standard: Standard) -> &'static str {
    match standard {
        Standard::RellisLike => "rellis-like",
        Standard::OffroadLike => "offroad-like",
        Standard::KittiLike => "kitti360-like",
    }
}
