//! The map of a running robot: in memory, or with a budget, and its file.

use std::path::PathBuf;

use anyhow::Result;
use e2bki::submaps::{Contribution, SubmapRule};
use e2bki::{Changes, ClassSet, Config, Frame, FrameReport, Mapper, Prepared, Preparer};
use e2bki_live::{Error, LiveMap};
use e2bki_store::{MapFile, WriteLock};

use super::options::Options;
use crate::map::budget::Budgeted;
use crate::map::live::Live;
use crate::map::{keep, write};

/// All of it, or the part around the robot.
enum Kept {
    Whole(Box<Mapper>),
    Budgeted(Box<Budgeted>),
}

/// A map, and where it goes.
pub(super) struct Held {
    map: Kept,
    /// A page or a recording that follows it.
    shown: Option<Live>,
    out: Option<PathBuf>,
    /// The drives in the map, as its file names them.
    sources: Vec<String>,
    /// The drive that submaps are of.
    name: String,
    /// Number of the map's change up to which updates were made.
    seen: u64,
    /// With a budget, what changed since and was shown already.
    pending: Changes,
    /// Nobody else writes the same file meanwhile.
    _lock: Option<WriteLock>,
}

impl Held {
    pub(super) fn new(classes: ClassSet, config: &Config, options: &Options, lock: Option<WriteLock>) -> Result<Self> {
        let mut sources = Vec::new();
        let mut map = match (&options.onto, options.memory, &options.out) {
            (None, Some(bytes), Some(out)) => Kept::Budgeted(Box::new(Budgeted::new(classes, config, out, bytes)?)),
            (None, ..) => Kept::Whole(Box::new(Mapper::new(classes, config.clone())?)),
            (Some(onto), memory, out) => {
                let header = keep::header(onto, &classes)?;
                sources = header.sources;
                match (memory, out) {
                    (Some(bytes), Some(out)) => {
                        Kept::Budgeted(Box::new(Budgeted::of_file(onto, config.run.threads, out, bytes)?))
                    }
                    _ => {
                        let config = header.config.with(|c| c.run.threads = config.run.threads);
                        Kept::Whole(Box::new(MapFile::open(onto)?.load_as_kept(config)?))
                    }
                }
            }
        };
        map.keep_submaps(options)?;
        let shown = if options.view || options.serve.rerun.is_some() {
            Some(Live::start(options.points.clone().unwrap_or_default(), map.mapper(), &options.serve)?)
        } else {
            None
        };
        // What a saved map holds is told where it changes.
        let (seen, pending, out) = (map.mapper().change_number(), Changes::default(), options.out.clone());
        let name = options.name.clone();
        Ok(Self { map, shown, out, sources, name, seen, pending, _lock: lock })
    }

    fn show_frame(&mut self, frame: &Frame<'_>) {
        match (&mut self.shown, &mut self.map) {
            (Some(shown), Kept::Whole(map)) => shown.frame(map, frame),
            (Some(shown), Kept::Budgeted(map)) => {
                let changes = map.show(shown, frame);
                self.put_off(changes);
            }
            (None, _) => {}
        }
    }

    /// Keeps changes for the next update.
    fn put_off(&mut self, changes: Changes) {
        let Changes { number, everything, blocks } = changes;
        (self.pending.number, self.pending.everything) = (number, self.pending.everything || everything);
        self.pending.blocks.extend(blocks);
    }
}

impl Kept {
    /// Keeps submaps, if that is asked for or the map does already, of a drive with the name of the node.
    fn keep_submaps(&mut self, options: &Options) -> Result<()> {
        match (self, &options.out) {
            (Self::Whole(map), _) => {
                if let Some(rule) = options.submaps.or_else(|| map.submaps().map(|_| SubmapRule::Called)) {
                    map.keep_submaps(rule, &options.name)?;
                }
            }
            (Self::Budgeted(map), Some(out)) => {
                map.keep_submaps(options.submaps, &options.name, out, options.onto.as_deref())?;
            }
            _ => {}
        }
        Ok(())
    }

    fn mapper(&self) -> &Mapper {
        match self {
            Self::Budgeted(map) => map.resident(),
            Self::Whole(map) => map,
        }
    }
}

fn refused(error: anyhow::Error) -> Error {
    Error::map(format!("{error:#}"))
}

impl LiveMap for Held {
    fn insert(&mut self, frame: &Frame<'_>) -> e2bki_live::Result<FrameReport> {
        let report = match &mut self.map {
            Kept::Whole(map) => map.insert(frame).map_err(Error::map)?,
            Kept::Budgeted(map) => map.insert(frame).map_err(refused)?,
        };
        self.show_frame(frame);
        Ok(report)
    }

    fn preparer(&self) -> Option<Preparer> {
        match &self.map {
            Kept::Whole(map) => Some(map.preparer()),
            Kept::Budgeted(map) => Some(map.preparer()),
        }
    }

    fn insert_prepared(&mut self, prepared: Prepared, frame: &Frame<'_>) -> e2bki_live::Result<FrameReport> {
        let report = match &mut self.map {
            Kept::Whole(map) => map.insert_prepared(prepared).map_err(Error::map)?,
            Kept::Budgeted(map) => map.insert_prepared(prepared, frame).map_err(refused)?,
        };
        self.show_frame(frame);
        Ok(report)
    }

    fn name_next_frame(&mut self, time: f64) {
        let number = self.map.mapper().frames();
        match &mut self.map {
            Kept::Whole(map) => map.name_next_frame(number, Some(time)),
            Kept::Budgeted(map) => map.name_next_frame(number, Some(time)),
        }
    }

    fn mapper(&self) -> &Mapper {
        self.map.mapper()
    }

    fn changes(&mut self) -> Changes {
        match &mut self.map {
            Kept::Whole(map) => {
                let changes = map.changes_since(self.seen);
                self.seen = changes.number;
                changes
            }
            Kept::Budgeted(map) => {
                // What goes to the folder is no change: only those of frames count.
                let changes = map.changes();
                self.put_off(changes);
                std::mem::take(&mut self.pending)
            }
        }
    }

    fn forget_changes(&mut self, until: u64) {
        // A page that follows asks for them too, less often; a map with a budget keeps its own account.
        if let (Kept::Whole(map), None) = (&mut self.map, &self.shown) {
            map.forget_changes(until);
        }
    }

    fn is_rolling(&self) -> bool {
        matches!(self.map, Kept::Budgeted(_))
    }

    fn save(&mut self) -> e2bki_live::Result<String> {
        let Some(path) = &self.out else { return Err(Error::map("there is no file to save to; --out names one")) };
        match &mut self.map {
            Kept::Whole(map) => write::write_primitives(map, path, &mut self.sources).map_err(refused)?,
            Kept::Budgeted(map) => self.sources = map.save(&self.sources, path).map_err(refused)?,
        }
        Ok(format!("wrote {}", path.display()))
    }

    fn reset(&mut self) -> e2bki_live::Result<()> {
        if self.shown.is_some() {
            return Err(Error::map("a map that is shown cannot be emptied; start the node anew"));
        }
        let Kept::Whole(map) = &mut self.map else {
            return Err(Error::map("a map with --memory cannot be emptied while it is built; start the node anew"));
        };
        let rule = map.submaps().map(|submaps| submaps.rule());
        **map = Mapper::new(map.classes().clone(), map.config().clone()).map_err(Error::map)?;
        if let Some(rule) = rule {
            map.keep_submaps(rule, &self.name).map_err(Error::map)?;
        }
        self.seen = 0;
        Ok(())
    }

    fn replace(&mut self, taken: &Contribution, added: &Contribution) -> e2bki_live::Result<()> {
        match &mut self.map {
            Kept::Whole(map) => map.replace(taken, added).map(drop).map_err(Error::map),
            Kept::Budgeted(_) => Err(Error::map("a map with --memory cannot be shared")),
        }
    }

    fn show(&mut self) {
        if let Some(shown) = &mut self.shown {
            shown.changed(self.map.mapper());
        }
    }

    fn name_runs(&mut self, runs: Vec<String>) {
        self.sources = runs;
    }
}
