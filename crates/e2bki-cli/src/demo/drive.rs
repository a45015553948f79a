//! A simulated drive as frames of evidential points.

use anyhow::Result;
use e2bki::{Frame, Pose, Semantics};
use e2bki_sim::{ClassInfo, Drive, ErrorModel, Split, Standard, WorldKind};

/// A drive and the network that looks at it.
pub(crate) struct Simulated {
    drive: Drive,
    network: ErrorModel,
}

/// One frame, with the truth.
pub(crate) struct SimulatedFrame {
    pub(crate) points: Vec<[f32; 3]>,
    pub(crate) evidence: Vec<f32>,
    /// True classes; 255 where there is none.
    pub(crate) truth: Vec<u8>,
    pub(crate) pose: Pose,
}

impl Simulated {
    /// The test drive of a world, seen by a network trained on a fraction of the data.
    pub(crate) fn new(world: &str, fraction: f64) -> Result<Self> {
        let standard = match world.parse::<WorldKind>()? {
            WorldKind::Urban => Standard::KittiLike,
            WorldKind::Offroad => Standard::RellisLike,
        };
        let drive = Drive::standard(standard, Split::Test)?;
        let network = ErrorModel::for_drive(&drive, fraction)?;
        Ok(Self { drive, network })
    }

    pub(crate) fn classes(&self) -> &'static [ClassInfo] {
        self.drive.classes()
    }

    pub(crate) fn frame(&self, index: usize) -> Result<SimulatedFrame> {
        let frame = self.drive.frame(index);
        let evidence = self.network.evidence(&frame);
        let pose = Pose::from_matrix(frame.world_from_sensor)?;
        Ok(SimulatedFrame { points: frame.points, evidence, truth: frame.labels, pose })
    }
}

impl SimulatedFrame {
    pub(crate) fn borrow(&self) -> Frame<'_> {
        Frame { points: &self.points, semantics: Semantics::Evidence(&self.evidence), world_from_sensor: self.pose }
    }
}
