//! Messages as they come from the network, on its own thread: read, checked, and kept until the mapper takes them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use e2bki_bag::wire::{Broken, Wire};
use e2bki_bag::{Schema, messages, schemas};

use crate::clock::Clock;
use crate::images::Images;
use crate::parameters::{Parameters, Values};
use crate::poses::{PoseSource, Poses};
use crate::question::Question;
use crate::queue::Queue;
use crate::scan::Scan;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `sensor_msgs/PointCloud2`.
    Cloud,
    /// `tf2_msgs/TFMessage` of `/tf`.
    Transforms,
    /// `tf2_msgs/TFMessage` of `/tf_static`.
    FixedTransforms,
    /// `nav_msgs/Odometry`.
    Odometry,
    /// `rosgraph_msgs/Clock`.
    Clock,
    /// `vision_msgs/LabelInfo`.
    LabelInfo,
    /// `std_msgs/UInt8MultiArray`: what other robots share.
    Shared,
    /// `sensor_msgs/PointCloud2`: points that somebody asks about.
    Questions,
    /// `sensor_msgs/Image`: for a network, and for those who look on.
    Image,
    /// `sensor_msgs/CompressedImage`: for a network, and for those who look on.
    CompressedImage,
    /// `sensor_msgs/CameraInfo`.
    CameraInfo,
}

impl Kind {
    /// The definition of its type, for those who look on; none of what only robots read.
    pub fn schema(self) -> Option<Schema> {
        Some(match self {
            Self::Cloud | Self::Questions => schemas::POINT_CLOUD,
            Self::Transforms | Self::FixedTransforms => schemas::TRANSFORMS,
            Self::LabelInfo => schemas::LABEL_INFO,
            Self::Image => schemas::IMAGE,
            Self::CompressedImage => schemas::COMPRESSED_IMAGE,
            Self::CameraInfo => schemas::CAMERA_INFO,
            Self::Odometry | Self::Clock | Self::Shared => return None,
        })
    }
}

/// Questions that may wait.
const QUESTIONS: usize = 16;

/// Somebody who looks on.
type Onlooker = Box<dyn Fn(Kind, &[u8]) + Send + Sync>;

/// Shared messages that may wait: an update takes them all, and what is dropped is asked for again.
const SHARED: usize = 64;

/// What came, for the mapper to take.
pub struct Inputs {
    /// Scans that wait for their pose, or for the mapper.
    pub scans: Queue<Scan>,
    /// The time.
    pub clock: Clock,
    /// What other robots share.
    pub shared: Queue<Vec<u8>>,
    /// Points that somebody asks about.
    pub questions: Queue<Question>,
    /// What the node is told while it runs.
    pub parameters: Parameters,
    /// Somebody who looks on: gets every message as it comes.
    onlooker: OnceLock<Onlooker>,
    poses: Mutex<Poses>,
    /// Pictures for a network, where there is one.
    images: Option<Mutex<Images>>,
    /// Whether somebody began to listen to the whole map.
    joined: AtomicBool,
    /// What the ids of labels mean.
    names: Mutex<Option<Vec<(u16, String)>>>,
    /// Messages that cannot be read: how many, and why the first cannot.
    broken: Mutex<BTreeMap<Kind, (u64, String)>>,
}

impl std::fmt::Debug for Inputs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inputs").field("scans", &self.scans.len()).finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inputs {
    /// Nothing has come. At most `waiting` scans wait.
    pub fn new(source: PoseSource, waiting: usize, clock: Clock) -> Self {
        Self {
            scans: Queue::new(waiting),
            clock,
            shared: Queue::new(SHARED),
            questions: Queue::new(QUESTIONS),
            parameters: Parameters::new(Values::default()),
            onlooker: OnceLock::new(),
            poses: Mutex::new(Poses::new(source)),
            images: None,
            joined: AtomicBool::new(false),
            names: Mutex::new(None),
            broken: Mutex::default(),
        }
    }

    /// From now on somebody looks on, on the network's thread.
    pub fn show(&self, onlooker: impl Fn(Kind, &[u8]) + Send + Sync + 'static) {
        self.onlooker.set(Box::new(onlooker)).ok();
    }

    /// The same with these parameters.
    #[must_use]
    pub fn with(mut self, values: Values) -> Self {
        self.parameters = Parameters::new(values);
        self
    }

    /// The same with pictures kept for a network.
    #[must_use]
    pub fn with_images(mut self) -> Self {
        self.images = Some(Mutex::default());
        self
    }

    /// Somebody began to listen to the whole map: it is due.
    pub fn join(&self) {
        self.joined.store(true, Ordering::SeqCst);
    }

    /// Whether somebody did since this was last asked.
    pub fn somebody_joined(&self) -> bool {
        self.joined.swap(false, Ordering::SeqCst)
    }

    /// Pictures for a network, where there is one.
    pub fn images(&self) -> Option<MutexGuard<'_, Images>> {
        self.images.as_ref().map(locked)
    }

    /// Takes a message: CDR with its header of four bytes.
    pub fn take(&self, kind: Kind, message: &[u8]) {
        if let Some(look) = self.onlooker.get() {
            look(kind, message);
        }
        if let Err(error) = self.read(kind, message) {
            locked(&self.broken).entry(kind).or_insert((0, error.0)).0 += 1;
        }
    }

    fn read(&self, kind: Kind, message: &[u8]) -> Result<(), Broken> {
        match kind {
            Kind::Cloud => {
                let scan = Scan::read(message, self.clock.ticks())?;
                self.scans.push(scan);
                return Ok(());
            }
            Kind::Transforms | Kind::FixedTransforms => {
                self.poses().transforms(message, kind == Kind::FixedTransforms)?;
            }
            Kind::Odometry => self.poses().odometry(message)?,
            Kind::Clock => self.clock.tell(messages::clock(Wire::Cdr, message)?),
            Kind::LabelInfo => {
                locked(&self.names).get_or_insert(messages::label_info(Wire::Cdr, message)?);
            }
            Kind::Shared => {
                self.shared.push(messages::byte_array(Wire::Cdr, message)?.to_vec());
            }
            Kind::Questions => {
                self.questions.push(Question::read(message)?);
            }
            Kind::Image | Kind::CompressedImage | Kind::CameraInfo => match self.images() {
                None => return Ok(()),
                Some(mut images) if kind == Kind::CameraInfo => images.calibrate(message)?,
                Some(mut images) => images.take(message)?,
            },
        }
        // The oldest scan may have waited for just this.
        self.scans.stir();
        Ok(())
    }

    /// Where things are.
    pub fn poses(&self) -> MutexGuard<'_, Poses> {
        locked(&self.poses)
    }

    /// What the ids of labels mean, once somebody told.
    pub fn names(&self) -> Option<Vec<(u16, String)>> {
        locked(&self.names).clone()
    }

    /// Messages that could not be read, by kind, with the reason of the first.
    pub fn broken(&self) -> BTreeMap<Kind, (u64, String)> {
        locked(&self.broken).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use e2bki_bag::compose;
    use proptest::prelude::*;

    #[test]
    fn messages_that_cannot_be_read_are_counted_by_kind() {
        let inputs = Inputs::new(PoseSource::Odometry, 2, Clock::new(true));
        for _ in 0..3 {
            inputs.take(Kind::Cloud, &[0, 1, 0, 0, 7]);
        }
        inputs.take(Kind::Clock, &[]);
        let broken = inputs.broken();
        assert_eq!(
            broken.iter().map(|(kind, (count, _))| (*kind, *count)).collect::<Vec<_>>(),
            [(Kind::Cloud, 3), (Kind::Clock, 1)]
        );
        inputs.take(Kind::Clock, &[0, 1, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(inputs.clock.now(), 2_000_000_005);
        inputs.take(Kind::LabelInfo, &compose::label_info(0, "", ["a", "b"].into_iter()));
        assert_eq!(inputs.names(), Some(vec![(0, "a".to_string()), (1, "b".to_string())]));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0_usize..8) {
            let kinds =
                [Kind::Cloud, Kind::Transforms, Kind::FixedTransforms, Kind::Odometry, Kind::Clock, Kind::LabelInfo, Kind::Shared, Kind::Questions];
            let inputs = Inputs::new(PoseSource::Odometry, 2, Clock::new(false));
            inputs.take(kinds[kind], &[&[0, 1, 0, 0], &bytes[..]].concat());
        }
    }
}
