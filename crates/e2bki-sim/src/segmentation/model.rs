//! The error model: decides per observation whether the network errs and how much evidence it gives to each class.
//!
//! An observation errs where the latent field exceeds a threshold set by the wanted error rate, which grows with
//! range, at class boundaries, for hard classes and as training data shrinks. Evidence grows with the distance from
//! that threshold, so it is informative; wrong answers keep part of it, so it is not perfect.

use rayon::prelude::*;

use super::boundary::neighbours;
use super::confusion::{difficulty, pick_wrong};
use super::field::ErrorField;
use crate::classes::{VOID, classes};
use crate::maths::{Vec3, hash2, mix, noise3, normal_from, unit_from};
use crate::world::WorldKind;
use crate::{Drive, Error, SimFrame, SimImage};

/// Error rate of an average class at 20 m with all training data.
const BASE_ERROR: f64 = 0.095;

/// One thing a network looks at: a LiDAR return or a pixel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// True class, or [`VOID`].
    pub truth: u8,
    /// Unit viewing direction, sensor or camera axes.
    pub direction: [f32; 3],
    /// Distance, metres.
    pub range_m: f32,
    /// World position, so that some mistakes stay with the place.
    pub place: [f64; 3],
}

/// A stand-in for an evidential segmentation network trained on a share of the data.
#[derive(Debug, Clone)]
pub struct ErrorModel {
    kind: WorldKind,
    fraction: f64,
    present: Vec<bool>,
    seed: u64,
    field: ErrorField,
}

/// Outcome for one observation, before evidence.
struct Verdict {
    class: u8,
    runner_up: u8,
    /// Distance from the decision, in logits, 0 or more.
    margin: f64,
    wrong: bool,
}

impl ErrorModel {
    /// A network for all classes of a kind of world; `fraction` of the training data, 0.02 to 1.
    pub fn new(kind: WorldKind, fraction: f64, seed: u64) -> Result<ErrorModel, Error> {
        if !(0.02..=1.0).contains(&fraction) {
            return Err(Error::OutOfRange { what: "training-data fraction", given: fraction, low: 0.02, high: 1.0 });
        }
        let present = vec![true; classes(kind).len()];
        Ok(ErrorModel { kind, fraction, present, seed, field: ErrorField::new(seed ^ 0xe44) })
    }

    /// A network for the classes that occur in a drive.
    pub fn for_drive(drive: &Drive, fraction: f64) -> Result<ErrorModel, Error> {
        let mut model = ErrorModel::new(drive.kind(), fraction, drive.options().seed)?;
        model.present = drive.options().world.present();
        Ok(model)
    }

    /// Number of classes, the stride of all evidence vectors.
    pub fn class_count(&self) -> usize {
        self.present.len()
    }

    /// Evidence for each return of a frame, `N × C` row by row, all values at least 0. Voxel maps take it as
    /// `alpha = evidence + 1`.
    pub fn evidence(&self, frame: &SimFrame) -> Vec<f32> {
        let looks: Vec<Look> = (0..frame.points.len())
            .map(|k| {
                let p = frame.points[k];
                let range = (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]).sqrt().max(1e-6);
                Look {
                    truth: frame.labels[k],
                    direction: p.map(|c| c / range),
                    range_m: range,
                    place: frame.world_point(k),
                }
            })
            .collect();
        self.evidence_for(&looks, frame.index as u64)
    }

    /// Evidence for each pixel of image `index` of a drive, `H × W × C`.
    pub fn image_evidence(&self, drive: &Drive, index: usize, image: &SimImage) -> Vec<f32> {
        let camera = &drive.rig().camera;
        let sensor_from_camera = drive.rig().sensor_from_camera;
        let world_from_camera = drive.world_from_sensor(index) * sensor_from_camera;
        let looks: Vec<Look> = (0..image.labels.len())
            .map(|k| {
                let d = camera.direction(k % camera.width, k / camera.width);
                let range = f64::from(image.range[k]).min(200.0);
                Look {
                    truth: image.labels[k],
                    direction: sensor_from_camera.rotate(d).to_f32(),
                    range_m: range as f32,
                    place: world_from_camera.apply(d * range).to_array(),
                }
            })
            .collect();
        self.evidence_for(&looks, index as u64)
    }

    /// Evidence for any set of looks that belong to one frame.
    pub fn evidence_for(&self, looks: &[Look], frame: u64) -> Vec<f32> {
        let beside = neighbours(looks);
        let count = self.class_count();
        let mut evidence = vec![0.0; looks.len() * count];
        evidence.par_chunks_mut(count).zip(looks).zip(&beside).enumerate().with_min_len(512).for_each(
            |(k, ((row, look), beside))| {
                let own = hash2(mix(self.seed ^ 0x0b5) ^ frame, k as i64, 0);
                self.fill(row, look, *beside, frame, own);
            },
        );
        evidence
    }

    /// Wanted error rate of a look.
    fn error_rate(&self, look: &Look, beside: u8) -> f64 {
        let scarce = BASE_ERROR * self.fraction.powf(-0.26);
        let far = (0.35 + 0.65 * (f64::from(look.range_m) / 20.0).powf(1.2)).min(3.0);
        let hard = difficulty(self.kind).get(usize::from(look.truth)).copied().unwrap_or(1.0);
        let edge = if beside == VOID { 0.0 } else { (0.06 + 0.5 * scarce) * (0.5 + 0.5 * far) };
        (scarce * far * hard + edge).min(0.8)
    }

    fn decide(&self, look: &Look, beside: u8, frame: u64, own: u64) -> Verdict {
        let rate = self.error_rate(look, beside);
        let place = Vec3::from(look.place);
        let direction = Vec3::from(look.direction.map(f64::from));
        let value = self.field.value(frame, direction, place, own);
        let logit = |p: f64| (p / (1.0 - p)).ln();
        let margin = logit(value.clamp(1e-4, 1.0 - 1e-4)) - logit(1.0 - rate);
        let slow = noise3(self.seed ^ 0x9c, place.x / 5.0, place.y / 5.0, place.z / 5.0);
        let pick = (0.5 + 0.75 * slow).clamp(0.0, 0.999);
        let table = pick_wrong(self.kind, look.truth, &self.present, pick).unwrap_or(look.truth);
        let other = if beside != VOID && unit_from(mix(own ^ 5)) < 0.7 { beside } else { table };
        if margin > 0.0 {
            Verdict { class: other, runner_up: look.truth, margin, wrong: true }
        } else {
            Verdict { class: look.truth, runner_up: other, margin: -margin, wrong: false }
        }
    }

    fn fill(&self, row: &mut [f32], look: &Look, beside: u8, frame: u64, own: u64) {
        let noise = |k: u64| normal_from(mix(own ^ (0x100 + k)));
        for (k, value) in row.iter_mut().enumerate() {
            *value = (-2.2 + 0.7 * noise(k as u64)).exp() as f32;
        }
        if usize::from(look.truth) >= row.len() {
            return;
        }
        let verdict = self.decide(look, beside, frame, own);
        let trained = self.fraction.ln();
        let far = (1.0 + f64::from(look.range_m) / 20.0).ln();
        let trust = if verdict.wrong { 0.78 - 0.05 * trained } else { 1.0 };
        let top = 2.6 + 0.10 * trained - 0.35 * far + trust * 0.9 * verdict.margin.min(4.0) + 0.5 * noise(40);
        let gap = if verdict.wrong {
            0.4 + 0.9 * verdict.margin.min(4.0) + 0.4 * noise(41).abs()
        } else {
            0.5 + 1.1 * verdict.margin.min(4.0) + 0.4 * noise(41).abs()
        };
        row[usize::from(verdict.runner_up)] = (top - gap).exp() as f32;
        row[usize::from(verdict.class)] = top.clamp(-9.0, 10.0).exp() as f32;
    }
}
