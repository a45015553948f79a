//! One tile of several runs: the sum of what each of them has in it.

use rayon::prelude::*;

use crate::description::Fleet;
use crate::error::{Error, Result};
use crate::manifest::tile_object;
use crate::plan::{BLOCK, Before, Task};
use crate::purge::withdraw;
use crate::runs::Runs;
use crate::sum::Sum;

/// A tile that is in the store now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reduced {
    /// Primitives in it.
    pub rows: usize,
    /// Its size.
    pub bytes: u64,
    /// Whether it was made of the tile that was there before, not of all runs.
    pub changed: bool,
}

/// Makes a tile and puts it into the store; one that is there already stays. Holds the sum and one run's part of it.
pub fn reduce(fleet: &Fleet, task: &Task) -> Result<Reduced> {
    let tiles = reduce_share(fleet, std::slice::from_ref(task), || ())?;
    tiles.into_iter().next().ok_or_else(|| nothing(task))
}

/// Makes tiles on all cores, by blocks of neighbours, each as [`reduce_share`] does.
pub fn reduce_all(fleet: &Fleet, tasks: &[Task], after_each: impl Fn() + Sync) -> Result<Vec<Reduced>> {
    let mut tasks = tasks.to_vec();
    tasks.sort_by_key(|task| (task.block(), task.tile));
    let share = tasks.len().div_ceil(rayon::current_num_threads()).clamp(1, (BLOCK * BLOCK) as usize);
    let made: Result<Vec<Vec<Reduced>>> =
        tasks.par_chunks(share).map(|share| reduce_share(fleet, share, &after_each)).collect();
    Ok(made?.into_iter().flatten().collect())
}

/// Makes some tiles, one after the other; every run is opened once for all of them. `after_each` is called after each.
pub fn reduce_share(fleet: &Fleet, tasks: &[Task], after_each: impl Fn()) -> Result<Vec<Reduced>> {
    let mut runs = Runs::new(fleet);
    let make = |task: &Task| {
        let (bytes, rows, changed) = made(&mut runs, task)?;
        let reduced = Reduced { rows, bytes: bytes.len() as u64, changed };
        fleet.objects.create(&tile_object(task.tile, &task.key), bytes)?;
        after_each();
        Ok(reduced)
    };
    let made: Result<Vec<Reduced>> = tasks.iter().map(make).collect();
    // Also after a failure: it may be one because a run was purged in the meantime.
    withdraw(fleet, tasks)?;
    made
}

/// The bytes of a tile of what is cheaper: of the tile that was there before, or of all runs.
fn made(runs: &mut Runs<'_>, task: &Task) -> Result<(Vec<u8>, usize, bool)> {
    // Another program may have purged what it would be made of: then of all runs, with the same bytes.
    if let Some(before) = &task.before
        && let Ok((bytes, rows)) = changed(runs, task, before)
    {
        return Ok((bytes, rows, true));
    }
    let (bytes, rows) = bytes(runs, task)?;
    Ok((bytes, rows, false))
}

/// The bytes of a tile, and how many primitives they are: of all of its runs.
pub(crate) fn bytes(runs: &mut Runs<'_>, task: &Task) -> Result<(Vec<u8>, usize)> {
    if task.inputs.is_empty() {
        return Err(nothing(task));
    }
    let fleet = runs.fleet();
    let mut sum = Sum::new(fleet.config.clustering.cell_size);
    for (name, key) in &task.inputs {
        sum.add(runs.part(name, key, task.tile)?)?;
    }
    sum.into_file(fleet, &fleet.config)
}

/// The same from the tile of some other runs: those that left are taken out of it, new ones are added.
fn changed(runs: &mut Runs<'_>, task: &Task, before: &Before) -> Result<(Vec<u8>, usize)> {
    let fleet = runs.fleet();
    let mut sum = Sum::new(fleet.config.clustering.cell_size);
    sum.add(runs.tile(task.tile, &before.key)?)?;
    for (name, key) in &before.left {
        sum.take_out(&runs.part(name, key, task.tile)?)?;
    }
    for (name, key) in &before.came {
        sum.add(runs.part(name, key, task.tile)?)?;
    }
    sum.into_file(fleet, &fleet.config)
}

fn nothing(task: &Task) -> Error {
    Error::Refused(format!("the tile {:?} is made of nothing", task.tile))
}
