//! Writing map files.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use e2bki::{Mapper, PrimitiveState};
use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use super::columns::columns;
use super::header::{Header, Index, TileInfo};
use super::parquet::{RowGroups, footer};
use super::tile::{Encoded, MOST_ROWS, encode_tile, tile_of};
use super::{MAGIC, hash, record};
use crate::atomic::{write_atomically, write_atomically_on};
use crate::disk::{SharedDisk, real};
use crate::error::{Error, Result};
use crate::submaps::{Beside, map_hash};

/// Row groups that are encoded at the same time: enough for all cores, few enough to fit in memory beside those that are written.
fn at_once() -> usize {
    rayon::current_num_threads().clamp(4, 16)
}

/// Saves a map to a file: the whole map, or nothing. Its source is named by a hash of its contents.
pub fn save(map: &Mapper, path: impl AsRef<Path>) -> Result<Header> {
    save_with(map, &[], path)
}

/// Saves a map with the names of the drives that it was made of, so that no drive is merged twice unnoticed.
pub fn save_with(map: &Mapper, sources: &[String], path: impl AsRef<Path>) -> Result<Header> {
    save_on(&real(), map, sources, path.as_ref())
}

pub(crate) fn save_on(disk: &SharedDisk, map: &Mapper, sources: &[String], path: &Path) -> Result<Header> {
    if map.config().views.posterior != e2bki::config::Posterior::Refined {
        return Err(Error::Refused(
            "a map with an accumulated posterior cannot be saved: it is not made of primitives".into(),
        ));
    }
    let list = map.state_list();
    let mut placed: Vec<Placed> = list.origins().into_iter().map(tile_of).zip(0..).collect();
    // Stable: within a tile they stay in their order.
    placed.par_sort_by_key(|(tile, _)| *tile);
    let mut header = Header::of(map, sources).in_file(placed.len() as u64);
    let numbered = header.cubes().is_some();
    // Row groups, with the number of their first row.
    let mut first = 0;
    let mut groups: Vec<(usize, &[Placed])> = Vec::new();
    for group in placed.chunk_by(|a, b| a.0 == b.0).flat_map(|tile| tile.chunks(MOST_ROWS)) {
        groups.push((first, group));
        first += group.len();
    }
    let states_of = |(first, group): &(usize, &[Placed])| {
        let mut states = list.read(group.iter().map(|(_, number)| *number));
        if numbered {
            states.iter_mut().zip(*first as u64..).for_each(|(state, row)| state.id = row);
        }
        states
    };
    if header.sources.is_empty() && !map.is_empty() {
        header.sources = vec![name_of(groups.par_iter().map(|group| content_hash(&states_of(group))).collect())];
    }
    let states = |group: &(usize, &[Placed])| Ok((group.1[0].0, Cow::Owned(states_of(group))));
    let beside = Beside::write(map, path)?;
    let hash = write_atomically_on(disk, path, |out| {
        let hash = map_hash(&header, &write_map(out, path, &header, &groups, states)?);
        beside.iter().try_for_each(|beside| beside.commit(hash))?;
        Ok(hash)
    })?;
    beside.iter().for_each(|beside| beside.sweep(hash));
    Ok(header)
}

/// The tile of a primitive, and its number in the map.
type Placed = ([i32; 2], usize);

/// Hash of the primitives of a row group: ids, means and log-evidence.
fn content_hash(states: &[PrimitiveState]) -> u64 {
    let mut bytes = Vec::new();
    for state in states {
        bytes.extend(state.id.to_le_bytes());
        bytes.extend(state.sums.mean().iter().chain(&state.log_evidence_f64()).flat_map(|v| v.to_le_bytes()));
    }
    hash(&bytes)
}

/// A name for a map whose drives were not named, from the hashes of its row groups.
fn name_of(hashes: Vec<u64>) -> String {
    let bytes: Vec<u8> = hashes.into_iter().flat_map(u64::to_le_bytes).collect();
    format!("unnamed-{:016x}", hash(&bytes))
}

/// Saves a map whose tiles are read when they are needed, some at a time: the same bytes as [`save_with`] writes. `tiles`
/// are tiles with their numbers of rows, ascending; `read` gives the primitives of one by ascending id, `free` the counters.
pub(crate) fn save_tiles(
    header: Header,
    tiles: &[([i32; 2], u64)],
    read: impl Fn([i32; 2]) -> Result<Vec<PrimitiveState>> + Sync,
    free: Option<FreeParts>,
    path: &Path,
    beside: Option<&Beside>,
) -> Result<Header> {
    // A crowded tile is several row groups: its number is that of the group in it.
    let groups: Vec<([i32; 2], usize)> = tiles
        .iter()
        .flat_map(|(tile, rows)| (0..(*rows as usize).div_ceil(MOST_ROWS)).map(move |number| (*tile, number)))
        .collect();
    let states_of = |(tile, number): &([i32; 2], usize)| -> Result<([i32; 2], Cow<'_, [PrimitiveState]>)> {
        let states: Vec<PrimitiveState> = read(*tile)?.into_iter().skip(number * MOST_ROWS).take(MOST_ROWS).collect();
        Ok((*tile, Cow::Owned(states)))
    };
    let mut header = header.in_file(tiles.iter().map(|(_, rows)| rows).sum());
    if header.sources.is_empty() && !groups.is_empty() {
        let hash_of = |group| -> Result<u64> { Ok(content_hash(&states_of(group)?.1)) };
        header.sources = vec![name_of(groups.par_iter().map(hash_of).collect::<Result<_>>()?)];
    }
    let hash = write_atomically(path, |out| {
        let hash = map_hash(&header, &write_parts(out, path, &header, &groups, states_of, free)?);
        beside.iter().try_for_each(|beside| beside.commit(hash))?;
        Ok(hash)
    })?;
    beside.iter().for_each(|beside| beside.sweep(hash));
    Ok(header)
}

/// Puts primitives in the order of files: by tile, then by id or, with the side of the cubes of a sum, by place and
/// class. Those of a sum are numbered from `first` on.
pub(crate) fn put_in_order(states: &mut [PrimitiveState], cubes: Option<f64>, first: u64) {
    match cubes {
        None => states.par_sort_unstable_by_key(|state| (tile_of(state.sums.origin), state.id)),
        Some(side) => {
            states.par_sort_by_cached_key(|state| (tile_of(state.sums.origin), state.rank(side)));
            states.iter_mut().zip(first..).for_each(|(state, row)| state.id = row);
        }
    }
}

/// Primitives in the order of files, in row groups.
pub(crate) fn grouped(mut states: Vec<PrimitiveState>, cubes: Option<f64>) -> Vec<([i32; 2], Vec<PrimitiveState>)> {
    put_in_order(&mut states, cubes, 0);
    let mut groups: Vec<([i32; 2], Vec<PrimitiveState>)> = Vec::new();
    for state in states {
        let tile = tile_of(state.sums.origin);
        match groups.last_mut() {
            Some((last, group)) if *last == tile && group.len() < MOST_ROWS => group.push(state),
            _ => groups.push((tile, vec![state])),
        }
    }
    groups
}

/// Saves primitives under a header: for maps that are not in memory as a whole.
pub(crate) fn save_states(header: &Header, states: Vec<PrimitiveState>, path: &Path) -> Result<Vec<TileInfo>> {
    let header = &header.in_file(states.len() as u64);
    let groups = grouped(states, header.cubes());
    write_atomically(path, |out| {
        write_map(out, path, header, &groups, |(tile, states)| Ok((*tile, Cow::Borrowed(states.as_slice()))))
    })
}

/// The bytes of a map file of some primitives, in any order, under a header.
pub fn bytes_of_states(header: &Header, states: Vec<PrimitiveState>) -> Result<Vec<u8>> {
    let header = &header.in_file(states.len() as u64);
    let groups = grouped(states, header.cubes());
    let mut bytes = Vec::new();
    write_map(&mut bytes, Path::new("memory"), header, &groups, |(tile, states)| {
        Ok((*tile, Cow::Borrowed(states.as_slice())))
    })?;
    Ok(bytes)
}

/// Saves a map under a header other than its own, with its submaps.
pub fn save_under(header: &Header, map: &Mapper, path: &Path) -> Result<()> {
    let header = &header.in_file(map.len() as u64);
    let groups = grouped(map.states().collect(), header.cubes());
    let beside = Beside::write(map, path)?;
    let hash = write_atomically(path, |out| {
        let tiles =
            write_map(out, path, header, &groups, |(tile, states)| Ok((*tile, Cow::Borrowed(states.as_slice()))))?;
        let hash = map_hash(header, &tiles);
        beside.iter().try_for_each(|beside| beside.commit(hash))?;
        Ok(hash)
    })?;
    beside.iter().for_each(|beside| beside.sweep(hash));
    Ok(())
}

/// Gives the bytes of counters of free space part by part: the same every time, since it is asked twice (a record begins
/// with the hash of its bytes).
pub(crate) type FreeParts<'a> = &'a dyn Fn(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;

/// Writes a map whose row groups are made when they are needed.
pub(crate) fn write_map<'g, G: Sync>(
    out: &mut (impl Write + Send),
    path: &Path,
    header: &Header,
    groups: &'g [G],
    states_of: impl Fn(&'g G) -> Result<([i32; 2], Cow<'g, [PrimitiveState]>)> + Sync,
) -> Result<Vec<TileInfo>> {
    match &header.free_space {
        None => write_parts(out, path, header, groups, states_of, None),
        Some(bytes) => write_parts(out, path, header, groups, states_of, Some(&|put| put(bytes))),
    }
}

/// The same with counters of free space that are made when they are needed.
fn write_parts<'g, G: Sync>(
    out: &mut (impl Write + Send),
    path: &Path,
    header: &Header,
    groups: &'g [G],
    states_of: impl Fn(&'g G) -> Result<([i32; 2], Cow<'g, [PrimitiveState]>)> + Sync,
    free: Option<FreeParts>,
) -> Result<Vec<TileInfo>> {
    let mut offset = 0;
    let mut put = |bytes: &[u8]| -> Result<u64> {
        out.write_all(bytes).map_err(Error::io("write", path))?;
        offset += bytes.len() as u64;
        Ok(offset)
    };
    let text = header.to_json()?;
    put(&MAGIC)?;
    let mut end = put(&record::wrap(record::HEAD, text.as_bytes()))?;
    let columns = columns(header.classes.len());
    let mut row_groups = RowGroups::new(&columns);
    let mut tiles: Vec<TileInfo> = Vec::with_capacity(groups.len());
    let encode = |portion: &'g [G]| -> Vec<Result<Encoded>> {
        let each = |group| {
            let (tile, states) = states_of(group)?;
            encode_tile(tile, &states, header)
        };
        portion.par_iter().map(each).collect()
    };
    // While one portion is written, the next is encoded.
    let mut portions = groups.chunks(at_once());
    let mut encoded = portions.next().map(encode);
    while let Some(portion) = encoded {
        let write = || -> Result<()> {
            for tile in portion {
                let tile = tile?;
                let info = TileInfo { offset: end, ..tile.info };
                let start = put(&record::wrap(record::TILE, &json(&info)?))?;
                end = put(&tile.bytes)?;
                row_groups.push(&info, start, &tile.chunks);
                tiles.push(info);
            }
            Ok(())
        };
        let (written, next) = rayon::join(write, || portions.next().map(encode));
        written?;
        encoded = next;
    }
    let free_space = match free {
        None => None,
        Some(free) => {
            let at = end;
            let (mut sum, mut len) = (Xxh3::new(), 0_usize);
            free(&mut |part| {
                len += part.len();
                sum.update(part);
                Ok(())
            })?;
            let len = u32::try_from(len).map_err(|_| {
                Error::Refused(format!("the counters of free space ({len} bytes) are too large for one file"))
            })?;
            end = put(&record::prefix(record::FREE, len, sum.digest()))?;
            free(&mut |part| {
                end = put(part)?;
                Ok(())
            })?;
            if end - at != record::PREFIX as u64 + u64::from(len) {
                return Err(Error::Refused("the counters of free space changed while they were written".into()));
            }
            Some(at)
        }
    };
    let footer = footer(row_groups, &text);
    let index = Index { header: text, footer_hash: hash(&footer), footer_len: footer.len() as u32, tiles, free_space };
    put(&record::wrap(record::INDEX, &json(&index)?))?;
    put(&record::end(end))?;
    put(&footer)?;
    put(&(footer.len() as u32).to_le_bytes())?;
    put(&MAGIC)?;
    Ok(index.tiles)
}

fn json(value: &impl serde::Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|e| Error::Refused(format!("cannot write a record: {e}")))
}
