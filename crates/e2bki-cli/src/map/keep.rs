//! A run that does not reach its end loses nothing: the map so far is written, and how to go on is said.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use e2bki::{ClassSet, Mapper};
use e2bki_data::Dataset;

use super::method::Map;
use super::write;
use crate::Finding;

/// Whether the user asked for the end of the run.
static ASKED_TO_STOP: AtomicBool = AtomicBool::new(false);
/// Whether a run is on: otherwise Ctrl-C ends the program at once.
static RUNNING: AtomicBool = AtomicBool::new(false);

/// What a shell expects of a program ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// While it lives, the first Ctrl-C only asks the run to stop; a second one ends the program.
pub(crate) struct Interruptible;

impl Interruptible {
    pub(crate) fn new() -> Self {
        static HANDLER: OnceLock<bool> = OnceLock::new();
        ASKED_TO_STOP.store(false, Ordering::SeqCst);
        // Where no handler can be set, Ctrl-C does what it always did.
        HANDLER.get_or_init(|| ctrlc::set_handler(on_interrupt).is_ok());
        RUNNING.store(true, Ordering::SeqCst);
        Self
    }

    pub(crate) fn asked_to_stop(&self) -> bool {
        ASKED_TO_STOP.load(Ordering::SeqCst)
    }
}

impl Drop for Interruptible {
    fn drop(&mut self) {
        RUNNING.store(false, Ordering::SeqCst);
    }
}

fn on_interrupt() {
    if !RUNNING.load(Ordering::SeqCst) || ASKED_TO_STOP.swap(true, Ordering::SeqCst) {
        std::process::exit(INTERRUPTED);
    }
    eprintln!("\nstopping after this frame; Ctrl-C again ends at once and loses what is not saved");
}

/// Where the map goes, and how often.
pub(crate) struct Keeper<'a> {
    out: Option<&'a Path>,
    every: Option<usize>,
    unsaved: usize,
    /// The drives in the map, as its file names them.
    sources: Vec<String>,
}

impl<'a> Keeper<'a> {
    pub(crate) fn new(out: Option<&'a Path>, every: Option<usize>, sources: Vec<String>) -> Self {
        Self { out, every, unsaved: 0, sources }
    }

    /// After a frame: saves if it is time.
    pub(crate) fn frame(&mut self, map: &Map) -> Result<()> {
        self.unsaved += 1;
        if self.every.is_some_and(|every| self.unsaved >= every) { self.write(map).map(|_| ()) } else { Ok(()) }
    }

    /// Writes the map, if it is to be written; returns where.
    pub(crate) fn write(&mut self, map: &Map) -> Result<Option<&'a Path>> {
        if let Some(path) = self.out {
            write::write_map(map, path, &mut self.sources)?;
            self.unsaved = 0;
        }
        Ok(self.out)
    }

    /// Writes the map of a run that stopped before frame `next` of the chosen ones; says how to go on. The reason, if
    /// there is one, is a frame that cannot be used.
    pub(crate) fn stopped(
        &mut self,
        map: &Map,
        dataset: &Dataset,
        (chosen, next): (&[usize], usize),
        reason: Option<anyhow::Error>,
    ) -> anyhow::Error {
        let written = if next > 0 { self.write(map) } else { Ok(None) };
        let broken = usize::from(reason.is_some());
        let id = chosen.get(next + broken).and_then(|index| dataset.id(*index));
        let kept = match (&written, id) {
            (Ok(Some(path)), Some(id)) if write::can_go_on(path) => format!(
                "the map of the {next} frames before is in {0}; `--onto {0} --frames {id}..` goes on{1}",
                path.display(),
                if broken > 0 { " after this frame" } else { "" }
            ),
            (Ok(Some(path)), _) => format!("the map of the {next} frames before is in {}", path.display()),
            (Ok(None), _) => format!("{next} frames were mapped and nothing was written; -o FILE keeps a map"),
            (Err(error), _) => format!("and the map of the {next} frames before could not be written: {error:#}"),
        };
        match reason {
            Some(error) => error.context(kept),
            None => Finding(format!("stopped; {kept}")).into(),
        }
    }
}

/// A saved map to go on with, and the names of its drives.
pub(crate) fn load(path: &Path, classes: &ClassSet, threads: usize) -> Result<(Mapper, Vec<String>)> {
    let mut file = e2bki_store::MapFile::open(path)?;
    let header = file.header().clone();
    if header.classes.names() != classes.names() {
        bail!(
            "{}: its classes ({}) are not those of the data ({}); --classes chooses others",
            path.display(),
            header.classes.names().join(", "),
            classes.names().join(", ")
        );
    }
    let map = file.load_as(header.config.with(|c| c.run.threads = threads), |_| true)?;
    Ok((map, header.sources))
}
