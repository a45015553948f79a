//! Recovery of a damaged map.
//!
//! Records are found by their marks, so a file that has lost its end or its index still gives its tiles.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use e2bki::PrimitiveState;
use e2bki::free::Counters;
use rayon::prelude::*;

use super::check::{check, fits};
use super::header::{Header, Index, TileInfo};
use super::read::MapFile;
use super::record::{self, MARK, PREFIX};
use super::tile::{decode_tile, plausible};
use super::write::{put_in_order, save_states};
use crate::error::{Error, Result};

/// Result of a recovery: what was saved, and what was lost.
#[derive(Debug, Clone)]
pub struct Recovered {
    /// Header of the recovered map.
    pub header: Header,
    /// Primitives saved.
    pub rows: u64,
    /// Tiles saved.
    pub tiles: usize,
    /// Losses, one line each.
    pub lost: Vec<String>,
    /// Primitives lost, if the index still tells.
    pub rows_lost: Option<u64>,
}

/// Saves what is whole in a damaged file to another, opens that and verifies it.
pub fn recover(damaged: impl AsRef<Path>, out: impl AsRef<Path>) -> Result<Recovered> {
    let (path, out) = (damaged.as_ref(), out.as_ref());
    let (mut recovered, states) = if path.is_dir() { salvage_folder(path)? } else { salvage_file(path)? };
    save_states(&recovered.header, states.clone(), out)?;
    let mut again = MapFile::open(out)?;
    let (mut reread, mut states) = (again.read_tiles(|_| true)?, states);
    for states in [&mut reread, &mut states] {
        put_in_order(states, recovered.header.cubes(), 0);
    }
    let checked = check(out)?;
    if reread != states || !checked.findings.is_empty() {
        return Err(Error::Refused(format!("{} was written but does not read back the same", out.display())));
    }
    recovered.tiles = checked.tiles;
    Ok(recovered)
}

/// Everything whole in a folder: of every tile the file that the manifest names, or the latest if there is no manifest.
fn salvage_folder(path: &Path) -> Result<(Recovered, Vec<PrimitiveState>)> {
    let (files, header, mut lost) = match crate::Folder::open(path) {
        Ok(folder) => {
            let named = folder.files().map(|(entry, file)| (Some(entry.rows), file)).collect();
            let (mut lost, mut columns) = (Vec::new(), Vec::new());
            for tile in folder.free.keys() {
                match folder.read_free(*tile) {
                    Ok(column) => columns.push(column),
                    Err(error) => lost.push(error.to_string()),
                }
            }
            let mut header = folder.header().clone();
            if !columns.is_empty() {
                let counters = Counters::of_columns(columns, folder.free_frames).map_err(Error::contents(path))?;
                header.free_space = Some(counters.to_bytes().into());
            }
            (named, Some(header), lost)
        }
        Err(newer @ Error::Newer { .. }) => return Err(newer),
        Err(error) => {
            let line = format!("{error}; the latest file of every tile was taken: they may be of different moments");
            let latest = crate::folder::latest_files(path)?.into_iter().map(|file| (None, file));
            (latest.collect::<Vec<_>>(), None, vec![line])
        }
    };
    let (mut tiles, mut newest) = (Vec::new(), header);
    // Of a tile without its manifest nobody knows how large it was.
    let (mut rows_named, mut number) = (Some(0_u64), 0);
    for (rows, file) in files {
        rows_named = rows_named.zip(rows).map(|(sum, rows)| sum + rows);
        match salvage_file(&file) {
            Ok((part, mut states)) => {
                lost.extend(part.lost);
                // Tiles of a sum are numbered each by itself.
                if part.header.cubes().is_some() {
                    states.iter_mut().zip(number..).for_each(|(state, number)| state.id = number);
                    number += states.len() as u64;
                }
                if newest.as_ref().is_none_or(|known| part.header.next_id > known.next_id) {
                    newest = Some(part.header);
                }
                tiles.push((file.display().to_string(), states));
            }
            Err(error) => lost.push(error.to_string()),
        }
    }
    let header = newest.ok_or_else(|| Error::Foreign {
        path: path.into(),
        what: "there is no manifest and no tile in it that could be read; nothing can be saved".into(),
    })?;
    let states = only_fitting(&header, path, tiles, &mut lost)?;
    let rows = states.len() as u64;
    let rows_lost = rows_named.map(|named| named.saturating_sub(rows));
    Ok((Recovered { header, rows, tiles: 0, lost, rows_lost }, states))
}

/// Everything whole in a file.
fn salvage_file(path: &Path) -> Result<(Recovered, Vec<PrimitiveState>)> {
    let bytes = &std::fs::read(path).map_err(Error::io("read", path))?;
    let marks: Vec<usize> = (0..bytes.len().saturating_sub(PREFIX))
        .into_par_iter()
        .with_min_len(1 << 16)
        .filter(|at| bytes[*at..].starts_with(&MARK))
        .collect();
    let index = marks.iter().find_map(|at| {
        let (text, _) = record_at(bytes, *at, record::INDEX)?;
        serde_json::from_slice::<Index>(text).ok().map(|index| (*at, index))
    });
    let first = marks.iter().find_map(|at| Some((*at, record_at(bytes, *at, record::HEAD)?.0)));
    let mut header = match (first, &index) {
        (Some((at, text)), _) => Header::from_json(text, path, at as u64)?,
        (None, Some((at, index))) => Header::from_json(index.header.as_bytes(), path, *at as u64)?,
        (None, None) => {
            let what = "neither its header nor the copy in its index can be read; nothing can be saved".into();
            return Err(Error::Foreign { path: path.into(), what });
        }
    };
    let named: Option<BTreeMap<u64, &TileInfo>> =
        index.as_ref().map(|(_, index)| index.tiles.iter().map(|info| (info.offset, info)).collect());
    let counters = marks.iter().find_map(|at| Some(record_at(bytes, *at, record::FREE)?.0));
    header.free_space = counters.filter(|counters| Counters::from_bytes(counters).is_ok()).map(Into::into);
    let classes = header.classes.len();
    let found: Vec<(u64, TileInfo, Result<Vec<PrimitiveState>>)> = marks
        .par_iter()
        .filter_map(|at| {
            let (text, start) = record_at(bytes, *at, record::TILE)?;
            let info: TileInfo = serde_json::from_slice(text).ok()?;
            // What the index does not name was never part of this map. Tiles are known by where they were written, not by where
            // they are now: bytes may have been lost or added before them.
            if named.as_ref().is_some_and(|named| named.get(&info.offset) != Some(&&info)) {
                return None;
            }
            let decoded = plausible(&info, classes).map_err(Error::Refused).and_then(|()| {
                let end = start.saturating_add(info.bytes() as usize).min(bytes.len());
                decode_tile(&info, &bytes[start..end], classes, path, start as u64)
            });
            Some((*at as u64, info, decoded))
        })
        .collect();
    let (mut tiles, mut lost, mut met) = (Vec::new(), Vec::new(), BTreeSet::new());
    let (whole, damaged): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, _, decoded)| decoded.is_ok());
    for (at, info, decoded) in whole.into_iter().chain(damaged) {
        // A stretch of the file may be there twice.
        if !met.insert(info.offset) {
            continue;
        }
        match decoded {
            Ok(tile) => tiles.push((format!("tile {:?}", info.tile), tile)),
            Err(error) => {
                let why = match error {
                    Error::Damaged { what, .. } => what,
                    other => other.to_string(),
                };
                lost.push(format!("tile {:?} at byte {at}: {why}", info.tile));
            }
        }
    }
    // What the index names and the scan did not meet has lost its own record.
    for (at, info) in named.iter().flatten().filter(|(at, _)| !met.contains(at)) {
        lost.push(format!("tile {:?} at byte {at}: its record is gone", info.tile));
    }
    let states = only_fitting(&header, path, tiles, &mut lost)?;
    let rows = states.len() as u64;
    let rows_named = named.map(|named| named.values().map(|info| u64::from(info.rows)).sum::<u64>());
    let rows_lost = rows_named.map(|named| named.saturating_sub(rows));
    if header.free_space.is_none() && index.as_ref().is_some_and(|(_, index)| index.free_space.is_some()) {
        lost.push("the counters of free space".into());
    }
    if index.is_none() {
        lost.push("the index is gone: tiles after the last one saved may be lost as well".into());
    }
    Ok((Recovered { header, rows, tiles: 0, lost, rows_lost }, states))
}

/// The primitives of named tiles that can be a map together; the first to hold an id keeps it. Every primitive is looked
/// at once.
fn only_fitting(
    header: &Header,
    path: &Path,
    tiles: Vec<(String, Vec<PrimitiveState>)>,
    lost: &mut Vec<String>,
) -> Result<Vec<PrimitiveState>> {
    // What is wrong with the header is wrong with every tile.
    fits(header, Vec::new()).map_err(Error::contents(path))?;
    let mut ids: HashSet<u64> = HashSet::new();
    let mut kept: Vec<PrimitiveState> = Vec::new();
    for (name, states) in tiles {
        let (all, mut why) = (states.len(), None);
        let before = kept.len();
        for state in states {
            match state.check(header.classes.len(), header.next_id) {
                Ok(()) if ids.insert(state.id) => kept.push(state),
                Ok(()) => {
                    why.get_or_insert_with(|| format!("there are two primitives with the id {}", state.id));
                }
                Err(error) => {
                    why.get_or_insert_with(|| error.to_string());
                }
            }
        }
        if let Some(why) = why {
            lost.push(format!("{name}: {} of {all} primitives; {why}", all - (kept.len() - before)));
        }
    }
    Ok(kept)
}

/// A verified record and where it ends.
fn record_at(bytes: &[u8], at: usize, kind: [u8; 4]) -> Option<(&[u8], usize)> {
    let prefix: &[u8; PREFIX] = bytes.get(at..at + PREFIX)?.try_into().ok()?;
    let len = record::declared(prefix, kind).ok()?;
    let text = bytes.get(at + PREFIX..at.checked_add(PREFIX + len)?)?;
    record::verify(prefix, kind, text).ok()?;
    Some((text, at + PREFIX + len))
}
