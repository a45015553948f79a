//! A simulated drive as frames of evidential points.

use anyhow::Result;
use e2bki::Pose;
use e2bki_eval::{LabelledFrame, Said};
use e2bki_sim::{ClassInfo, Drive, ErrorModel, Split, Standard, WorldKind};

/// A drive and the network that looks at it.
pub(crate) struct Simulated {
    drive: Drive,
    network: ErrorModel,
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

    pub(crate) fn frame(&self, index: usize) -> Result<LabelledFrame> {
        let frame = self.drive.frame(index);
        Ok(LabelledFrame {
            said: Said::Evidence(self.network.evidence(&frame)),
            world_from_sensor: Pose::from_matrix(frame.world_from_sensor)?,
            truth: frame.labels.iter().map(|label| u32::from(*label)).collect(),
            points: frame.points,
        })
    }
}
