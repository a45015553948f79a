//! A run that does not reach its end loses nothing: the map so far is written, and how to go on is said.

use std::path::Path;

use anyhow::{Result, bail};
use e2bki::ClassSet;
use e2bki_store::{Header, MapFile, WriteLock};

use super::method::Map;
use super::source::Source;
use super::write;
use crate::Finding;

/// What is said where a map on its way to another place did not get there.
pub(super) const NOTHING_KEPT: &str = "nothing was kept; the same command begins anew";

/// Where the map goes, and how often.
pub(crate) struct Keeper<'a> {
    out: Option<&'a Path>,
    every: Option<usize>,
    unsaved: usize,
    /// The drives in the map, as its file names them.
    sources: Vec<String>,
    /// Whether the file is only on its way to another place, and gone if it does not get there.
    in_passing: bool,
    /// Nobody else writes the same file meanwhile.
    _lock: Option<WriteLock>,
}

impl<'a> Keeper<'a> {
    /// For a map that is to be written to `out` by the holder of its lock.
    pub(crate) fn new(
        (out, lock): (Option<&'a Path>, Option<WriteLock>),
        every: Option<usize>,
        sources: Vec<String>,
        in_passing: bool,
    ) -> Self {
        Self { out, every, unsaved: 0, sources, in_passing, _lock: lock }
    }

    /// After a frame: saves if it is time. A map that cannot be saved now may be saved later: the run goes on, and what is
    /// to be said about it is returned.
    pub(crate) fn frame(&mut self, map: &mut Map) -> Option<String> {
        self.unsaved += 1;
        let due = self.every.is_some_and(|every| self.unsaved.is_multiple_of(every));
        let failed = if due { self.write(map).err() } else { None };
        failed.map(|error| {
            format!("warning: the map of {} frames is not saved yet and will be tried again: {error:#}", self.unsaved)
        })
    }

    /// Writes the map, if it is to be written; returns where.
    pub(crate) fn write(&mut self, map: &mut Map) -> Result<Option<&'a Path>> {
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
        map: &mut Map,
        dataset: &Source,
        (chosen, next): (&[usize], usize),
        reason: Option<anyhow::Error>,
    ) -> anyhow::Error {
        let written = if next > 0 && !self.in_passing { self.write(map) } else { Ok(None) };
        let broken = usize::from(reason.is_some());
        let id = chosen.get(next + broken).and_then(|index| dataset.id(*index));
        let kept = match (&written, id) {
            (Ok(Some(path)), Some(id)) if write::can_go_on(path) => format!(
                "the map of the first {next} frames is in {0}; continue with `--onto {0} --frames {id}..`{1}",
                path.display(),
                if broken > 0 { " after this frame" } else { "" }
            ),
            (Ok(Some(path)), _) => format!("the map of the first {next} frames is in {}", path.display()),
            (Ok(None), _) if next == 0 => "no frame was mapped, so nothing was written".into(),
            (Ok(None), _) if self.in_passing => format!("{next} frames were mapped and {NOTHING_KEPT}"),
            (Ok(None), _) => format!("{next} frames were mapped and nothing was written; -o FILE writes the map"),
            (Err(error), _) => format!("and the map of the first {next} frames could not be written: {error:#}"),
        };
        match reason {
            Some(error) => error.context(kept),
            None => Finding(format!("stopped; {kept}")).into(),
        }
    }
}

/// What a saved map says of itself, if it can be gone on with by data of these classes.
pub(crate) fn header(path: &Path, classes: &ClassSet) -> Result<Header> {
    let header = MapFile::open(path)?.header().clone();
    if header.classes.names() != classes.names() {
        bail!(
            "{}: its classes ({}) are not those of the data ({}); --classes chooses others",
            path.display(),
            header.classes.names().join(", "),
            classes.names().join(", ")
        );
    }
    Ok(header)
}
