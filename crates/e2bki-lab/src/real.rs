//! Frames of a dataset folder with semantics and ground truth, for benchmarks and experiments.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use e2bki::ClassSet;
use e2bki_data::{Dataset, Format, GroundTruth, LoadedFrame, OpenOptions, OwnedSemantics, SemanticsSource, VOID};
use e2bki_eval::{LabelledFrame, Said};

use crate::OpenSource;

/// Source of the semantics where none is given: label files that a network wrote.
pub(crate) const PREDICTIONS: &str = "labels:predictions";

/// Points farther away are left out, metres.
const MAX_RANGE_M: f32 = 50.0;

/// A dataset folder whose frames are read one at a time.
pub(crate) struct Recording {
    folder: PathBuf,
    dataset: Dataset,
}

impl Recording {
    /// Opens a folder with the semantics of a source, and ground truth where there is some. True labels are mapped only
    /// where the source names them.
    pub(crate) fn open(folder: &Path, semantics: &str, open_source: OpenSource) -> Result<Self> {
        let (source, network) = open_source(semantics)?;
        let ground_truth = GroundTruth::Auto;
        let options = OpenOptions { semantics: source, network, ground_truth, ..OpenOptions::default() };
        let bare = OpenOptions { semantics: SemanticsSource::Nothing, ..OpenOptions::default() };
        match Dataset::open(folder, &options) {
            Ok(dataset) => Ok(Self { folder: folder.into(), dataset }),
            Err(error) if Dataset::open(folder, &bare).is_ok() => bail!(
                "{} cannot be mapped with --semantics {semantics}: {error}\n  name another source with --semantics, as in \
                 `e2bki map`; `--semantics ground-truth` maps the true labels",
                folder.display()
            ),
            Err(error) => Err(error.into()),
        }
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

    /// Numbers of points of the first and the last frame: another dataset in the same folder is noticed.
    pub(crate) fn identity(&self) -> Result<String> {
        let points = |index: usize| Ok::<usize, anyhow::Error>(self.dataset.load(index)?.points.len());
        Ok(format!("{} {} {}", self.len(), points(0)?, points(self.len().saturating_sub(1))?))
    }

    /// A frame: points within 50 m.
    pub(crate) fn frame(&self, index: usize) -> Result<LabelledFrame> {
        let all = labelled(self.dataset.load(index)?, &self.folder)?;
        let near = |i: usize| all.points[i].iter().map(|v| v * v).sum::<f32>() < MAX_RANGE_M * MAX_RANGE_M;
        Ok(all.filtered(self.classes().len(), near))
    }
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
