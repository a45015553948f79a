//! Who may use an object of several threads next, fairly: a reader waits for at most one writer that has begun or is the next,
//! however many are waiting; writers go in the order in which they came.
//!
//! The lock of the standard library lets writers that come again and again pass every reader.

use std::sync::{Condvar, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use crate::errors::{Failure, Result};

/// How long a child process tries to get at a gate that a thread of its parent may have held while it was forked.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Default)]
struct State {
    /// The process that these counts are of.
    process: u32,
    reading: usize,
    writing: bool,
    /// Readers that wait for the writer to end; they then enter together.
    waiting: usize,
    /// Counts the writers that have ended, and with them the groups of readers that were let in.
    turn: u64,
    /// The next writer's place in the queue.
    ticket: u64,
}

/// The gate before an object; the object's own lock is never waited for.
pub(crate) struct Gate {
    /// The process that made it. In a child its threads do not exist, and what they did will never end.
    born: u32,
    state: Mutex<State>,
    changed: Condvar,
}

/// Somebody is inside until this is dropped.
pub(crate) struct Inside<'a> {
    gate: &'a Gate,
    writer: bool,
}

impl Gate {
    pub(crate) fn new() -> Self {
        let process = std::process::id();
        Self { born: process, state: Mutex::new(State { process, ..State::default() }), changed: Condvar::new() }
    }

    /// Whether this process made it, and not the one that was forked.
    pub(crate) fn at_home(&self) -> bool {
        self.born == std::process::id()
    }

    fn state(&self) -> Result<MutexGuard<'_, State>> {
        if self.at_home() {
            return Ok(self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        }
        let start = Instant::now();
        loop {
            match self.state.try_lock() {
                Ok(state) => return Ok(state),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if start.elapsed() > PATIENCE => return Err(in_use()),
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
        }
    }

    /// In a child process whoever was inside at the time of the fork is inside for ever: that is said, not waited for.
    fn take_over(state: &mut State) -> Result<()> {
        let process = std::process::id();
        if state.process != process {
            if state.reading > 0 || state.writing || state.ticket != state.turn {
                return Err(in_use());
            }
            state.process = process;
        }
        Ok(())
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Enters to read, side by side with other readers.
    pub(crate) fn read(&self) -> Result<Inside<'_>> {
        let mut state = self.state()?;
        Self::take_over(&mut state)?;
        if state.ticket == state.turn {
            state.reading += 1;
        } else {
            // A writer is inside or waits for the readers that are: this one is let in when that writer ends.
            let turn = state.turn;
            state.waiting += 1;
            while state.turn == turn {
                state = self.wait(state);
            }
        }
        Ok(Inside { gate: self, writer: false })
    }

    /// Enters to change, alone.
    pub(crate) fn write(&self) -> Result<Inside<'_>> {
        let mut state = self.state()?;
        Self::take_over(&mut state)?;
        let ticket = state.ticket;
        state.ticket += 1;
        while state.turn != ticket || state.reading > 0 {
            state = self.wait(state);
        }
        state.writing = true;
        Ok(Inside { gate: self, writer: true })
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if self.writer {
            state.writing = false;
            state.turn += 1;
            state.reading += std::mem::take(&mut state.waiting);
        } else {
            state.reading -= 1;
        }
        drop(state);
        self.gate.changed.notify_all();
    }
}

fn in_use() -> Failure {
    Failure::value(
        "another thread was using this object while the process was forked, and its copy in this process is of no use; make it \
         in the child, or start processes with multiprocessing.get_context(\"spawn\")",
    )
}
