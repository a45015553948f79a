//! Inputs of known size: real scans where given, simulated ones otherwise.

use std::path::Path;

use anyhow::Result;
use e2bki::{ClassSet, Pose};
use e2bki_eval::{LabelledFrame, Said};
use e2bki_sim::{Drive, ErrorModel, Split, Standard};

use crate::OpenSource;
use crate::real::Recording;

/// Share of the training data that the simulated network had.
const TRAINED_WITH: f64 = 0.3;
/// Source of the semantics of simulated scans.
pub(crate) const SIMULATED: &str = "simulated network, trained with 0.3 of the data";

/// Full scans within 50 m: the first ten of a dataset, or ten simulated HDL-64E scans.
pub(crate) fn scans(
    folder: Option<&Path>,
    semantics: &str,
    open_source: OpenSource,
) -> Result<(Vec<LabelledFrame>, ClassSet)> {
    if let Some(folder) = folder {
        let recording = Recording::open(folder, semantics, open_source)?;
        let frames = (0..recording.len().min(10)).map(|i| recording.frame(i)).collect::<Result<Vec<_>>>()?;
        return Ok((frames, recording.classes().clone()));
    }
    simulated(Standard::KittiLike, 10, |_, point| point.iter().map(|v| v * v).sum::<f32>() < 2500.0)
}

/// Simulated camera views, thinned evenly to about `count` points.
pub(crate) fn camera_views(standard: Standard, count: usize) -> Result<(Vec<LabelledFrame>, ClassSet)> {
    let (mut inputs, classes) = simulated(standard, 20, |drive, point| drive.pixel_of(point).is_some())?;
    for input in &mut inputs {
        let all = input.points.len();
        let wanted = count.min(all);
        // Evenly over the view: point i stays where i·wanted/all passes a whole number.
        let keep = |i: usize| (i + 1) * wanted / all > i * wanted / all;
        *input = input.filtered(classes.len(), keep);
    }
    Ok((inputs, classes))
}

fn simulated(
    standard: Standard,
    frames: usize,
    keep: impl Fn(&Drive, [f32; 3]) -> bool,
) -> Result<(Vec<LabelledFrame>, ClassSet)> {
    let mut options = standard.drives(Split::Validation)[0].options;
    if standard == Standard::RellisLike {
        // As many points in the camera's view as the real sensor has there.
        options.columns = Some(4096);
    }
    let drive = Drive::new(options)?;
    let classes = ClassSet::new(drive.classes().iter().map(|class| (class.name, class.color)))?;
    let network = ErrorModel::for_drive(&drive, TRAINED_WITH)?;
    let mut inputs = Vec::new();
    for i in 0..frames {
        let frame = drive.frame(i);
        let all = LabelledFrame {
            said: Said::Evidence(network.evidence(&frame)),
            world_from_sensor: Pose::from_matrix(frame.world_from_sensor)?,
            truth: frame.labels.iter().map(|label| u32::from(*label)).collect(),
            points: frame.points,
        };
        inputs.push(all.filtered(classes.len(), |k| keep(&drive, all.points[k])));
    }
    Ok((inputs, classes))
}
