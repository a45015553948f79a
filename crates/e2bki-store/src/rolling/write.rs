//! Dirty tiles go to the folder a few at a time: what is copied for that is not in the budget. All at once took as much as the map.

use std::collections::{BTreeMap, BTreeSet};

use e2bki::PrimitiveState;

use crate::error::Result;
use crate::file::Header;
use crate::folder::{Folder, Tiles, Written};

/// Primitives that are copied at a time, or as many as one tile has.
const COPIED: usize = 20_000;

/// Columns of the counters of free space that are copied at a time.
pub(super) const COLUMNS: usize = 32;

/// Writes the `wanted` tiles, given all primitives in memory with theirs. One whose last primitive was pruned is not a tile any more.
pub(super) fn tiles<P>(
    folder: &mut Folder,
    header: &Header,
    resident: &BTreeSet<[i32; 2]>,
    wanted: &BTreeSet<[i32; 2]>,
    primitives: impl Iterator<Item = ([i32; 2], P)>,
    state: impl Fn(P) -> PrimitiveState,
) -> Result<Written> {
    let mut tiles: BTreeMap<[i32; 2], Vec<P>> = wanted.iter().map(|tile| (*tile, Vec::new())).collect();
    for (tile, primitive) in primitives {
        if let Some(there) = tiles.get_mut(&tile) {
            there.push(primitive);
        }
    }
    let (mut written, mut some, mut copied, mut empty) = (Written::default(), Tiles::new(), 0, Vec::new());
    for (tile, primitives) in tiles {
        // Never expected to be elsewhere; but what the folder has of a tile must not be lost if it happens.
        let mut states = if resident.contains(&tile) { Vec::new() } else { folder.read(tile)? };
        states.extend(primitives.into_iter().map(&state));
        if states.is_empty() {
            empty.push(tile);
            continue;
        }
        copied += states.len();
        some.insert(tile, states);
        if copied >= COPIED {
            written = written.and(folder.put_all(std::mem::take(&mut some), header)?);
            copied = 0;
        }
    }
    written = written.and(folder.put_all(some, header)?);
    empty.iter().for_each(|tile| {
        folder.tiles.remove(tile);
    });
    Ok(written)
}
