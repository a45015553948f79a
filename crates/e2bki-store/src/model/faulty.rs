//! A disk that fails when it is told to: once, for good, in the middle of a write, or with the power.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use e2bki::cluster::Rng;

use crate::disk::{Disk, RealDisk};

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// That call alone, as by a disk with a bad place.
    Once,
    /// A write does a part of its work, then this and every later write and creation fails until there is room again.
    Full,
    /// The process ends: a write does a part of its work, and nothing is done any more.
    Kill,
    /// The machine ends: what was not flushed may be lost as well.
    PowerCut,
}

pub(super) const FAULTS: [Fault; 4] = [Fault::Once, Fault::Full, Fault::Kill, Fault::PowerCut];

/// A change of a folder that has not been flushed, and what undoes it.
#[derive(Debug)]
enum Change {
    Created(PathBuf),
    Renamed { from: PathBuf, to: PathBuf, old: Option<PathBuf> },
    Removed { path: PathBuf, old: PathBuf },
}

#[derive(Debug)]
struct State {
    rng: Rng,
    calls: u64,
    /// The call that fails, and how.
    plan: Option<(u64, Fault)>,
    /// What holds from now on.
    now: Option<Fault>,
    /// Changes of folders that have not been flushed, oldest first.
    changes: Vec<Change>,
    /// Files whose bytes have not been flushed.
    dirty: BTreeMap<PathBuf, ()>,
    kept: u64,
}

/// The disk. `attic` is a folder for what may have to come back.
#[derive(Debug)]
pub(super) struct FaultyDisk {
    attic: PathBuf,
    state: Mutex<State>,
}

/// What a call may do.
enum Verdict {
    Go,
    /// A part of a write, after which it fails.
    Part,
}

impl FaultyDisk {
    pub(super) fn new(attic: &Path, seed: u64) -> Self {
        let state = State {
            rng: Rng::new(seed),
            calls: 0,
            plan: None,
            now: None,
            changes: Vec::new(),
            dirty: BTreeMap::new(),
            kept: 0,
        };
        Self { attic: attic.into(), state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The call of that number from now on, counted from 1, fails.
    pub(super) fn plan(&self, call: u64, fault: Fault) {
        let mut state = self.state();
        state.plan = Some((state.calls + call, fault));
    }

    /// Calls so far.
    pub(super) fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Whether the process or the machine has ended.
    pub(super) fn is_dead(&self) -> bool {
        matches!(self.state().now, Some(Fault::Kill | Fault::PowerCut))
    }

    /// Everything works again. After a power cut the files are as the disk has them.
    pub(super) fn mend(&self) {
        let mut state = self.state();
        if state.now == Some(Fault::PowerCut) {
            lose(&mut state);
        }
        (state.plan, state.now) = (None, None);
    }

    /// Counts a call and says what becomes of it.
    fn step(&self, state: &mut State, takes_room: bool) -> Result<Verdict> {
        state.calls += 1;
        match state.now {
            Some(Fault::Kill | Fault::PowerCut) => return Err(Error::other("the process has ended")),
            Some(Fault::Full) if takes_room => return Err(ErrorKind::StorageFull.into()),
            _ => {}
        }
        let Some((_, fault)) = state.plan.filter(|(call, _)| state.calls == *call) else { return Ok(Verdict::Go) };
        match fault {
            Fault::Once => Err(Error::other("a bad place")),
            Fault::Full if takes_room => {
                state.now = Some(Fault::Full);
                Ok(Verdict::Part)
            }
            Fault::Full => {
                state.now = Some(Fault::Full);
                Ok(Verdict::Go)
            }
            Fault::Kill | Fault::PowerCut => {
                state.now = Some(fault);
                if takes_room { Ok(Verdict::Part) } else { Err(Error::other("the process has ended")) }
            }
        }
    }

    /// Keeps a copy of a file that is about to go.
    fn keep(&self, state: &mut State, path: &Path) -> Option<PathBuf> {
        state.kept += 1;
        let copy = self.attic.join(state.kept.to_string());
        std::fs::hard_link(path, &copy).ok().map(|()| copy)
    }
}

/// Undoes the latest of the changes that were not flushed, and some of the new names before them, and cuts files whose bytes
/// were not flushed. A disk may write names in any order, unless it is told to flush a folder.
fn lose(state: &mut State) {
    let stay = state.rng.below(state.changes.len() + 1);
    for (number, change) in state.changes.iter().enumerate().take(stay) {
        let Change::Created(path) = change else { continue };
        let of_it = |later: &Change| match later {
            Change::Created(other) | Change::Removed { path: other, .. } => other == path,
            Change::Renamed { from, to, .. } => from == path || to == path,
        };
        if !state.changes[number + 1..].iter().any(of_it) && state.rng.below(2) == 0 {
            std::fs::remove_file(path).ok();
            state.dirty.remove(path);
        }
    }
    for change in state.changes.drain(..).skip(stay).collect::<Vec<_>>().into_iter().rev() {
        match change {
            Change::Created(path) => drop(std::fs::remove_file(path)),
            Change::Renamed { from, to, old } => {
                std::fs::rename(&to, &from).unwrap();
                if state.dirty.remove(&to).is_some() {
                    state.dirty.insert(from, ());
                }
                if let Some(old) = old {
                    std::fs::rename(old, to).unwrap();
                }
            }
            Change::Removed { path, old } => std::fs::rename(old, path).unwrap(),
        }
    }
    for (path, ()) in std::mem::take(&mut state.dirty) {
        if let Ok(file) = File::options().write(true).open(&path) {
            let len = file.metadata().unwrap().len();
            file.set_len(state.rng.below(len as usize + 1) as u64).unwrap();
        }
    }
}

impl Disk for FaultyDisk {
    fn create(&self, path: &Path) -> Result<File> {
        let mut state = self.state();
        if let Verdict::Part = self.step(&mut state, true)? {
            return Err(ErrorKind::StorageFull.into());
        }
        let file = RealDisk.create(path)?;
        state.changes.push(Change::Created(path.into()));
        state.dirty.insert(path.into(), ());
        Ok(file)
    }

    fn write(&self, file: &mut File, path: &Path, bytes: &[u8]) -> Result<usize> {
        let mut state = self.state();
        if let Verdict::Part = self.step(&mut state, true)? {
            let part = state.rng.below(bytes.len().max(1));
            RealDisk.write(file, path, &bytes[..part])?;
            return Err(ErrorKind::StorageFull.into());
        }
        // A write may always do less than it was asked to.
        let part = 1 + state.rng.below(bytes.len().max(1));
        RealDisk.write(file, path, &bytes[..part.min(bytes.len())])
    }

    fn sync(&self, _: &File, path: &Path) -> Result<()> {
        let mut state = self.state();
        self.step(&mut state, false)?;
        state.dirty.remove(path);
        Ok(())
    }

    fn sync_folder(&self, _: &Path) -> Result<()> {
        let mut state = self.state();
        self.step(&mut state, false)?;
        state.changes.clear();
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let mut state = self.state();
        self.step(&mut state, false)?;
        let old = self.keep(&mut state, to);
        RealDisk.rename(from, to)?;
        if state.dirty.remove(from).is_some() {
            state.dirty.insert(to.into(), ());
        }
        state.changes.push(Change::Renamed { from: from.into(), to: to.into(), old });
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let mut state = self.state();
        self.step(&mut state, false)?;
        let old = self.keep(&mut state, path);
        RealDisk.remove(path)?;
        if let Some(old) = old {
            state.changes.push(Change::Removed { path: path.into(), old });
        }
        Ok(())
    }

    fn create_folder(&self, path: &Path) -> Result<()> {
        let mut state = self.state();
        self.step(&mut state, false)?;
        RealDisk.create_folder(path)
    }
}
