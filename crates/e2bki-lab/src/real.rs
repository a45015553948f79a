//! Frames of a dataset folder with what a network said of them and what is true, for benchmarks and experiments.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use e2bki::ClassSet;
use e2bki_data::{Dataset, GroundTruth, LoadedFrame, OpenOptions, OwnedSemantics, SemanticsSource, VOID};
use e2bki_eval::{LabelledFrame, Said};

/// Points farther away are left out, metres.
const MAX_RANGE_M: f32 = 50.0;

/// A dataset folder whose frames are read one at a time.
pub(crate) struct Recording {
    folder: PathBuf,
    dataset: Dataset,
}

impl Recording {
    /// Opens a folder with given semantics, and ground truth where there is some.
    pub(crate) fn with_semantics(folder: &Path, semantics: SemanticsSource) -> Result<Self> {
        let options = OpenOptions { semantics, ground_truth: GroundTruth::Auto, ..OpenOptions::default() };
        Ok(Self { folder: folder.into(), dataset: Dataset::open(folder, &options)? })
    }

    /// Opens a folder: with the label files in `predictions` where there are such, else with its own labels.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let predicted = OpenOptions {
            semantics: SemanticsSource::Labels("predictions".into()),
            ground_truth: GroundTruth::Auto,
            ..OpenOptions::default()
        };
        let labelled = OpenOptions { semantics: SemanticsSource::GroundTruth, ..predicted.clone() };
        let dataset = match Dataset::open(folder, &predicted) {
            Ok(dataset) => dataset,
            Err(_) => Dataset::open(folder, &labelled)
                .with_context(|| format!("{} has neither predictions nor labels to map", folder.display()))?,
        };
        Ok(Self { folder: folder.into(), dataset })
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
