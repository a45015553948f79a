//! The map of a running robot: in memory, or with a budget, and its file.

use std::path::PathBuf;

use anyhow::Result;
use e2bki::{Changes, ClassSet, Config, Frame, FrameReport, Mapper};
use e2bki_live::{Error, LiveMap};
use e2bki_store::WriteLock;

use super::options::Options;
use crate::map::budget::Budgeted;
use crate::map::write;

/// All of it, or the part around the robot.
enum Kept {
    Whole(Box<Mapper>),
    Budgeted(Box<Budgeted>),
}

/// A map, and where it goes.
pub(super) struct Held {
    map: Kept,
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
        let map = match (options.memory, &options.out) {
            (Some(bytes), Some(out)) => Kept::Budgeted(Box::new(Budgeted::new(classes, config, out, bytes)?)),
            _ => Kept::Whole(Box::new(Mapper::new(classes, config.clone())?)),
        };
        let (out, pending) = (options.out.clone(), Changes::default());
        Ok(Self { map, out, sources: Vec::new(), seen: 0, pending, _lock: lock })
    }
}

fn refused(error: anyhow::Error) -> Error {
    Error::map(format!("{error:#}"))
}

impl LiveMap for Held {
    fn insert(&mut self, frame: &Frame<'_>) -> e2bki_live::Result<FrameReport> {
        let map = match &mut self.map {
            Kept::Whole(map) => return map.insert(frame).map_err(Error::map),
            Kept::Budgeted(map) => map,
        };
        let report = map.insert(frame).map_err(refused)?;
        // What goes to the folder is no change: only those of frames count.
        let Changes { number, everything, blocks } = map.latest_changes();
        self.pending.number = *number;
        self.pending.everything |= everything;
        self.pending.blocks.extend_from_slice(blocks);
        Ok(report)
    }

    fn mapper(&self) -> &Mapper {
        match &self.map {
            Kept::Budgeted(map) => map.resident(),
            Kept::Whole(map) => map,
        }
    }

    fn changes(&mut self) -> Changes {
        let Kept::Whole(map) = &mut self.map else { return std::mem::take(&mut self.pending) };
        let changes = map.changes_since(self.seen);
        self.seen = changes.number;
        map.forget_changes(self.seen);
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
        let Kept::Whole(map) = &mut self.map else {
            return Err(Error::map("a map with --memory cannot be emptied while it is built; start the node anew"));
        };
        **map = Mapper::new(map.classes().clone(), map.config().clone()).map_err(Error::map)?;
        self.seen = 0;
        Ok(())
    }
}
