//! Options for opening a dataset, and sources of semantics.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use crate::classes::ClassTable;
use crate::error::Error;
use crate::layout::{Format, Split};
use crate::parse::Cells;

/// How to open a dataset.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Layout of the folder; detected where not given.
    pub format: Option<Format>,
    /// Sequence; the first there is where not given.
    pub sequence: Option<String>,
    /// Only the frames of one part of the dataset's own division.
    pub split: Option<Split>,
    /// Classes; those usual for the format where not given.
    pub classes: Option<ClassTable>,
    /// Where the semantics come from.
    pub semantics: SemanticsSource,
    /// Network for the images, for [`SemanticsSource::Images`].
    pub network: Option<Arc<dyn ImageSemantics>>,
    /// Label ids or channels of the semantics (`cityscapes`, `classes`, …); detected where not given.
    pub semantic_ids: Option<String>,
    /// Ground truth to load beside the semantics.
    pub ground_truth: GroundTruth,
    /// Leave out frames without ground truth of the chosen kind.
    pub only_with_truth: bool,
    /// Leave out points outside of the camera image even if the semantics do not come from it.
    pub only_in_image: bool,
    /// Leave out points that nearer ones hide from the camera, within this many pixels (5 is usual).
    pub occlusion_window: Option<usize>,
    /// Undo the motion during a turn; where not given, for datasets that store raw turns (KITTI-360).
    pub deskew: Option<bool>,
    /// Ignore lens distortion.
    pub no_distortion: bool,
    /// Topic of the clouds of a recording; the one with the most data where not given.
    pub topic: Option<String>,
    /// Topic of the camera images of a recording; the first of colours where not given.
    pub image_topic: Option<String>,
    /// Poses of a recording: `tf`, `tf:FRAME`, a topic (Odometry, PoseStamped, Path), a file (TUM, KITTI), or `none`
    /// for a sensor that stands still; found where not given.
    pub poses: Option<String>,
    /// Read the images themselves too, into [`LoadedFrame::picture`](super::LoadedFrame::picture).
    pub pictures: bool,
}

/// Something that looks at images while frames are loaded: a network.
pub trait ImageSemantics: Send + Sync + std::fmt::Debug {
    /// Its name, for messages.
    fn name(&self) -> &str;
    /// Channels of its grids.
    fn channels(&self) -> usize;
    /// Kind of its values.
    fn kind(&self) -> ValueKind;
    /// Meaning of its channels, if known: a space of label ids, or `classes`.
    fn ids(&self) -> Option<&str>;
    /// What runs it, where that can be one thing or another.
    fn runtime(&self) -> Option<String> {
        None
    }
    /// Semantics of an image as cells that cover it, or the reason for failure.
    fn look(&self, image: &image::RgbImage) -> Result<Arc<dyn Cells>, String>;
}

/// Ground truth beside the semantics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroundTruth {
    /// None.
    #[default]
    Off,
    /// Whatever there is: labels of points before labels of pixels; for KITTI-360 pixels before accumulated points.
    Auto,
    /// Labels of pixels, as the paper uses them.
    Pixels,
    /// Labels of points.
    Points,
}

/// Kind of stored values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// Outputs of an ordinary network before softmax.
    Logits,
    /// Outputs of an evidential network before the exponential.
    LogEvidence,
    /// Evidence, zero or more.
    Evidence,
    /// Dirichlet parameters: evidence plus one.
    Dirichlet,
    /// Probabilities.
    Probabilities,
}

/// Where the semantics of the points come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SemanticsSource {
    /// The dataset's own labels: of points where there are some, else of pixels.
    #[default]
    GroundTruth,
    /// The dataset's own labels of pixels, or of points.
    GroundTruthOf(GroundTruth),
    /// Label files of another network: a folder, or the name of one within the sequence or the dataset.
    Labels(PathBuf),
    /// Stored values of points (N×C) or of pixels (C×H×W).
    Values(ValueKind, PathBuf),
    /// The images, segmented by [`OpenOptions::network`].
    Images,
    /// None: all points are void. For geometry only.
    Nothing,
}

impl FromStr for SemanticsSource {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(OsStr::new(text))
    }
}

impl SemanticsSource {
    /// From a name, or a kind of values and a folder, whose name need not be text: `logits:FOLDER`.
    pub fn parse(given: &OsStr) -> Result<Self, Error> {
        let text = given.to_string_lossy();
        if text.ends_with(".onnx") || text.ends_with(".safetensors") {
            return Err(Error::Request(format!(
                "`{text}`: this build cannot run networks such as ONNX models; build it with `--features onnx` (`segment` for our own), or \
                 store the network's outputs and give logits:FOLDER"
            )));
        }
        let kind = text.split(':').next().unwrap_or_default();
        let folder = folder_of(given);
        let source = match kind {
            "ground-truth" => return Ok(Self::GroundTruth),
            "ground-truth-2d" => return Ok(Self::GroundTruthOf(GroundTruth::Pixels)),
            "ground-truth-3d" => return Ok(Self::GroundTruthOf(GroundTruth::Points)),
            "none" => return Ok(Self::Nothing),
            "labels" => Self::Labels(folder.clone()),
            "logits" => Self::Values(ValueKind::Logits, folder.clone()),
            "evidential-logits" => Self::Values(ValueKind::LogEvidence, folder.clone()),
            "evidence" => Self::Values(ValueKind::Evidence, folder.clone()),
            "dirichlet" => Self::Values(ValueKind::Dirichlet, folder.clone()),
            "probabilities" => Self::Values(ValueKind::Probabilities, folder.clone()),
            _ => {
                return Err(Error::Request(format!(
                    "`{text}` is no source of semantics; known: ground-truth, ground-truth-2d, ground-truth-3d, \
                     labels:FOLDER, logits:FOLDER, evidential-logits:FOLDER, evidence:FOLDER, dirichlet:FOLDER, \
                     probabilities:FOLDER, none"
                )));
            }
        };
        if folder.as_os_str().is_empty() {
            return Err(Error::Request(format!("`{text}` needs a folder, as in {kind}:predictions")));
        }
        Ok(source)
    }
}

/// What follows the first colon. Paths are split only where the system allows it: at their components.
fn folder_of(given: &OsStr) -> PathBuf {
    if let Some(text) = given.to_str() {
        return text.split_once(':').map_or("", |(_, folder)| folder).into();
    }
    // The first component holds the colon; it is text unless it is the folder's name itself that is not.
    let mut parts = Path::new(given).components();
    let first = parts.next().map(|part| part.as_os_str().to_os_string()).unwrap_or_default();
    after_colon(&first).join(parts.as_path())
}

#[cfg(unix)]
fn after_colon(part: &OsStr) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let bytes = part.as_bytes();
    let at = bytes.iter().position(|b| *b == b':').map_or(bytes.len(), |at| at + 1);
    OsStr::from_bytes(&bytes[at..]).into()
}

#[cfg(not(unix))]
fn after_colon(part: &OsStr) -> PathBuf {
    part.to_string_lossy().split_once(':').map_or("", |(_, folder)| folder).into()
}
