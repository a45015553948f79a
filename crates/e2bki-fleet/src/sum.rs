//! Primitives of several drives added up, cube by cube and class by class, and taken out again. No map is made of them: what
//! goes into a file are the sums alone.

use e2bki::free::Counters;
use e2bki::{Config, PrimitiveState};
use e2bki_store::{Header, bytes_of_states};
use rustc_hash::FxHashMap;

use crate::description::Fleet;
use crate::error::Result;

/// What a run, or a tile of several, has in a tile.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) frames: u64,
    pub(crate) states: Vec<PrimitiveState>,
    /// What was seen and seen through there, in fleets with free space.
    pub(crate) counters: Counters,
}

/// A sum of parts.
pub(crate) struct Sum {
    /// Side of the cubes, metres.
    side: f64,
    frames: u64,
    rows: FxHashMap<([i32; 3], usize), PrimitiveState>,
    counters: Counters,
}

impl Sum {
    /// Of nothing yet, in cubes of this side.
    pub(crate) fn new(side: f64) -> Self {
        Self { side, frames: 0, rows: FxHashMap::default(), counters: Counters::default() }
    }

    pub(crate) fn add(&mut self, part: Part) -> Result<()> {
        self.frames = self.frames.saturating_add(part.frames).min(e2bki::MAX_COUNT);
        self.counters.merge(&part.counters)?;
        for state in part.states {
            match self.rows.entry(state.cube(self.side)) {
                std::collections::hash_map::Entry::Occupied(mut there) => there.get_mut().add(&state)?,
                std::collections::hash_map::Entry::Vacant(free) => drop(free.insert(state)),
            }
        }
        Ok(())
    }

    /// Takes a part out that was added before; fails if it surely was not, and is of no use then.
    pub(crate) fn take_out(&mut self, part: &Part) -> Result<()> {
        let never = || e2bki::Error::Merge("a part is taken out that was never added".into());
        self.frames = self.frames.checked_sub(part.frames).ok_or_else(never)?;
        self.counters.remove(&part.counters)?;
        for state in &part.states {
            let cube = state.cube(self.side);
            let there = self.rows.get_mut(&cube).ok_or_else(never)?;
            if !there.take_out(state)? {
                self.rows.remove(&cube);
            }
        }
        Ok(())
    }

    /// The bytes of a map file of it, and how many primitives they are. `config` says what its cubes are.
    pub(crate) fn into_file(self, fleet: &Fleet, config: &Config) -> Result<(Vec<u8>, usize)> {
        let rows = self.rows.len();
        let header = Header::new(fleet.classes.clone(), config.clone(), self.frames, Some(&self.counters));
        // Put in order by the writer.
        Ok((bytes_of_states(&header, self.rows.into_values().collect())?, rows))
    }
}
