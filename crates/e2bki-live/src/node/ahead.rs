//! The next scan is made ready on a thread of its own, while the one before it goes into the map and what changed is told.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use e2bki::{Pose, Prepared, Preparer};

use crate::scan::Points;

/// A scan whose place is known.
pub(super) struct Placed {
    pub(super) stamp: u64,
    pub(super) arrived: u64,
    pub(super) pose: Pose,
    pub(super) world: String,
    /// Gives its points with their classes: work for the other thread.
    pub(super) points: Box<dyn FnOnce() -> Points + Send>,
}

/// A scan that can go into the map.
pub(super) struct Ready {
    pub(super) stamp: u64,
    pub(super) arrived: u64,
    pub(super) pose: Pose,
    pub(super) world: String,
    pub(super) points: Points,
    /// Nothing where the map takes frames as they are.
    pub(super) prepared: Option<e2bki::Result<Prepared>>,
    /// How long that took.
    pub(super) took: Duration,
}

impl Placed {
    /// Makes it ready here.
    pub(super) fn ready(self, preparer: Option<(&Preparer, u64)>) -> Ready {
        let begun = Instant::now();
        let Self { stamp, arrived, pose, world, points } = self;
        let points = points();
        let prepared = preparer.map(|(preparer, number)| preparer.prepare(&points.frame(), number));
        Ready { stamp, arrived, pose, world, points, prepared, took: begun.elapsed() }
    }
}

type Job = (Placed, Preparer, u64);

/// The thread, which has one scan at a time.
pub(super) struct Ahead {
    jobs: SyncSender<Job>,
    done: Receiver<Ready>,
    busy: bool,
}

impl Ahead {
    /// Nothing where no thread can be had.
    pub(super) fn start() -> Option<Self> {
        let (jobs, to_do) = sync_channel::<Job>(1);
        let (sender, done) = sync_channel(1);
        let work = move || {
            for (placed, preparer, number) in to_do {
                // Who asked may have gone away.
                if sender.send(placed.ready(Some((&preparer, number)))).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("prepare".into()).spawn(work).ok()?;
        Some(Self { jobs, done, busy: false })
    }

    /// Whether it has a scan.
    pub(super) fn is_busy(&self) -> bool {
        self.busy
    }

    /// Begins with a scan, which becomes the map's `number`th; gives it back if the thread is not there.
    pub(super) fn begin(&mut self, placed: Placed, preparer: Preparer, number: u64) -> Option<Placed> {
        match self.jobs.try_send((placed, preparer, number)) {
            Ok(()) => {
                self.busy = true;
                None
            }
            Err(std::sync::mpsc::TrySendError::Full(job) | std::sync::mpsc::TrySendError::Disconnected(job)) => {
                Some(job.0)
            }
        }
    }

    /// The scan that it has, when it is ready; nothing if there is none.
    pub(super) fn take(&mut self) -> Option<Ready> {
        if !std::mem::take(&mut self.busy) {
            return None;
        }
        self.done.recv().ok()
    }
}
