//! A scan as it came, and as the mapper takes it.

use e2bki::{Frame, Pose};
use e2bki_bag::messages::{Cloud, CloudFields};
use e2bki_bag::wire::{Read, Wire};
use e2bki_data::camera::{TimedMotion, shifted};
use e2bki_data::parse::Cells;
use e2bki_data::{ImageLook, OwnedSemantics, ReadCounts, Remap, WholeScan, returns_of};

/// A cloud that waits for its pose.
#[derive(Debug, Clone)]
pub struct Scan {
    /// Its time, nanoseconds.
    pub stamp: u64,
    /// Frame of its points.
    pub frame: String,
    /// When it came, by [`Clock::ticks`](crate::Clock::ticks).
    pub arrived: u64,
    /// When its last point was measured, nanoseconds.
    pub end: u64,
    fields: CloudFields,
}

/// Points of a scan with their classes, as the mapper takes them.
#[derive(Debug, Clone)]
pub struct Points {
    points: Vec<[f32; 3]>,
    scan: Option<WholeScan>,
    semantics: OwnedSemantics,
    world_from_sensor: Pose,
    /// What was left out of the cloud.
    pub counts: ReadCounts,
}

impl Scan {
    /// Reads a `PointCloud2`.
    pub fn read(message: &[u8], arrived: u64) -> Read<Self> {
        let cloud = Cloud::read(Wire::Cdr, message)?;
        let fields = cloud.decode()?;
        let last = fields.times.iter().flatten().fold(0.0_f32, |last, time| last.max(*time));
        let (stamp, frame) = (cloud.header.stamp, cloud.header.frame.to_string());
        Ok(Self { stamp, frame, arrived, end: shifted(stamp, f64::from(last)), fields })
    }

    /// Whether its points have labels.
    pub fn is_labelled(&self) -> bool {
        self.fields.labels.is_some()
    }

    /// Whether its points have times that differ.
    pub fn is_timed(&self) -> bool {
        self.fields.times.is_some()
    }

    /// The motion during the scan, by the sensor's pose at any time; nothing where points have no times or poses do not
    /// cover them.
    pub fn motion(&self, world_from_sensor: &Pose, pose: impl Fn(u64) -> Option<Pose>) -> Option<TimedMotion> {
        TimedMotion::of_points(self.fields.times.as_deref()?, self.stamp, world_from_sensor, pose)
    }

    /// The returns, the motion of the sensor undone, with their places in the scan.
    fn returns(&self, motion: Option<&TimedMotion>, counts: &mut ReadCounts) -> (Vec<[f32; 3]>, Vec<u32>) {
        match (motion, &self.fields.times) {
            (Some(motion), Some(times)) => {
                returns_of(&self.fields.points, counts, |slot, point| motion.apply(point, times[slot]))
            }
            _ => returns_of(&self.fields.points, counts, |_, point| point),
        }
    }

    /// Which beams the returns at these places of the scan are from, where the cloud says so.
    fn rings(&self, slots: &[u32]) -> Option<Vec<u16>> {
        let rings = self.fields.rings.as_ref()?;
        slots.iter().map(|slot| rings.get(*slot as usize).copied()).collect()
    }

    /// The returns with the classes that the cloud has for them.
    pub fn points(self, world_from_sensor: Pose, motion: Option<&TimedMotion>, remap: &Remap) -> Points {
        let mut counts = ReadCounts::default();
        let (points, slots) = self.returns(motion, &mut counts);
        let rings = self.rings(&slots);
        let scan = rings.map(|rings| WholeScan { points: points.clone(), rings: Some(rings) });
        let ids = self.fields.labels.unwrap_or_default();
        let labels = slots.iter().map(|slot| ids.get(*slot as usize).map_or(e2bki_data::VOID, |id| remap.class(*id)));
        Points { semantics: OwnedSemantics::Labels(labels.collect()), points, scan, world_from_sensor, counts }
    }

    /// The returns that a camera sees, with what a network says of its picture there.
    pub fn seen(
        self,
        world_from_sensor: Pose,
        motion: Option<&TimedMotion>,
        look: &ImageLook<'_>,
        values: &dyn Cells,
    ) -> Points {
        let mut counts = ReadCounts::default();
        let (all, slots) = self.returns(motion, &mut counts);
        let (points, semantics) = look.lift(values, &all, &mut counts);
        let scan = Some(WholeScan { points: all, rings: self.rings(&slots) });
        Points { points, scan, semantics, world_from_sensor, counts }
    }
}

impl Points {
    /// Lent to the mapper.
    pub fn frame(&self) -> Frame<'_> {
        Frame {
            points: &self.points,
            semantics: self.semantics.borrow(),
            world_from_sensor: self.world_from_sensor,
            scan: self.scan.as_ref().map(WholeScan::borrow),
        }
    }
}
