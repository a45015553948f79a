//! Messages as they come from the network, on its own thread: read, checked, and kept until the mapper takes them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use e2bki_bag::messages;
use e2bki_bag::wire::{Broken, Wire};

use crate::clock::Clock;
use crate::poses::{PoseSource, Poses};
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
}

/// What came, for the mapper to take.
#[derive(Debug)]
pub struct Inputs {
    /// Scans that wait for their pose, or for the mapper.
    pub scans: Queue<Scan>,
    /// The time.
    pub clock: Clock,
    poses: Mutex<Poses>,
    /// What the ids of labels mean.
    names: Mutex<Option<Vec<(u16, String)>>>,
    /// Messages that cannot be read: how many, and why the first cannot.
    broken: Mutex<BTreeMap<Kind, (u64, String)>>,
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
            poses: Mutex::new(Poses::new(source)),
            names: Mutex::new(None),
            broken: Mutex::default(),
        }
    }

    /// Takes a message: CDR with its header of four bytes.
    pub fn take(&self, kind: Kind, message: &[u8]) {
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
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0_usize..6) {
            let kinds = [Kind::Cloud, Kind::Transforms, Kind::FixedTransforms, Kind::Odometry, Kind::Clock, Kind::LabelInfo];
            let inputs = Inputs::new(PoseSource::Odometry, 2, Clock::new(false));
            inputs.take(kinds[kind], &[&[0, 1, 0, 0], &bytes[..]].concat());
        }
    }
}
