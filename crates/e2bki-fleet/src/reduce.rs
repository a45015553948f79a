//! One tile of several runs: the sum of what each of them has in it.

use e2bki::Mapper;
use e2bki_store::{Header, save_under};

use crate::add::open;
use crate::description::Fleet;
use crate::error::{Error, Result};
use crate::manifest::{run_object, tile_object};
use crate::plan::Task;

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
    let (bytes, rows) = bytes(fleet, task)?;
    let reduced = Reduced { rows, bytes: bytes.len() as u64 };
    fleet.objects.create(&tile_object(task.tile, &task.key), bytes)?;
    Ok(reduced)
}

/// The bytes of a tile, and how many primitives they are.
pub(crate) fn bytes(fleet: &Fleet, task: &Task) -> Result<(Vec<u8>, usize)> {
    let mut whole: Option<Mapper> = None;
    for (name, key) in &task.inputs {
        let mut file = open(fleet, &run_object(name, key))?;
        let states = file.read_tiles(|info| info.tile == task.tile)?;
        let Header { frames, next_id, .. } = *file.header();
        let part = Mapper::restore(fleet.classes.clone(), fleet.config.clone(), frames, next_id, states)?;
        match &mut whole {
            None => whole = Some(part),
            Some(whole) => {
                whole.merge(&part)?;
            }
        }
    }
    let whole = whole.ok_or_else(|| Error::Refused(format!("the tile {:?} is made of nothing", task.tile)))?;
    // Parquet is written to a file, whose bytes are those of the object.
    let folder = tempfile::tempdir().map_err(|source| scratch(source, std::env::temp_dir()))?;
    let path = folder.path().join("tile.e2bki");
    save_under(&Header::of(&whole, &[]), &whole, &path)?;
    let bytes = std::fs::read(&path).map_err(|source| scratch(source, path))?;
    Ok((bytes, whole.len()))
}

fn scratch(source: std::io::Error, path: std::path::PathBuf) -> e2bki_store::Error {
    e2bki_store::Error::Io { doing: "use as scratch", path, source }
}
