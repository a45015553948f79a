//! A frame: points in the sensor's coordinates, what a network says of them, and where the sensor was.

use crate::error::{Error, Result};
use crate::pose::Pose;

/// One scan. Arrays are borrowed; nothing is copied before it is checked.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Points in sensor coordinates, metres.
    pub points: &'a [[f32; 3]],
    /// Semantics of the points, in any of the accepted forms.
    pub semantics: Semantics<'a>,
    /// Pose of the sensor in the world.
    pub world_from_sensor: Pose,
    /// The scan that the points are from, for what its beams passed through; nothing if they are all of it.
    pub scan: Option<Scan<'a>>,
}

/// All returns of a scan: also those of which nothing is said, as outside of a camera's image.
#[derive(Debug, Clone, Copy)]
pub struct Scan<'a> {
    /// In sensor coordinates, metres.
    pub points: &'a [[f32; 3]],
    /// Which beam each return is from, where the data says so; in any order of the beams.
    pub rings: Option<&'a [u16]>,
}

/// What is known of each point's class. Matrices are row-major, one row of C values per point.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Semantics<'a> {
    /// Class evidence e ≥ 0 of an evidential network.
    Evidence(&'a [f32]),
    /// Dirichlet parameters α = e + 1 of an evidential network.
    Dirichlet(&'a [f32]),
    /// Expected probabilities p and uncertainty u of subjective opinions: b = p − u/C is the belief.
    Opinion {
        /// Probabilities, one row of C per point.
        probabilities: &'a [f32],
        /// Uncertainty in [0, 1], one per point.
        uncertainty: &'a [f32],
    },
    /// Probabilities alone: u is the entropy of p divided by ln C, at least [`MIN_ENTROPY_UNCERTAINTY`](super::MIN_ENTROPY_UNCERTAINTY).
    Probabilities(&'a [f32]),
    /// Raw outputs of a network.
    Logits {
        /// Values, one row of C per point.
        values: &'a [f32],
        /// How the network was trained.
        kind: LogitKind,
    },
    /// Hard labels; an id of C or more means unlabelled. Evidence comes from the agreement of the neighbours in the scan.
    Labels(&'a [u32]),
}

/// How logits become evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogitKind {
    /// An evidential network: e = exp(clamp(x, −10, 10)).
    ExpEvidence,
    /// An ordinary network: p = softmax(x), then as [`Semantics::Probabilities`].
    Softmax,
}

impl<'a> Frame<'a> {
    /// All returns.
    pub(crate) fn returns(&self) -> Scan<'a> {
        self.scan.unwrap_or(Scan { points: self.points, rings: None })
    }

    /// Checks that the arrays fit each other and the number of classes.
    pub fn check(&self, classes: usize) -> Result<()> {
        if let Some(Scan { points, rings: Some(rings) }) = self.scan
            && rings.len() != points.len()
        {
            let why = format!("one per return of the scan, {} returns", points.len());
            return Err(Error::Length { field: "rings", found: rings.len(), expected: points.len(), why });
        }
        let points = self.points.len();
        let per_class = |field: &'static str, found: usize| {
            let expected = points * classes;
            let why = format!("{points} points × {classes} classes");
            if found == expected { Ok(()) } else { Err(Error::Length { field, found, expected, why }) }
        };
        let per_point = |field: &'static str, found: usize| {
            let why = format!("one per point, {points} points");
            if found == points { Ok(()) } else { Err(Error::Length { field, found, expected: points, why }) }
        };
        match self.semantics {
            Semantics::Evidence(values) => per_class("evidence", values.len()),
            Semantics::Dirichlet(values) => per_class("dirichlet", values.len()),
            Semantics::Opinion { probabilities, uncertainty } => {
                per_class("probabilities", probabilities.len())?;
                per_point("uncertainty", uncertainty.len())
            }
            Semantics::Probabilities(values) => per_class("probabilities", values.len()),
            Semantics::Logits { values, .. } => per_class("logits", values.len()),
            Semantics::Labels(labels) => per_point("labels", labels.len()),
        }
    }
}
