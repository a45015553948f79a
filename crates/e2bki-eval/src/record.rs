//! One result: a dataset, a method, a view, and everything measured of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::calibration::ReliabilityBin;
use crate::confidence::Confidence;

/// How a map is queried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// At the voxel that holds the query.
    Voxel,
    /// At the query itself.
    Continuous,
    /// Seen from above, at the cell that holds the query.
    Bev,
    /// Seen from above, at the query itself.
    BevContinuous,
}

impl View {
    /// Its name in tables and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Voxel => "voxel",
            Self::Continuous => "continuous",
            Self::Bev => "bev",
            Self::BevContinuous => "bev-continuous",
        }
    }

    /// Whether height is dropped.
    pub fn is_planar(self) -> bool {
        matches!(self, Self::Bev | Self::BevContinuous)
    }
}

/// Calibration scores in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CalibrationRecord {
    /// Brier score.
    pub bs: Option<f64>,
    /// Expected calibration error.
    pub ece: Option<f64>,
}

/// A result. Shares are in percent; a value that could not be measured is `null`, never 0 or NaN.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Name of the dataset.
    pub dataset: String,
    /// Name of the method.
    pub method: String,
    /// How the map was queried.
    pub view: View,
    /// Source of the semantics that were mapped.
    #[serde(default)]
    pub semantics: Option<String>,
    /// Other settings of this result: frame stride, a parameter that was varied.
    pub parameters: BTreeMap<String, String>,
    /// Frames of the dataset.
    pub frames: usize,
    /// Frames that were mapped.
    pub mapped: usize,
    /// Frames that were asked about; nothing in records of before it was kept.
    #[serde(default)]
    pub asked_frames: Option<usize>,
    /// Those of them that have ground truth: the others are no part of the scores.
    #[serde(default)]
    pub labelled_frames: Option<usize>,
    /// Mean IoU over the classes that occur, over occupied queries.
    pub miou: Option<f64>,
    /// The same over the queries that every compared method occupies.
    pub miou_common: Option<f64>,
    /// The same with unoccupied queries as missed.
    pub miou_strict: Option<f64>,
    /// Right answers over all queries.
    pub acc: Option<f64>,
    /// Brier score over occupied queries.
    pub bs: Option<f64>,
    /// Expected calibration error over occupied queries.
    pub ece: Option<f64>,
    /// How `bs` and `ece` read the confidence.
    pub confidence: Option<Confidence>,
    /// Both scores by every reading.
    pub calibration: BTreeMap<Confidence, CalibrationRecord>,
    /// Reliability diagram of the reading in `confidence`.
    pub reliability: Vec<ReliabilityBin>,
    /// IoU by class name.
    pub iou: BTreeMap<String, Option<f64>>,
    /// The same with unoccupied queries as missed; empty in records of before it was kept.
    #[serde(default)]
    pub iou_strict: BTreeMap<String, Option<f64>>,
    /// Number of queries.
    pub queries: u64,
    /// Number of occupied queries.
    pub occupied: u64,
    /// Volume of the occupied voxels.
    pub volume_m3: Option<f64>,
    /// Share of the places at least 0.5 m from everything ever seen that the map claims is occupied.
    pub empty_claimed: Option<f64>,
    /// The same for places 0.25 m to 0.75 m away.
    pub near_empty_claimed: Option<f64>,
    /// The same for places on beams 0.3 m to 6 m before the return and 0.25 m to 0.75 m from any return.
    #[serde(default)]
    pub before_hits_claimed: Option<f64>,
    /// Frames mapped per second.
    pub hz: Option<f64>,
    /// Bytes the map takes.
    pub bytes: Option<u64>,
    /// Milliseconds per frame by stage, where the method reports them.
    pub stage_ms: BTreeMap<String, f64>,
}

impl Record {
    /// A record without results.
    pub fn new(dataset: impl Into<String>, method: impl Into<String>, view: View) -> Self {
        Self {
            dataset: dataset.into(),
            method: method.into(),
            view,
            semantics: None,
            parameters: BTreeMap::new(),
            frames: 0,
            mapped: 0,
            asked_frames: None,
            labelled_frames: None,
            miou: None,
            miou_common: None,
            miou_strict: None,
            acc: None,
            bs: None,
            ece: None,
            confidence: None,
            calibration: BTreeMap::new(),
            reliability: Vec::new(),
            iou: BTreeMap::new(),
            iou_strict: BTreeMap::new(),
            queries: 0,
            occupied: 0,
            volume_m3: None,
            empty_claimed: None,
            near_empty_claimed: None,
            before_hits_claimed: None,
            hz: None,
            bytes: None,
            stage_ms: BTreeMap::new(),
        }
    }

    /// Share of occupied queries.
    pub fn occupied_share(&self) -> Option<f64> {
        (self.queries > 0).then(|| 100.0 * self.occupied as f64 / self.queries as f64)
    }

    /// Brier score and calibration error by one reading.
    pub fn calibrated(&self, reading: Confidence) -> CalibrationRecord {
        self.calibration.get(&reading).copied().unwrap_or_default()
    }
}
