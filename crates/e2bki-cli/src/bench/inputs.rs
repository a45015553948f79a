//! Inputs of known size: real scans where given, simulated ones otherwise.

use std::path::Path;

use anyhow::Result;
use e2bki::{ClassSet, Frame, Pose, Semantics};
use e2bki_data::{Dataset, GroundTruth, OpenOptions, OwnedSemantics, SemanticsSource};
use e2bki_sim::{Drive, ErrorModel, Split, Standard};

/// A frame with owned arrays.
pub(crate) struct Input {
    pub(crate) points: Vec<[f32; 3]>,
    pub(crate) semantics: Owned,
    pub(crate) pose: Pose,
    /// True classes, where they are known; a number that is no class where they are not.
    pub(crate) truth: Vec<u32>,
}

/// Semantics with owned arrays.
pub(crate) enum Owned {
    Evidence(Vec<f32>),
    Labels(Vec<u32>),
}

impl Input {
    pub(crate) fn borrow(&self) -> Frame<'_> {
        let semantics = match &self.semantics {
            Owned::Evidence(values) => Semantics::Evidence(values),
            Owned::Labels(labels) => Semantics::Labels(labels),
        };
        Frame { points: &self.points, semantics, world_from_sensor: self.pose }
    }
}

/// Full scans within 50 m: a dataset with a network's predictions or else its labels, or ten simulated HDL-64E scans.
pub(crate) fn scans(folder: Option<&Path>) -> Result<(Vec<Input>, ClassSet)> {
    if let Some(folder) = folder {
        return real(folder, 10);
    }
    simulated(Standard::KittiLike, 10, |_, point| point.iter().map(|v| v * v).sum::<f32>() < 2500.0)
}

/// The first `most` scans of a dataset.
fn real(folder: &Path, most: usize) -> Result<(Vec<Input>, ClassSet)> {
    let predicted = OpenOptions {
        semantics: SemanticsSource::Labels("predictions".into()),
        ground_truth: GroundTruth::Auto,
        ..OpenOptions::default()
    };
    let dataset = Dataset::open(folder, &predicted).or_else(|_| {
        Dataset::open(folder, &OpenOptions { semantics: SemanticsSource::GroundTruth, ..predicted.clone() })
    })?;
    let mut inputs = Vec::new();
    for index in 0..dataset.len().min(most) {
        let frame = dataset.load(index)?;
        let OwnedSemantics::Labels(said) = &frame.semantics else { continue };
        let truth = frame.ground_truth.as_ref().unwrap_or(said);
        let near = |k: &usize| frame.points[*k].iter().map(|v| v * v).sum::<f32>() < 2500.0;
        let kept: Vec<usize> = (0..said.len()).filter(near).collect();
        inputs.push(Input {
            points: kept.iter().map(|k| frame.points[*k]).collect(),
            semantics: Owned::Labels(kept.iter().map(|k| said[*k]).collect()),
            pose: frame.world_from_sensor,
            truth: kept.iter().map(|k| truth[*k]).collect(),
        });
    }
    Ok((inputs, dataset.classes().clone()))
}

/// Simulated camera views, thinned evenly to about `count` points.
pub(crate) fn camera_views(standard: Standard, count: usize) -> Result<(Vec<Input>, ClassSet)> {
    let (mut inputs, classes) = simulated(standard, 20, |drive, point| drive.pixel_of(point).is_some())?;
    for input in &mut inputs {
        let all = input.points.len();
        let kept: Vec<usize> = (0..count.min(all)).map(|i| i * all / count.min(all)).collect();
        input.points = kept.iter().map(|i| input.points[*i]).collect();
        input.truth = kept.iter().map(|i| input.truth[*i]).collect();
        if let Owned::Evidence(values) = &mut input.semantics {
            let c = classes.len();
            *values = kept.iter().flat_map(|i| &values[i * c..(i + 1) * c]).copied().collect();
        }
    }
    Ok((inputs, classes))
}

fn simulated(
    standard: Standard,
    frames: usize,
    keep: impl Fn(&Drive, [f32; 3]) -> bool,
) -> Result<(Vec<Input>, ClassSet)> {
    let mut options = standard.drives(Split::Validation)[0].options;
    if standard == Standard::RellisLike {
        // As many points in the camera's view as the real sensor has there.
        options.columns = Some(4096);
    }
    let drive = Drive::new(options)?;
    let classes = ClassSet::new(drive.classes().iter().map(|class| (class.name, class.color)))?;
    let network = ErrorModel::for_drive(&drive, 0.3)?;
    let mut inputs = Vec::new();
    for i in 0..frames {
        let frame = drive.frame(i);
        let evidence = network.evidence(&frame);
        let kept: Vec<usize> = (0..frame.points.len()).filter(|k| keep(&drive, frame.points[*k])).collect();
        let c = classes.len();
        inputs.push(Input {
            points: kept.iter().map(|k| frame.points[*k]).collect(),
            semantics: Owned::Evidence(kept.iter().flat_map(|k| &evidence[k * c..(k + 1) * c]).copied().collect()),
            pose: Pose::from_matrix(frame.world_from_sensor)?,
            truth: kept.iter().map(|k| u32::from(frame.labels[*k])).collect(),
        });
    }
    Ok((inputs, classes))
}
