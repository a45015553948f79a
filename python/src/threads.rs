//! Work outside of Python's lock, on threads that exist.
//!
//! A process that was forked has the memory of its parent but only one of its threads: work handed to the others would never
//! be done. `multiprocessing` forks by default on Linux before Python 3.14, and so do data loaders. In such a process the work
//! is done by threads of its own.

use std::sync::{Arc, Mutex, OnceLock, TryLockError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use rayon::ThreadPool;

use crate::errors::{Failure, Result};

/// The process that loaded the module.
static FIRST: OnceLock<u32> = OnceLock::new();

/// Threads of a forked process, and which it is: its own children have to start others.
static OWN: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Remembers the process that loads the module.
pub(crate) fn start() {
    FIRST.get_or_init(std::process::id);
}

/// Whether this process was forked from the one that loaded the module.
pub(crate) fn forked() -> bool {
    FIRST.get().is_some_and(|first| *first != std::process::id())
}

/// Threads of this process, where it was forked.
fn own() -> Result<Option<Arc<ThreadPool>>> {
    if !forked() {
        return Ok(None);
    }
    let (id, begun) = (std::process::id(), Instant::now());
    let mut own = loop {
        match OWN.try_lock() {
            Ok(own) => break own,
            Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if begun.elapsed() > Duration::from_secs(5) => return Err(spawn("a lock")),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    };
    if let Some((of, pool)) = own.as_ref()
        && *of == id
    {
        return Ok(Some(Arc::clone(pool)));
    }
    let pool = rayon::ThreadPoolBuilder::new().build().map_err(|_| spawn("threads"))?;
    let pool = Arc::new(pool);
    // The pool of the parent is left as it is: ending it would wait for threads that are not here.
    std::mem::forget(own.replace((id, Arc::clone(&pool))));
    Ok(Some(pool))
}

/// Works while Python goes on.
pub(crate) fn work<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> Result<T> {
    let pool = own()?;
    Ok(py.detach(|| match pool {
        None => work(),
        Some(pool) => pool.install(work),
    }))
}

/// Refuses more threads than help anywhere: every one takes memory and time to start.
pub(crate) fn check_number(threads: usize) -> Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = 64.max(4 * cores);
    if threads <= most {
        return Ok(());
    }
    let few = "no more than there are cores are of use, and 0 takes one for each";
    Err(Failure::value(format!("`threads` is {threads}, but there are {cores} cores; allowed: 0 to {most} ({few})")))
}

/// Why something of the parent cannot be used in a child.
pub(crate) fn spawn(what: &str) -> Failure {
    Failure::value(format!(
        "this process was forked, and {what} of its parent cannot be used in it; make the object in the child, or start \
         processes with multiprocessing.get_context(\"spawn\")"
    ))
}

/// Refuses what cannot be had in a forked process.
pub(crate) fn refuse_forked(what: &str) -> Result<()> {
    if forked() { Err(spawn(what)) } else { Ok(()) }
}
