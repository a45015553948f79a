//! The store against a model of it: whatever fails, and whenever, nothing that was reported saved is lost.
//!
//! The model is a list: the map that was last reported saved, and those whose saving failed since. What is on the disk
//! must always be one of them, whole. `E2BKI_SEQUENCES` sets how many random sequences are tried (default 1000).

#![allow(clippy::unwrap_used, clippy::panic)] // a test may fail loudly

mod faulty;

use std::path::PathBuf;
use std::sync::Arc;

use e2bki::cluster::Rng;
use e2bki::{ClassSet, Config, Frame, Mapper, Pose, PrimitiveState, Semantics};

use crate::disk::SharedDisk;
use crate::error::Error;
use crate::file::save_on;
use crate::folder::Folder;
use crate::{Header, check, load, recover};
use faulty::{FAULTS, Fault, FaultyDisk};

type States = Vec<PrimitiveState>;

/// How the map is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    File,
    Folder,
}

/// A writer that is running: its map, and its end of the folder if that is what it writes.
struct Writer {
    map: Mapper,
    folder: Option<Folder>,
}

/// A map on a disk that fails, and what is known of it.
struct Trial {
    form: Form,
    rng: Rng,
    disk: Arc<FaultyDisk>,
    path: PathBuf,
    out: PathBuf,
    writer: Option<Writer>,
    /// What may be on the disk: first what was last reported saved, then what was tried since. Nothing, before the first.
    possible: Vec<Option<States>>,
    history: Vec<String>,
    _folder: tempfile::TempDir,
}

fn empty_map() -> Mapper {
    let config = Config::default().with(|c| c.views.live_voxels = false);
    Mapper::new(ClassSet::from_names(["road", "tree"]).unwrap(), config).unwrap()
}

/// Adds a few points somewhere on four tiles.
fn grow(map: &mut Mapper, rng: &mut Rng) {
    let corner = [rng.below(3) as f64 * 20.0, rng.below(2) as f64 * 40.0, 0.0];
    let points: Vec<[f32; 3]> = (0..6).map(|_| std::array::from_fn(|_| (1.0 + 8.0 * rng.uniform()) as f32)).collect();
    let labels: Vec<u32> = (0..6).map(|_| rng.below(2) as u32).collect();
    let world_from_sensor = Pose::from_translation(corner).unwrap();
    map.insert(&Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None })
        .unwrap();
}

/// Where files are not flushed by anybody, if there is such a place: the faults are ours, not the machine's.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

impl Trial {
    fn new(form: Form, seed: u64) -> Self {
        let folder = scratch();
        let attic = folder.path().join("attic");
        std::fs::create_dir(&attic).unwrap();
        std::fs::create_dir(folder.path().join("maps")).unwrap();
        Self {
            form,
            rng: Rng::new(seed),
            disk: Arc::new(FaultyDisk::new(&attic, seed)),
            path: folder.path().join("maps").join("map"),
            out: folder.path().join("out"),
            writer: None,
            possible: vec![None],
            history: Vec::new(),
            _folder: folder,
        }
    }

    fn shared(&self) -> SharedDisk {
        self.disk.clone()
    }

    /// Starts a writer where there is none: on the map that is there, or on a new one.
    fn start(&mut self) {
        if self.writer.is_some() {
            return;
        }
        self.history.push("start".into());
        let there = load(&self.path);
        let (map, folder) = match (there, self.form) {
            (Ok(map), Form::File) => (map, None),
            (Ok(map), Form::Folder) => (map, Some(Folder::open_on(self.shared(), &self.path).unwrap())),
            (Err(_), Form::File) => (empty_map(), None),
            (Err(_), Form::Folder) => {
                let map = empty_map();
                match Folder::create_on(self.shared(), &self.path, Header::of(&map, &[])) {
                    Ok(folder) => {
                        self.possible = vec![Some(Vec::new())];
                        (map, Some(folder))
                    }
                    Err(_) => {
                        self.possible.push(Some(Vec::new()));
                        self.after_a_fault();
                        return;
                    }
                }
            }
        };
        self.writer = Some(Writer { map, folder });
    }

    fn save(&mut self) {
        let disk = self.shared();
        let Some(writer) = &mut self.writer else { return };
        let states: States = writer.map.states().collect();
        let saved = match &mut writer.folder {
            Some(folder) => folder.save(&writer.map).map(|_| ()),
            None => save_on(&disk, &writer.map, &["drive".into()], &self.path).map(|_| ()),
        };
        self.history.push(format!("save of {}: {:?}", states.len(), saved.as_ref().map_err(ToString::to_string)));
        match saved {
            Ok(()) => self.possible = vec![Some(states)],
            Err(_) => self.possible.push(Some(states)),
        }
        self.after_a_fault();
    }

    /// Ends a process that was killed; what is on the disk must be one of what is possible.
    fn after_a_fault(&mut self) {
        if self.disk.is_dead() {
            self.writer = None;
            self.disk.mend();
            self.history.push("ended".into());
        }
        self.look();
    }

    /// A reader, who needs no lock and may come at any time.
    fn look(&mut self) {
        let found: Option<States> = load(&self.path).ok().map(|map| map.states().collect());
        if !self.possible.contains(&found) {
            panic!(
                "{:?} on the disk, possible: {:?}; {:#?}; {:?}",
                found.map(|states| states.len()),
                self.possible.iter().map(|states| states.as_ref().map(Vec::len)).collect::<Vec<_>>(),
                self.history,
                load(&self.path).err().map(|error| error.to_string()),
            );
        }
    }

    /// A second writer is refused while there is a first, and changes nothing.
    fn intrude(&mut self) {
        let Some(Writer { folder: Some(folder), .. }) = &mut self.writer else { return };
        self.history.push("second writer".into());
        // The first one is busy from its first change on.
        if folder.lock().is_err() {
            return self.after_a_fault();
        }
        let Ok(mut second) = Folder::open(&self.path) else { return };
        let refused = second.save(&empty_map()).unwrap_err();
        assert!(matches!(refused, Error::Locked { .. }), "{refused}");
        self.look();
    }

    /// A writer that heeds no lock: what the first one says next is not written over its map.
    fn trample(&mut self) {
        let Some(Writer { folder: Some(folder), map }) = &mut self.writer else { return };
        self.history.push("a writer without a lock".into());
        let manifest = self.path.join("manifest.e2bki");
        let before = std::fs::read(&manifest).unwrap();
        std::fs::write(&manifest, b"another program's").unwrap();
        let refused = folder.save(map).unwrap_err();
        assert!(matches!(refused, Error::Changed { .. } | Error::Io { .. }), "{refused}");
        assert_eq!(std::fs::read(&manifest).unwrap(), b"another program's");
        std::fs::write(&manifest, before).unwrap();
        // The power may have failed meanwhile, which no process survives.
        self.after_a_fault();
    }

    /// What is recovered is what is there, and nothing is said to be lost.
    fn rescue(&mut self) {
        let Ok(map) = load(&self.path) else { return };
        self.history.push("recover".into());
        let recovered = recover(&self.path, &self.out).unwrap();
        assert_eq!((recovered.rows_lost, recovered.lost.len()), (Some(0), 0), "{:?}", recovered.lost);
        let mut found: States = load(&self.out).unwrap().states().collect();
        found.sort_by_key(|state| state.id);
        assert!(map.states().eq(found));
        assert!(check(&self.path).unwrap().findings.is_empty(), "{:?}", self.history);
    }

    /// One thing that may happen.
    fn step(&mut self) {
        match self.rng.below(16) {
            0..=4 => {
                self.start();
                if let Some(writer) = &mut self.writer {
                    grow(&mut writer.map, &mut self.rng);
                }
            }
            5..=9 => self.save(),
            10..=11 => {
                let (call, fault) = (1 + self.rng.below(40) as u64, FAULTS[self.rng.below(FAULTS.len())]);
                self.history.push(format!("{fault:?} at call {call}"));
                self.disk.plan(call, fault);
                self.start();
                self.save();
            }
            12 => self.intrude(),
            13 if !self.disk.is_dead() => self.trample(),
            14 => self.rescue(),
            _ => {
                // An ordinary end, and room on the disk again.
                self.history.push("end".into());
                self.writer = None;
                self.disk.mend();
                self.look();
            }
        }
    }
}

fn sequence(seed: u64) {
    let form = if seed.is_multiple_of(3) { Form::File } else { Form::Folder };
    let mut trial = Trial::new(form, seed);
    for _ in 0..14 {
        trial.step();
    }
    // When all is well again, the map can be gone on with and saved.
    trial.disk.mend();
    trial.start();
    if let Some(writer) = &mut trial.writer {
        grow(&mut writer.map, &mut trial.rng);
    }
    trial.save();
    assert_eq!(trial.possible.len(), 1, "seed {seed}: {:#?}", trial.history);
    trial.rescue();
}

#[test]
fn nothing_that_was_reported_saved_is_ever_lost() {
    let sequences: u64 = std::env::var("E2BKI_SEQUENCES").ok().and_then(|text| text.parse().ok()).unwrap_or(1000);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64).min(8);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                // One thread for each: a sequence happens in the same order whenever it is tried.
                let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
                pool.install(|| (thread..sequences).step_by(threads as usize).for_each(sequence));
                // In which the power failed under a writer that was being refused: found by 10,000 sequences.
                if thread == 0 {
                    pool.install(|| sequence(8551));
                }
            });
        }
    });
}

/// A trial whose old map is saved, and whose writer holds the next one.
fn ready(form: Form, seed: u64) -> Trial {
    let mut trial = Trial::new(form, seed);
    trial.start();
    for _ in 0..5 {
        let writer = trial.writer.as_mut().unwrap();
        grow(&mut writer.map, &mut trial.rng);
    }
    trial.save();
    assert_eq!(trial.possible.len(), 1);
    grow(&mut trial.writer.as_mut().unwrap().map, &mut trial.rng);
    trial
}

#[test]
fn every_call_of_a_save_may_fail_in_every_way() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        for form in [Form::File, Form::Folder] {
            let mut clean = ready(form, 7);
            let before = clean.disk.calls();
            clean.save();
            let calls = clean.disk.calls() - before;
            assert!(calls >= 5, "{calls}");
            for (call, fault) in (1..=calls).flat_map(|call| FAULTS.map(|fault| (call, fault))) {
                let mut trial = ready(form, 7);
                trial.disk.plan(call, fault);
                trial.save();
                // Removing what is left over may fail without anybody having to know.
                trial.disk.mend();
                trial.look();
                trial.start();
                trial.save();
                assert_eq!(trial.possible.len(), 1, "{form:?} {call} {fault:?}");
                trial.rescue();
                if fault == Fault::Kill {
                    let left = std::fs::read_dir(trial.path.parent().unwrap()).unwrap().count();
                    assert!(left <= 2, "{left} files after {form:?} {call}");
                }
            }
        }
    });
}

#[test]
fn a_kill_after_a_failure_at_any_two_calls_loses_nothing() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        let mut clean = ready(Form::Folder, 7);
        let before = clean.disk.calls();
        clean.save();
        let calls = clean.disk.calls() - before;
        // The first failure at the end of a save, when the new manifest may be in place; the second one anywhere in the
        // next, which has more to write.
        let pairs = (calls - 8..=calls).flat_map(|first| (1..=4 * calls).step_by(2).map(move |second| (first, second)));
        for (first, second) in pairs {
            let mut trial = ready(Form::Folder, 7);
            trial.disk.plan(first, Fault::Once);
            trial.save();
            // The same tiles again, so that what the failed save wrote is replaced.
            let writer = trial.writer.as_mut().unwrap();
            (0..5).for_each(|_| grow(&mut writer.map, &mut trial.rng));
            trial.disk.plan(second, Fault::Kill);
            trial.save();
        }
    });
}
