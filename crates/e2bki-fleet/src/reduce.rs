//! One tile of several runs: the sum of what each of them has in it.

use e2bki::Mapper;
use e2bki_store::{Header, save_under};
use rayon::prelude::*;

use crate::description::Fleet;
use crate::error::{Error, Result};
use crate::manifest::tile_object;
use crate::plan::{BLOCK, Task};
use crate::purge::withdraw;
use crate::runs::Runs;

/// A tile that is in the store now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reduced {
    /// Primitives in it.
    pub rows: usize,
    /// Its size.
    pub bytes: u64,
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
        let (bytes, rows) = bytes(&mut runs, task)?;
        let reduced = Reduced { rows, bytes: bytes.len() as u64 };
        fleet.objects.create(&tile_object(task.tile, &task.key), bytes)?;
        after_each();
        Ok(reduced)
    };
    let made: Result<Vec<Reduced>> = tasks.iter().map(make).collect();
    // Also after a failure: it may be one because a run was purged in the meantime.
    withdraw(fleet, tasks)?;
    made
}

/// The bytes of a tile, and how many primitives they are.
pub(crate) fn bytes(runs: &mut Runs<'_>, task: &Task) -> Result<(Vec<u8>, usize)> {
    let mut whole: Option<Mapper> = None;
    for (name, key) in &task.inputs {
        let part = runs.part(name, key, task.tile)?;
        match &mut whole {
            None => whole = Some(part),
            Some(whole) => {
                whole.merge(&part)?;
            }
        }
    }
    let whole = whole.ok_or_else(|| nothing(task))?;
    // Parquet is written to a file, whose bytes are those of the object.
    let folder = tempfile::tempdir().map_err(|source| scratch(source, std::env::temp_dir()))?;
    let path = folder.path().join("tile.e2bki");
    save_under(&Header::of(&whole, &[]), &whole, &path)?;
    let bytes = std::fs::read(&path).map_err(|source| scratch(source, path))?;
    Ok((bytes, whole.len()))
}

fn nothing(task: &Task) -> Error {
    Error::Refused(format!("the tile {:?} is made of nothing", task.tile))
}

fn scratch(source: std::io::Error, path: std::path::PathBuf) -> e2bki_store::Error {
    e2bki_store::Error::Io { doing: "use as scratch", path, source }
}
