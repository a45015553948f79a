//! Writing map files.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use e2bki::{Mapper, Primitive, PrimitiveState};
use rayon::prelude::*;

use super::columns::columns;
use super::header::{Header, Index, TileInfo};
use super::parquet::{RowGroup, footer};
use super::tile::{MOST_ROWS, encode_tile, tile_of};
use super::{MAGIC, hash, record};
use crate::atomic::write_atomically;
use crate::error::{Error, Result};

/// Row groups that are encoded at the same time: enough for all cores, few enough to fit in memory.
const AT_ONCE: usize = 16;

/// Saves a map to a file: the whole map, or nothing. Its source is named by a hash of its contents.
pub fn save(map: &Mapper, path: impl AsRef<Path>) -> Result<Header> {
    save_with(map, &[], path)
}

/// Saves a map with the names of the drives that it was made of, so that no drive is merged twice unnoticed.
pub fn save_with(map: &Mapper, sources: &[String], path: impl AsRef<Path>) -> Result<Header> {
    let path = path.as_ref();
    if map.config().posterior != e2bki::config::Posterior::Refined {
        return Err(Error::Refused(
            "a map with an accumulated posterior cannot be saved: it is not made of primitives".into(),
        ));
    }
    let mut primitives: Vec<([i32; 2], Primitive<'_>)> =
        map.primitives().map(|primitive| (tile_of(primitive.sums().origin), primitive)).collect();
    // Stable: within a tile they stay by ascending id.
    primitives.par_sort_by_key(|(tile, _)| *tile);
    let groups: Vec<&[([i32; 2], Primitive<'_>)]> =
        primitives.chunk_by(|a, b| a.0 == b.0).flat_map(|tile| tile.chunks(MOST_ROWS)).collect();
    let mut header = Header::of(map, sources);
    if header.sources.is_empty() && !map.is_empty() {
        header.sources = vec![content_name(map)];
    }
    let states = |group: &&[([i32; 2], Primitive<'_>)]| {
        (group[0].0, Cow::Owned(group.iter().map(|(_, primitive)| primitive.state()).collect::<Vec<_>>()))
    };
    write_atomically(path, |out| write_map(out, path, &header, &groups, states))?;
    Ok(header)
}

/// A name for a map whose drives were not named.
fn content_name(map: &Mapper) -> String {
    let mut sum = xxhash_rust::xxh3::Xxh3::new();
    let mut bytes = Vec::new();
    for primitive in map.primitives() {
        bytes.clear();
        bytes.extend(primitive.id().to_le_bytes());
        bytes.extend(primitive.mean().iter().chain(primitive.log_evidence()).flat_map(|value| value.to_le_bytes()));
        sum.update(&bytes);
    }
    format!("unnamed-{:016x}", sum.digest())
}

/// Primitives by tile and id, in row groups.
pub(crate) fn grouped(mut states: Vec<PrimitiveState>) -> Vec<([i32; 2], Vec<PrimitiveState>)> {
    states.par_sort_unstable_by_key(|state| (tile_of(state.sums.origin), state.id));
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
    let groups = grouped(states);
    write_atomically(path, |out| {
        write_map(out, path, header, &groups, |(tile, states)| (*tile, Cow::Borrowed(states.as_slice())))
    })
}

/// Writes a map whose row groups are made when they are needed.
pub(crate) fn write_map<'g, G: Sync>(
    out: &mut impl Write,
    path: &Path,
    header: &Header,
    groups: &'g [G],
    states_of: impl Fn(&'g G) -> ([i32; 2], Cow<'g, [PrimitiveState]>) + Sync,
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
    let mut placed: Vec<RowGroup> = Vec::with_capacity(groups.len());
    for portion in groups.chunks(AT_ONCE) {
        let encoded: Vec<_> = portion
            .par_iter()
            .map(|group| {
                let (tile, states) = states_of(group);
                encode_tile(tile, &states, header)
            })
            .collect();
        for tile in encoded {
            let tile = tile?;
            let info = TileInfo { offset: end, ..tile.info };
            let start = put(&record::wrap(record::TILE, &json(&info)?))?;
            end = put(&tile.bytes)?;
            placed.push(RowGroup { info, start, chunks: tile.chunks });
        }
    }
    let footer = footer(&columns(header.classes.len()), &placed, &text);
    let tiles: Vec<TileInfo> = placed.into_iter().map(|group| group.info).collect();
    let index = Index { header: text, footer_hash: hash(&footer), footer_len: footer.len() as u32, tiles };
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
