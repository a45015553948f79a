//! What can be saved from a damaged map.
//!
//! Records are found by their marks, so a file that has lost its end or its index still gives its tiles.

use std::path::Path;

use e2bki::PrimitiveState;
use e2bki::free::Counters;
use rayon::prelude::*;

use super::check::{check, fits};
use super::header::{Header, Index, TileInfo};
use super::read::MapFile;
use super::record::{self, MARK, PREFIX};
use super::tile::{decode_tile, plausible};
use super::write::save_states;
use crate::error::{Error, Result};

/// What was saved from a damaged file, and what was lost.
#[derive(Debug, Clone)]
pub struct Recovered {
    /// What the recovered map holds besides primitives.
    pub header: Header,
    /// Primitives saved.
    pub rows: u64,
    /// Tiles saved.
    pub tiles: usize,
    /// What was lost, one line each.
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
    let mut reread = again.read_tiles(|_| true)?;
    let mut states = states;
    states.sort_unstable_by_key(|state| state.id);
    reread.sort_unstable_by_key(|state| state.id);
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
        Ok(folder) => (folder.files(), Some(folder.header().clone()), Vec::new()),
        Err(newer @ Error::Newer { .. }) => return Err(newer),
        Err(error) => {
            let line = format!("{error}; the latest file of every tile was taken: they may be of different moments");
            (crate::folder::latest_files(path)?, None, vec![line])
        }
    };
    let (mut tiles, mut rows_lost) = (Vec::new(), header.as_ref().map(|_| 0));
    let mut newest: Option<Header> = header;
    for file in files {
        match salvage_file(&file) {
            Ok((part, states)) => {
                lost.extend(part.lost);
                rows_lost = rows_lost.zip(part.rows_lost).map(|(a, b)| a + b);
                if newest.as_ref().is_none_or(|known| part.header.next_id > known.next_id) {
                    newest = Some(part.header);
                }
                tiles.push((file.display().to_string(), states));
            }
            Err(error) => {
                lost.push(error.to_string());
                rows_lost = None;
            }
        }
    }
    let header = newest.ok_or_else(|| Error::Foreign {
        path: path.into(),
        what: "there is no manifest and no tile in it that could be read; nothing can be saved".into(),
    })?;
    let mut unfit = Vec::new();
    let states = only_fitting(&header, tiles, &mut unfit);
    rows_lost = rows_lost.map(|rows| rows + unfit.iter().map(|(rows, _)| rows).sum::<u64>());
    lost.extend(unfit.into_iter().map(|(_, line)| line));
    Ok((Recovered { header, rows: states.len() as u64, tiles: 0, lost, rows_lost }, states))
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
    let counters = marks.iter().find_map(|at| Some(record_at(bytes, *at, record::FREE)?.0));
    header.free_space = counters.filter(|counters| Counters::from_bytes(counters).is_ok()).map(Into::into);
    let classes = header.classes.len();
    let found: Vec<(u64, TileInfo, Result<Vec<PrimitiveState>>)> = marks
        .par_iter()
        .filter_map(|at| {
            let (text, start) = record_at(bytes, *at, record::TILE)?;
            let info: TileInfo = serde_json::from_slice(text).ok()?;
            let decoded = plausible(&info, classes).map_err(Error::Refused).and_then(|()| {
                let end = start.saturating_add(info.bytes() as usize).min(bytes.len());
                decode_tile(&info, &bytes[start..end], classes, path, start as u64)
            });
            Some((*at as u64, info, decoded))
        })
        .collect();
    let (mut states, mut lost, mut met) = (Vec::new(), Vec::new(), Vec::new());
    for (at, info, decoded) in found {
        met.push(info.offset);
        match decoded {
            Ok(tile) => states.push((format!("tile {:?}", info.tile), tile)),
            Err(error) => {
                let why = match error {
                    Error::Damaged { what, .. } => what,
                    other => other.to_string(),
                };
                lost.push((u64::from(info.rows), format!("tile {:?} at byte {at}: {why}", info.tile)));
            }
        }
    }
    // What the index names and the scan did not meet has lost its own record.
    for info in index.iter().flat_map(|(_, index)| &index.tiles).filter(|info| !met.contains(&info.offset)) {
        lost.push((u64::from(info.rows), format!("tile {:?} at byte {}: its record is gone", info.tile, info.offset)));
    }
    let states = only_fitting(&header, states, &mut lost);
    let rows_lost = index.is_some().then(|| lost.iter().map(|(rows, _)| rows).sum());
    let mut lost: Vec<String> = lost.into_iter().map(|(_, line)| line).collect();
    if header.free_space.is_none() && index.as_ref().is_some_and(|(_, index)| index.free_space.is_some()) {
        lost.push("the counters of free space".into());
    }
    if index.is_none() {
        lost.push("the index is gone: tiles after the last one saved may be lost as well".into());
    }
    let recovered = Recovered { header, rows: states.len() as u64, tiles: 0, lost, rows_lost };
    Ok((recovered, states))
}

/// Named tiles that can be a map together; the first to hold an id keeps it.
fn only_fitting(
    header: &Header,
    tiles: Vec<(String, Vec<PrimitiveState>)>,
    lost: &mut Vec<(u64, String)>,
) -> Vec<PrimitiveState> {
    let all: Vec<PrimitiveState> = tiles.iter().flat_map(|(_, states)| states).cloned().collect();
    if fits(header, all.clone()).is_ok() {
        return all;
    }
    let mut kept: Vec<PrimitiveState> = Vec::new();
    for (name, states) in tiles {
        let together: Vec<PrimitiveState> = kept.iter().chain(&states).cloned().collect();
        match fits(header, together.clone()) {
            Ok(()) => kept = together,
            Err(error) => lost.push((states.len() as u64, format!("{name}: {error}"))),
        }
    }
    kept
}

/// A verified record and where it ends.
fn record_at(bytes: &[u8], at: usize, kind: [u8; 4]) -> Option<(&[u8], usize)> {
    let prefix: &[u8; PREFIX] = bytes.get(at..at + PREFIX)?.try_into().ok()?;
    let len = record::declared(prefix, kind).ok()?;
    let text = bytes.get(at + PREFIX..at.checked_add(PREFIX + len)?)?;
    record::verify(prefix, kind, text).ok()?;
    Some((text, at + PREFIX + len))
}
