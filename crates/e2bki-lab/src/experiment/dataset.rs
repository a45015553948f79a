//! Where an experiment's frames come from: simulated drives as the paper's cameras would see them, or a folder.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Result;
use e2bki::{ClassSet, Pose};
use e2bki_data::Format;
use e2bki_eval::{Error, LabelledFrame, Said};
use e2bki_sim::{Drive, Split, Standard};

use super::cache::FrameCache;
use super::disturb::miscalibrated;
use super::look::{Look, Looker};
use crate::OpenSource;
use crate::real::Recording;

/// Frames with ground truth, one at a time.
pub(super) struct Dataset {
    /// Name in tables and records.
    pub(super) name: String,
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
    /// The dataset of the paper this stands in for.
    pub(super) stands_for: Option<Standard>,
    /// Unnoticed calibration error of the camera, radians.
    calibration_rad: f64,
    source: Source,
}

enum Source {
    Simulated { drive: Box<Drive>, looker: Looker, cache: FrameCache },
    Folder { recording: Box<Recording>, part: Part },
}

/// How drives are simulated.
pub(super) struct Simulation<'a> {
    /// LiDAR columns per turn, where not the sensor's own.
    pub(super) columns: Option<usize>,
    /// Folder for finished frames.
    pub(super) out: &'a Path,
    pub(super) open_source: OpenSource,
}

/// Some of the frames of a dataset folder.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Name in tables and records; that of the layout and the folder where not given.
    pub(super) name: Option<String>,
    pub(super) folder: PathBuf,
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
        let mut options = standard.drives(split)[0].options;
        options.columns = simulation.columns.or(options.columns);
        options.seed += 1000 * nth;
        let drive = Drive::new(options)?;
        let looker = Looker::new(look, &drive, simulation.open_source)?;
        let name = if nth == 0 { name_of(standard).into() } else { format!("{} {}", name_of(standard), nth + 1) };
        let classes = ClassSet::new(drive.classes().iter().map(|class| (class.name, class.color)))?;
        let identity = format!("{name} {split:?} {} {}", look.identity()?, serde_json::to_string(&options)?);
        let cache = FrameCache::open(simulation.out, &identity, classes.len())?;
        Ok(Self {
            name: if *look == Look::default() { name } else { format!("{name}, network {look}") },
            semantics: look.describe(),
            identity: format!("{identity} {frames}"),
            classes,
            frames,
            max_range_m: f64::INFINITY,
            held_out: false,
            stands_for: Some(standard),
            calibration_rad: 0.0,
            source: Source::Simulated { drive: Box::new(drive), looker, cache },
        })
    }

    /// Some frames of a dataset folder; points within 50 m.
    pub(super) fn part(part: Part, open_source: OpenSource) -> Result<Self> {
        let recording = Recording::open(&part.folder, &part.semantics, open_source)?;
        let frames = part.frames.start..part.frames.end.min(recording.len());
        let Part { name, folder, held_out, semantics, .. } = &part;
        let identity = format!("{} {semantics} {frames:?} {held_out} {}", folder.display(), recording.identity()?);
        let name = match name {
            Some(name) => name.clone(),
            None => {
                let short = folder.file_name().map_or_else(|| "?".into(), |name| name.to_string_lossy().into_owned());
                format!("{} {short}{}", title(recording.format()), if *held_out { ", held out" } else { "" })
            }
        };
        Ok(Self {
            name,
            identity,
            semantics: semantics.clone(),
            classes: recording.classes().clone(),
            frames: frames.len(),
            max_range_m: 50.0,
            held_out: *held_out,
            stands_for: None,
            calibration_rad: 0.0,
            source: Source::Folder { recording: Box::new(recording), part },
        })
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
            Source::Simulated { drive, looker, cache } => {
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

    /// A drive to train on, which shares no asked frame with this one, and the frames to take of it.
    pub(super) fn training(&self, simulation: &Simulation) -> Result<(Self, usize)> {
        match (&self.source, self.stands_for) {
            (Source::Simulated { .. }, Some(standard)) => {
                let frames = self.frames.min(60);
                Ok((Self::simulated(standard, Split::Train, &Look::default(), frames, simulation)?, 1))
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
