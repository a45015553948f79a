//! Measurements on one frame and its neighbours.

use anyhow::Result;
use e2bki_data::camera::Projected;
use e2bki_data::{Dataset, LoadedFrame, OwnedSemantics, VOID, alignment};
use serde_json::{Value, json};

/// Measurements on a frame.
pub(crate) struct Facts {
    pub(crate) frame: LoadedFrame,
    /// Distances from the sensor: least, quartiles, most; metres.
    pub(crate) ranges: [f64; 5],
    /// Class of each point, if anything says so, with what said it.
    pub(crate) labels: Option<(&'static str, Vec<u32>)>,
    /// Size of the camera image, or why it cannot be read.
    pub(crate) image_size: Option<std::result::Result<[usize; 2], String>>,
    pub(crate) projected: Option<Vec<Option<Projected>>>,
    /// Points that would be in the image were the camera's transform the other way round.
    pub(crate) in_image_inverted: usize,
    /// Median distance between this scan and a later one, with poses and without; metres; and the later frame.
    pub(crate) aligned: Option<(f64, f64, u64)>,
    /// Length of the way through all poses, and its longest step; metres.
    pub(crate) way: (f64, f64),
    /// For each axis the share of points in its fullest layer of 0.4 m, and where that is.
    pub(crate) layers: [(f64, f64); 3],
}

impl Facts {
    pub(crate) fn gather(dataset: &Dataset, index: usize) -> Result<Self> {
        let frame = dataset.load(index)?;
        let image_size = frame.image.as_ref().map(|image| {
            // Decoded as a whole, so that a damaged picture is noticed.
            let picture = image.picture().map_err(|error| error.to_string())?;
            Ok([picture.width() as usize, picture.height() as usize])
        });
        let camera = dataset.camera().ok();
        let project = |invert: bool| -> Option<Vec<Option<Projected>>> {
            let mut camera = camera?.clone();
            if invert {
                camera.camera_from_sensor = camera.camera_from_sensor.inverse();
            }
            Some(frame.points.iter().map(|p| camera.project(p.map(f64::from))).collect())
        };
        Ok(Self {
            ranges: ranges(&frame),
            labels: labels(dataset, &frame),
            image_size,
            projected: project(false),
            in_image_inverted: project(true).iter().flatten().flatten().count(),
            aligned: aligned(dataset, &frame)?,
            way: way(dataset),
            layers: std::array::from_fn(|axis| fullest_layer(&frame, axis)),
            frame,
        })
    }

    pub(crate) fn in_image(&self) -> usize {
        self.projected.iter().flatten().flatten().count()
    }

    /// Share of points without a class.
    pub(crate) fn void_share(&self) -> Option<f64> {
        let (_, labels) = self.labels.as_ref()?;
        Some(labels.iter().filter(|l| **l == VOID).count() as f64 / labels.len().max(1) as f64)
    }

    /// The measurements as text.
    pub(crate) fn lines(&self, dataset: &Dataset) -> Vec<(&'static str, String)> {
        let frame = &self.frame;
        let mut lines = vec![(
            "dataset",
            format!(
                "{}, sequence {} ({} found), {} frames {}–{}{}",
                dataset.format().name(),
                dataset.sequence(),
                dataset.sequences().len(),
                dataset.len(),
                dataset.id(0).unwrap_or(0),
                dataset.id(dataset.len() - 1).unwrap_or(0),
                match dataset.skipped().without_pose.len() {
                    0 => String::new(),
                    n => format!("; {n} more have no pose"),
                }
            ),
        )];
        lines.extend(dataset.notes().iter().map(|note| ("note", note.clone())));
        let [least, _, median, _, most] = self.ranges;
        lines.push((
            "scan",
            format!(
                "{}: {} slots, {} without return, {} not finite, {} points; distance {least:.1} to {most:.1} m, half within {median:.1} m",
                frame.name,
                frame.counts.slots,
                frame.counts.no_return,
                frame.counts.non_finite,
                frame.points.len()
            ),
        ));
        let [x, y, z] = frame.world_from_sensor.translation();
        lines.push((
            "pose",
            format!(
                "at {x:.2} {y:.2} {z:.2} m; the way through all frames is {:.1} m, its longest step {:.2} m",
                self.way.0, self.way.1
            ),
        ));
        if let Some((with, without, other)) = self.aligned {
            lines.push((
                "alignment",
                format!("scan {other} lies on this one within {with:.3} m (median) by the poses, {without:.3} m without them"),
            ));
        }
        lines.push(("camera", self.camera_line(dataset)));
        lines.push(("labels", self.labels_line(dataset)));
        lines
    }

    fn camera_line(&self, dataset: &Dataset) -> String {
        let camera = match dataset.camera() {
            Ok(camera) => camera,
            Err(why) => return format!("none: {why}"),
        };
        let image = match &self.image_size {
            None => "no image of this frame".into(),
            Some(Ok([width, height])) => format!("image {width}×{height}"),
            Some(Err(_)) => "image cannot be read".into(),
        };
        format!(
            "{}×{}, focal {:.1} {:.1} px; {image}; {} points are in it",
            camera.size[0],
            camera.size[1],
            camera.focal[0],
            camera.focal[1],
            self.in_image()
        )
    }

    fn labels_line(&self, dataset: &Dataset) -> String {
        let Some((who, labels)) = &self.labels else { return "none for this frame".into() };
        let mut counts = vec![0_usize; dataset.classes().len()];
        for label in labels {
            if let Some(count) = counts.get_mut(*label as usize) {
                *count += 1;
            }
        }
        let mut shares: Vec<(usize, &String)> = counts.into_iter().zip(dataset.classes().names()).collect();
        shares.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
        let percent = |n: usize| 100.0 * n as f64 / labels.len().max(1) as f64;
        let parts: Vec<String> =
            shares.iter().filter(|(n, _)| *n > 0).map(|(n, name)| format!("{name} {:.1} %", percent(*n))).collect();
        let void = 100.0 * self.void_share().unwrap_or(0.0);
        format!("{who}, {} ({}): {}; void {void:.1} %", dataset.table().name(), dataset.ids(), parts.join(", "))
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "slots": self.frame.counts.slots, "no_return": self.frame.counts.no_return,
            "non_finite": self.frame.counts.non_finite, "points": self.frame.points.len(),
            "in_image": self.in_image(), "range_m": self.ranges, "void_share": self.void_share(),
            "way_m": self.way.0, "longest_step_m": self.way.1,
            "aligned_m": self.aligned.map(|(with, without, frame)| json!({"frame": frame, "with_poses": with, "without": without})),
        })
    }
}

fn ranges(frame: &LoadedFrame) -> [f64; 5] {
    let range = |p: &[f32; 3]| p.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>().sqrt();
    let mut all: Vec<f64> = frame.points.iter().map(range).collect();
    all.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| all.get(((all.len().saturating_sub(1)) as f64 * share) as usize).copied().unwrap_or(0.0);
    [0.0, 0.25, 0.5, 0.75, 1.0].map(at)
}

/// Classes by the semantics, or by the ground truth.
fn labels(dataset: &Dataset, frame: &LoadedFrame) -> Option<(&'static str, Vec<u32>)> {
    let said = frame.semantics.labels(dataset.classes().len());
    let silent = matches!(frame.semantics, OwnedSemantics::Labels(_)) && said.iter().all(|l| *l == VOID);
    match &frame.ground_truth {
        Some(truth) if silent => Some(("ground truth", truth.clone())),
        None if silent => None,
        _ => Some(("the given semantics", said)),
    }
}

/// Compares with the frame five later (or the last; the last with an earlier one): by the poses, and as if the sensor had not moved.
fn aligned(dataset: &Dataset, frame: &LoadedFrame) -> Result<Option<(f64, f64, u64)>> {
    let last = dataset.len() - 1;
    let other = if frame.index < last { (frame.index + 5).min(last) } else { frame.index.saturating_sub(5) };
    if other == frame.index {
        return Ok(None);
    }
    let other = dataset.load(other)?;
    let still = |f: &LoadedFrame| f.points.iter().map(|p| p.map(f64::from)).collect::<Vec<_>>();
    let step = (other.points.len() / 4000).max(1);
    let with = alignment(&other.world_points().collect::<Vec<_>>(), &frame.world_points().collect::<Vec<_>>(), step);
    let without = alignment(&still(&other), &still(frame), step);
    Ok(with.zip(without).map(|(with, without)| (with, without, other.id)))
}

fn way(dataset: &Dataset) -> (f64, f64) {
    let places: Vec<[f64; 3]> =
        (0..dataset.len()).filter_map(|i| dataset.world_from_sensor(i)).map(|pose| pose.translation()).collect();
    let step = |w: &[[f64; 3]]| (0..3).map(|a| (w[1][a] - w[0][a]).powi(2)).sum::<f64>().sqrt();
    let steps: Vec<f64> = places.windows(2).map(step).collect();
    (steps.iter().sum(), steps.iter().copied().fold(0.0, f64::max))
}

/// Share of the points within 20 m in the fullest layer of 0.4 m across an axis, and the layer's place.
fn fullest_layer(frame: &LoadedFrame, axis: usize) -> (f64, f64) {
    const LAYER_M: f32 = 0.4;
    let mut layers = vec![0_usize; 101];
    let mut near = 0;
    for p in frame.points.iter().filter(|p| p.iter().all(|v| v.abs() < 20.0)) {
        near += 1;
        layers[((p[axis] + 20.0) / LAYER_M) as usize] += 1;
    }
    // The first fullest, so that equals do not depend on anything else.
    let best = (0..layers.len()).rev().max_by_key(|i| layers[*i]).unwrap_or(0);
    (layers[best] as f64 / near.max(1) as f64, f64::from((best as f32 + 0.5) * LAYER_M - 20.0))
}
