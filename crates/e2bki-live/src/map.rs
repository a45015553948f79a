//! The map that is built, wherever it is kept.

use e2bki::submaps::Contribution;
use e2bki::{Changes, Frame, FrameReport, Mapper, Prepared, Preparer};

use crate::error::{Error, Result};

/// A map that scans go into.
pub trait LiveMap {
    /// Adds a frame.
    fn insert(&mut self, frame: &Frame<'_>) -> Result<FrameReport>;

    /// What makes frames ready beside the map; nothing where frames can only be added as they are.
    fn preparer(&self) -> Option<Preparer> {
        None
    }

    /// Adds a frame that was made ready by [`Self::preparer`].
    fn insert_prepared(&mut self, _prepared: Prepared, frame: &Frame<'_>) -> Result<FrameReport> {
        self.insert(frame)
    }

    /// Says the time of the next frame, seconds, by which corrected poses find it in a map that keeps submaps.
    fn name_next_frame(&mut self, _time: f64) {}

    /// The part of it in memory.
    fn mapper(&self) -> &Mapper;

    /// What changed since this was last asked.
    fn changes(&mut self) -> Changes;

    /// Nobody asks for changes up to this number any more.
    fn forget_changes(&mut self, until: u64);

    /// Whether parts of it may be elsewhere: what is not in memory is not gone.
    fn is_rolling(&self) -> bool {
        false
    }

    /// Saves it; returns what was done, in words.
    fn save(&mut self) -> Result<String>;

    /// Begins anew with an empty map.
    fn reset(&mut self) -> Result<()>;

    /// Takes out what another robot had added and puts in what it has by now: see [`Mapper::replace`].
    fn replace(&mut self, taken: &Contribution, added: &Contribution) -> Result<()>;

    /// Shows what changed without a scan, where somebody looks at it.
    fn show(&mut self) {}

    /// Names the runs that are in the map, as its file has them.
    fn name_runs(&mut self, _runs: Vec<String>) {}
}

/// A map in memory that is saved nowhere.
impl LiveMap for (Mapper, u64) {
    fn insert(&mut self, frame: &Frame<'_>) -> Result<FrameReport> {
        self.0.insert(frame).map_err(Error::map)
    }

    fn preparer(&self) -> Option<Preparer> {
        Some(self.0.preparer())
    }

    fn insert_prepared(&mut self, prepared: Prepared, _frame: &Frame<'_>) -> Result<FrameReport> {
        self.0.insert_prepared(prepared).map_err(Error::map)
    }

    fn name_next_frame(&mut self, time: f64) {
        self.0.name_next_frame(self.0.frames(), Some(time));
    }

    fn mapper(&self) -> &Mapper {
        &self.0
    }

    fn changes(&mut self) -> Changes {
        let changes = self.0.changes_since(self.1);
        self.1 = changes.number;
        changes
    }

    fn forget_changes(&mut self, until: u64) {
        self.0.forget_changes(until);
    }

    fn save(&mut self) -> Result<String> {
        Err(Error::map("there is no file to save the map to"))
    }

    fn reset(&mut self) -> Result<()> {
        self.0 = Mapper::new(self.0.classes().clone(), self.0.config().clone()).map_err(Error::map)?;
        self.1 = 0;
        Ok(())
    }

    fn replace(&mut self, taken: &Contribution, added: &Contribution) -> Result<()> {
        self.0.replace(taken, added).map(drop).map_err(Error::map)
    }
}
