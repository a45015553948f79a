//! The map of a running robot: in memory, or with a budget, and its file.

use std::path::PathBuf;

use anyhow::Result;
use e2bki::{Changes, ClassSet, Config, Frame, FrameReport, Mapper};
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
    /// Number of the map's change up to which updates were made; with a budget, the changes since.
    seen: u64,
    pending: Changes,
    /// Nobody else writes the same file meanwhile.
    _lock: Option<WriteLock>,
}

impl Held {
    pub(super) fn new(classes: ClassSet, config: &Config, options: &Options, lock: Option<WriteLock>) -> Result<Self> {
        let mut sources = Vec::new();
        let map = match (&options.onto, options.memory, &options.out) {
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
        let shown = if options.view || options.serve.rerun.is_some() {
            Some(Live::start(options.points.clone(), map.mapper(), &options.serve)?)
        } else {
            None
        };
        // What a saved map holds is told where it changes.
        let (seen, pending, out) = (map.mapper().change_number(), Changes::default(), options.out.clone());
        Ok(Self { map, shown, out, sources, seen, pending, _lock: lock })
    }
}

impl Kept {
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
            Kept::Budgeted(map) => {
                let report = map.insert(frame).map_err(refused)?;
                // What goes to the folder is no change: only those of frames count.
                let Changes { number, everything, blocks } = map.latest_changes();
                self.pending.number = *number;
                self.pending.everything |= everything;
                self.pending.blocks.extend_from_slice(blocks);
                report
            }
        };
        if let Some(shown) = &mut self.shown {
            shown.frame(self.map.mapper(), frame);
        }
        Ok(report)
    }

    fn mapper(&self) -> &Mapper {
        self.map.mapper()
    }

    fn changes(&mut self) -> Changes {
        let Kept::Whole(map) = &mut self.map else { return std::mem::take(&mut self.pending) };
        let changes = map.changes_since(self.seen);
        self.seen = changes.number;
        // A page that follows asks for them too, less often.
        if self.shown.is_none() {
            map.forget_changes(self.seen);
        }
        changes
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
        **map = Mapper::new(map.classes().clone(), map.config().clone()).map_err(Error::map)?;
        self.seen = 0;
        Ok(())
    }
}
