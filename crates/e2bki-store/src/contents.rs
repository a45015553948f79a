//! A hash of what a map holds, whatever file or folder it is in, whoever wrote it, and however it came to be.

use std::path::Path;

use e2bki::{Mapper, PrimitiveState};
use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_128;

use crate::error::Result;
use crate::file::{Header, MapFile, put_in_order, tile_of};
use crate::folder::{Folder, is_folder};

/// Hash of what is in a map file or folder: classes, parameters, number of frames, primitives, counters of free space. Not
/// in it: names of drives, ids, threads, live views, the version that wrote it. Maps of the same frames have the same hash
/// if they are sums ([`Config::not_a_sum`](e2bki::Config::not_a_sum)), whatever the order of frames and merges.
pub fn content_hash(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    if is_folder(path) {
        let folder = Folder::open(path)?;
        let keys: Vec<[i32; 2]> = folder.tiles.keys().copied().collect();
        return hash_of(folder.header(), &keys, |tile| folder.read(tile));
    }
    let mut file = MapFile::open(path)?;
    let header = file.header().clone();
    let states = file.read_tiles(|_| true)?;
    hash_of_states(&header, states)
}

/// The same of a map in memory.
pub fn content_hash_of(map: &Mapper) -> Result<String> {
    hash_of_states(&Header::of(map, &[]), map.states().collect())
}

fn hash_of_states(header: &Header, mut states: Vec<PrimitiveState>) -> Result<String> {
    put_in_order(&mut states, header.cubes(), 0);
    let tiles: Vec<&[PrimitiveState]> =
        states.chunk_by(|a, b| tile_of(a.sums.origin) == tile_of(b.sums.origin)).collect();
    let keys: Vec<[i32; 2]> = tiles.iter().map(|tile| tile_of(tile[0].sums.origin)).collect();
    let read = |key: [i32; 2]| Ok(keys.binary_search(&key).map_or(Vec::new(), |at| tiles[at].to_vec()));
    hash_of(header, &keys, read)
}

/// Hash of tiles that are read when they are needed, ascending.
fn hash_of(
    header: &Header,
    tiles: &[[i32; 2]],
    read: impl Fn([i32; 2]) -> Result<Vec<PrimitiveState>> + Sync,
) -> Result<String> {
    let tile = |tile: &[i32; 2]| {
        let mut states = read(*tile)?;
        put_in_order(&mut states, header.cubes(), 0);
        let mut bytes = Vec::new();
        states.iter().for_each(|state| put(state, &mut bytes));
        Ok((states.len() as u64, xxh3_128(&bytes)))
    };
    let hashes = tiles.par_iter().map(tile).collect::<Result<Vec<(u64, u128)>>>()?;
    let rows = hashes.iter().map(|(rows, _)| rows).sum();
    let header = header.in_file(rows);
    let mut bytes = Vec::new();
    let config = header.config.with(|c| {
        let start = e2bki::Config::default();
        (c.run.threads, c.views.live_voxels) = (start.run.threads, start.views.live_voxels);
    });
    for text in header.classes.names().iter().chain([&config.to_flat_toml()]) {
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes.extend(header.frames.to_le_bytes());
    let free_space = header.free_space.as_deref().unwrap_or(&[]);
    bytes.extend(xxh3_128(free_space).to_le_bytes());
    for (tile, (rows, hash)) in tiles.iter().zip(hashes) {
        bytes.extend(tile.iter().flat_map(|v| v.to_le_bytes()));
        bytes.extend(rows.to_le_bytes());
        bytes.extend(hash.to_le_bytes());
    }
    Ok(format!("{:032x}", xxh3_128(&bytes)))
}

fn put(state: &PrimitiveState, bytes: &mut Vec<u8>) {
    let sums = &state.sums;
    bytes.push(u8::from(state.muted));
    bytes.extend(sums.origin.iter().flat_map(|v| v.to_le_bytes()));
    let numbers = sums.first.iter().chain([&sums.weight, &sums.range]);
    // Adding zero makes a negative zero, which a file does not keep, an ordinary one.
    bytes.extend(numbers.flat_map(|v| (v + 0.0).to_le_bytes()));
    bytes.extend(sums.second.iter().chain(&state.log_evidence).flat_map(|v| v.to_le_bytes()));
}
