//! A frame that was read: owned arrays that lend themselves to the mapper.

use std::time::Duration;

use e2bki::{Frame, LogitKind, Pose, Scan, Semantics};

use crate::camera::Projected;
use crate::item::Item;

/// Semantics with owned arrays.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum OwnedSemantics {
    /// Class of each point; [`VOID`](crate::VOID) for none.
    Labels(Vec<u32>),
    /// Probabilities, one row per point.
    Probabilities(Vec<f32>),
    /// Evidence, one row per point.
    Evidence(Vec<f32>),
    /// Logits, one row per point.
    Logits(Vec<f32>, LogitKind),
}

impl OwnedSemantics {
    /// Lent to the mapper.
    pub fn borrow(&self) -> Semantics<'_> {
        match self {
            Self::Labels(labels) => Semantics::Labels(labels),
            Self::Probabilities(values) => Semantics::Probabilities(values),
            Self::Evidence(values) => Semantics::Evidence(values),
            Self::Logits(values, kind) => Semantics::Logits { values, kind: *kind },
        }
    }

    /// Most likely class of each point; the first of equals, [`VOID`](crate::VOID) for none.
    pub fn labels(&self, classes: usize) -> Vec<u32> {
        match self {
            Self::Labels(labels) => labels.clone(),
            Self::Probabilities(v) | Self::Evidence(v) | Self::Logits(v, _) => {
                v.chunks_exact(classes.max(1)).map(|row| e2bki::maths::argmax(row) as u32).collect()
            }
        }
    }
}

/// Counts of the slots of a scan: slots = points + all drops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Points, or places for points, in the file.
    pub slots: usize,
    /// Exact zeros: no return.
    pub no_return: usize,
    /// A coordinate is NaN or infinite.
    pub non_finite: usize,
    /// Outside of the image the semantics come from.
    pub outside_image: usize,
    /// Hidden from the camera by nearer points.
    pub occluded: usize,
    /// The network says it is none of the classes (sky, background).
    pub void: usize,
}

impl ReadCounts {
    /// Drops with their reasons, in a fixed order.
    pub fn by_reason(&self) -> [(&'static str, usize); 5] {
        [
            ("no return", self.no_return),
            ("non-finite point", self.non_finite),
            ("outside the image", self.outside_image),
            ("hidden from the camera", self.occluded),
            ("none of the classes", self.void),
        ]
    }

    /// All drops together.
    pub fn dropped(&self) -> usize {
        self.by_reason().iter().map(|(_, count)| count).sum()
    }

    /// Adds the counts of another frame.
    pub fn add(&mut self, other: &Self) {
        self.slots += other.slots;
        self.no_return += other.no_return;
        self.non_finite += other.non_finite;
        self.outside_image += other.outside_image;
        self.occluded += other.occluded;
        self.void += other.void;
    }
}

/// All returns of a scan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WholeScan {
    /// In sensor coordinates, metres.
    pub points: Vec<[f32; 3]>,
    /// Which beam each is from, where the data says so.
    pub rings: Option<Vec<u16>>,
}

impl WholeScan {
    /// Lent to the mapper.
    pub fn borrow(&self) -> Scan<'_> {
        Scan { points: &self.points, rings: self.rings.as_deref() }
    }
}

/// A frame of a dataset.
#[derive(Debug, Clone)]
pub struct LoadedFrame {
    /// Place among the dataset's frames.
    pub index: usize,
    /// Number of the frame in the dataset.
    pub id: u64,
    /// Time of the scan where the data has it, nanoseconds: since 1970 or, as in KITTI, since the drive began.
    pub stamp_ns: Option<u64>,
    /// Name of its files.
    pub name: String,
    /// Points in sensor coordinates, metres; returns only.
    pub points: Vec<[f32; 3]>,
    /// Place of each point in the file.
    pub slots: Vec<u32>,
    /// The scan that the points are from, where they are not all of it or the data says which beams they are from.
    pub scan: Option<WholeScan>,
    /// Semantics of each point.
    pub semantics: OwnedSemantics,
    /// Pose of the sensor.
    pub world_from_sensor: Pose,
    /// True class of each point, if asked for and known; [`VOID`](crate::VOID) for none.
    pub ground_truth: Option<Vec<u32>>,
    /// Place of each point in the image, where the camera was needed; nothing for points outside of it.
    pub projected: Option<Vec<Option<Projected>>>,
    /// The camera image of the frame.
    pub image: Option<Item>,
    /// The camera image itself, if asked for.
    pub picture: Option<image::RgbImage>,
    /// Counts of the slots of the file.
    pub counts: ReadCounts,
    /// Time it took to read; nothing else depends on it.
    pub read_time: Duration,
}

impl LoadedFrame {
    /// Lent to the mapper.
    pub fn frame(&self) -> Frame<'_> {
        Frame {
            points: &self.points,
            semantics: self.semantics.borrow(),
            world_from_sensor: self.world_from_sensor,
            scan: self.scan.as_ref().map(WholeScan::borrow),
        }
    }

    /// Points in world coordinates.
    pub fn world_points(&self) -> impl Iterator<Item = [f64; 3]> {
        self.points.iter().map(|p| self.world_from_sensor.apply(p.map(f64::from)))
    }
}
