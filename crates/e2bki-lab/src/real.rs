//! Frames of a dataset folder with semantics and ground truth, for benchmarks and experiments.

use std::hash::Hasher;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use e2bki::ClassSet;
use e2bki_data::{Dataset, Format, GroundTruth, LoadedFrame, OpenOptions, OwnedSemantics, SemanticsSource, VOID};
use e2bki_eval::{LabelledFrame, Said};
use rustc_hash::FxHasher;

use crate::OpenSource;

/// Source of the semantics where none is given: label files that a network wrote.
pub(crate) const PREDICTIONS: &str = "labels:predictions";

/// Points of full scans farther away are left out, metres.
const MAX_RANGE_M: f32 = 50.0;

/// Which points of a folder are used, and whose labels are the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Eye {
    /// Full scans within 50 m; labels of points where there are some, else of pixels.
    #[default]
    Scan,
    /// The paper's: points in the camera's view, labels of pixels, frames that have both semantics and labels.
    Camera,
}

impl Eye {
    /// What experiments take of a layout unless told otherwise.
    pub(crate) fn usual(format: Format) -> Self {
        if matches!(format, Format::Rellis3d | Format::Kitti360) { Self::Camera } else { Self::Scan }
    }
}

/// A dataset folder whose frames are read one at a time.
pub(crate) struct Recording {
    folder: PathBuf,
    dataset: Dataset,
    eye: Eye,
    truth: &'static str,
    semantics: String,
    notes: Vec<String>,
}

impl Recording {
    /// Opens full scans of a folder with the semantics of a source, and ground truth where there is some. True labels are
    /// mapped only where the source names them.
    pub(crate) fn open(folder: &Path, semantics: &str, open_source: OpenSource) -> Result<Self> {
        Self::open_sequence(folder, None, semantics, Eye::Scan, open_source)
    }

    /// The same for one sequence of it, through one eye.
    pub(crate) fn open_sequence(
        folder: &Path,
        sequence: Option<&str>,
        semantics: &str,
        eye: Eye,
        open_source: OpenSource,
    ) -> Result<Self> {
        let (source, network) = open_source(semantics)?;
        let sequence = sequence.map(String::from);
        let bare =
            OpenOptions { semantics: SemanticsSource::Nothing, sequence: sequence.clone(), ..OpenOptions::default() };
        let options = |ground_truth, only_with_truth| OpenOptions {
            semantics: source.clone(),
            network: network.clone(),
            sequence: sequence.clone(),
            ground_truth,
            only_with_truth,
            only_in_image: eye == Eye::Camera,
            ..OpenOptions::default()
        };
        if source == SemanticsSource::Nothing {
            bail!("--semantics {semantics} leaves nothing to map; name a source, as in `e2bki map`");
        }
        let named = |error| explained(&error, folder, &bare, semantics, eye);
        let open = |truth, only| Dataset::open(folder, &options(truth, only)).map_err(named);
        let mut notes = Vec::new();
        let (dataset, truth) = match eye {
            Eye::Scan => (open(GroundTruth::Auto, false)?, "labels of points where there are some"),
            Eye::Camera if open(GroundTruth::Pixels, false)?.has_truth() => {
                (open(GroundTruth::Pixels, true)?, "labels of pixels")
            }
            Eye::Camera if open(GroundTruth::Points, false)?.has_truth() => {
                notes.push("There are no labels of pixels: labels of points are the truth.".into());
                (open(GroundTruth::Points, true)?, "labels of points")
            }
            Eye::Camera => (open(GroundTruth::Off, false)?, "no ground truth"),
        };
        notes.extend(dataset.notes().iter().map(|note| format!("{}: {note}.", folder.display())));
        let skipped = dataset.skipped();
        for (frames, what) in
            [(&skipped.without_semantics, "semantics of the source"), (&skipped.without_truth, "ground truth")]
        {
            if !frames.is_empty() {
                notes.push(format!("{} frames have no {what} and are left out.", frames.len()));
            }
        }
        let semantics = dataset.source_name(semantics);
        Ok(Self { folder: folder.into(), dataset, eye, truth, semantics, notes })
    }

    /// Sequences of a folder, and its layout.
    pub(crate) fn sequences(folder: &Path) -> Result<(Format, Vec<String>)> {
        let bare = OpenOptions { semantics: SemanticsSource::Nothing, ..OpenOptions::default() };
        let dataset = Dataset::open(folder, &bare)?;
        Ok((dataset.format(), dataset.sequences().to_vec()))
    }

    /// What was assumed or left out on the way.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Source of the semantics, for records.
    pub(crate) fn semantics(&self) -> &str {
        &self.semantics
    }

    /// Whose labels are the truth, in words.
    pub(crate) fn truth(&self) -> &'static str {
        self.truth
    }

    /// Name of the sequence, where the layout has sequences.
    pub(crate) fn sequence(&self) -> Option<&str> {
        let sequences = matches!(self.format(), Format::Rellis3d | Format::Kitti360 | Format::SemanticKitti);
        sequences.then(|| self.dataset.sequence())
    }

    /// Layout of the folder.
    pub(crate) fn format(&self) -> Format {
        self.dataset.format()
    }

    pub(crate) fn len(&self) -> usize {
        self.dataset.len()
    }

    pub(crate) fn classes(&self) -> &ClassSet {
        self.dataset.classes()
    }

    /// All poses, and what is known of the points of the first and the last frame: other data in the same folder, or another
    /// network in the same file, are noticed.
    pub(crate) fn identity(&self) -> Result<String> {
        let mut hash = FxHasher::default();
        for pose in (0..self.len()).filter_map(|index| self.dataset.world_from_sensor(index)) {
            pose.rotation().as_flattened().iter().chain(&pose.translation()).for_each(|v| hash.write_u64(v.to_bits()));
        }
        for index in [0, self.len().saturating_sub(1)] {
            let frame = labelled(self.dataset.load(index)?, &self.folder)?;
            let values = match &frame.said {
                Said::Evidence(v) | Said::Probabilities(v) | Said::Logits(v, _) => v.as_slice(),
                Said::Labels(labels) => {
                    labels.iter().for_each(|label| hash.write_u32(*label));
                    &[]
                }
            };
            frame.points.as_flattened().iter().chain(values).for_each(|v| hash.write_u32(v.to_bits()));
            frame.truth.iter().for_each(|label| hash.write_u32(*label));
        }
        Ok(format!("{} {:?} {} {:016x}", self.dataset.sequence(), self.eye, self.len(), hash.finish()))
    }

    /// A frame: the points in the camera's view, or those of the scan within 50 m.
    pub(crate) fn frame(&self, index: usize) -> Result<LabelledFrame> {
        let all = labelled(self.dataset.load(index)?, &self.folder)?;
        if self.eye == Eye::Camera {
            return Ok(all);
        }
        let near = |i: usize| all.points[i].iter().map(|v| v * v).sum::<f32>() < MAX_RANGE_M * MAX_RANGE_M;
        Ok(all.filtered(self.classes().len(), near))
    }
}

/// Why a folder cannot be mapped with a source, and the way out.
fn explained(error: &e2bki_data::Error, folder: &Path, bare: &OpenOptions, semantics: &str, eye: Eye) -> anyhow::Error {
    let sequence = bare.sequence.iter().map(|name| format!(", sequence {name},")).collect::<String>();
    let which = format!("{}{sequence}", folder.display());
    let what = error.to_string();
    // What is wrong with the folder itself has nothing to do with the source.
    let Ok(dataset) = Dataset::open(folder, bare) else { return anyhow!(what) };
    if eye == Eye::Camera && dataset.camera().is_err_and(|why| why.to_string() == what) {
        return anyhow!(
            "{which} has no camera, in whose view the paper takes points: {what}\n  put the calibration there; full scans with labels \
             of points need none (--points scan)"
        );
    }
    let what = format!("{which} cannot be mapped with --semantics {semantics}: {what}");
    if semantics.starts_with("ground-truth") {
        return anyhow!(what);
    }
    anyhow!(
        "{what}\n  name another source with --semantics, as in `e2bki map`; `--semantics ground-truth` maps the true labels"
    )
}

/// A frame of a dataset as evaluation takes it; points without a label have none of the classes.
pub fn labelled(frame: LoadedFrame, folder: &Path) -> Result<LabelledFrame> {
    let truth = frame.ground_truth.unwrap_or_else(|| vec![VOID; frame.points.len()]);
    let said = match frame.semantics {
        OwnedSemantics::Labels(labels) => Said::Labels(labels),
        OwnedSemantics::Probabilities(values) => Said::Probabilities(values),
        OwnedSemantics::Evidence(values) => Said::Evidence(values),
        OwnedSemantics::Logits(values, kind) => Said::Logits(values, kind),
        _ => bail!("{}: semantics of a kind that cannot be scored", folder.display()),
    };
    Ok(LabelledFrame { points: frame.points, said, truth, world_from_sensor: frame.world_from_sensor })
}
