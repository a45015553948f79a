//! A tile: primitives to columns of bytes and back.

use std::path::Path;

use e2bki::maths::mahalanobis_threshold_3d;
use e2bki::primitive::EIGENVALUE_FLOOR_M2;
use e2bki::{PrimitiveState, TILE_M};

use super::columns::{Kind, columns, states_of, values_of};
use super::header::{Header, TileInfo};
use super::parquet::{Chunk, encode, page_data};
use super::{delta, hash};
use crate::error::{Error, Result};

/// Most rows of a row group: what is decoded at once stays small.
pub(super) const MOST_ROWS: usize = 1 << 17;

/// The tile of a block corner: where a primitive belongs.
pub(crate) fn tile_of(origin: [i32; 3]) -> [i32; 2] {
    [origin[0].div_euclid(TILE_M), origin[1].div_euclid(TILE_M)]
}

/// A tile as it goes into a file, not yet placed.
pub(super) struct Encoded {
    pub(super) info: TileInfo,
    pub(super) chunks: Vec<Chunk>,
    pub(super) bytes: Vec<u8>,
}

/// Encodes primitives of one tile, by ascending id.
pub(super) fn encode_tile(tile: [i32; 2], states: &[PrimitiveState], header: &Header) -> Result<Encoded> {
    let values = values_of(states, header.classes.len(), header.config.lifetime_correlation())?;
    let mut chunks: Vec<Chunk> = values.iter().map(|values| encode(values, header.classes.names())).collect();
    let mut bytes = Vec::new();
    let mut lengths = Vec::new();
    for chunk in &mut chunks {
        let taken = chunk.take_bytes();
        lengths.push(taken.len() as u32);
        bytes.extend(taken);
    }
    let (low, high) = support_of(states, header);
    let info = TileInfo { tile, rows: states.len() as u32, offset: 0, lengths, hash: hash(&bytes), low, high };
    Ok(Encoded { info, chunks, bytes })
}

/// The box outside of which no belief depends on the primitives, in whole metres.
fn support_of(states: &[PrimitiveState], header: &Header) -> ([i32; 3], [i32; 3]) {
    let reach = header.config.longest_influence();
    // Kernels end at their reach, or at its root where they take the squared distance for a length.
    let reach = reach.max(reach.sqrt());
    let tau = mahalanobis_threshold_3d(header.config.kernel.ellipsoid_mass);
    let (mut low, mut high) = ([i32::MAX; 3], [i32::MIN; 3]);
    for state in states {
        let covariance = state.sums.covariance();
        // No axis is longer than the root of the trace.
        let variance = (covariance[0] + covariance[1] + covariance[2]).max(EIGENVALUE_FLOOR_M2);
        let half = ((tau * variance).sqrt() + reach) * 1.001 + 0.001;
        for (i, mean) in state.sums.mean().into_iter().enumerate() {
            low[i] = low[i].min((mean - half).floor() as i32);
            high[i] = high[i].max((mean + half).ceil() as i32);
        }
    }
    if states.is_empty() { ([0; 3], [0; 3]) } else { (low, high) }
}

/// Checks what is declared of a tile before anything is read or made room for.
pub(super) fn plausible(info: &TileInfo, classes: usize) -> std::result::Result<(), String> {
    let rows = info.rows as usize;
    if rows == 0 || rows > MOST_ROWS {
        return Err(format!("it declares {rows} rows; allowed: 1 to {MOST_ROWS}"));
    }
    let columns = columns(classes);
    if info.lengths.len() != columns.len() {
        return Err(format!("it declares {} columns; {} are needed", info.lengths.len(), columns.len()));
    }
    for ((name, kind), length) in columns.iter().zip(&info.lengths) {
        let least = match kind {
            Kind::Double => 8 * rows,
            Kind::Float => 4 * rows,
            Kind::Flag | Kind::Class => rows.div_ceil(8),
            Kind::Whole => 5 * (rows - 1).div_ceil(128),
        };
        if (*length as usize) < least {
            return Err(format!("column {name} has {length} bytes for {rows} rows"));
        }
    }
    Ok(())
}

/// Decodes a tile whose description was found plausible. `at` is where the bytes stand in the file.
pub(super) fn decode_tile(
    info: &TileInfo,
    bytes: &[u8],
    classes: usize,
    path: &Path,
    at: u64,
) -> Result<Vec<PrimitiveState>> {
    let part = || format!("tile {:?}", info.tile);
    let damaged = |offset: u64, what: String| Error::Damaged { path: path.into(), part: part(), offset, what };
    if bytes.len() as u64 != info.bytes() || hash(bytes) != info.hash {
        return Err(damaged(at, "its hash does not match".into()));
    }
    let (rows, names) = (info.rows as usize, columns(classes));
    let data = |column: usize, kind: Kind| -> Result<(u64, &[u8])> {
        let start: usize = info.lengths[..column].iter().map(|length| *length as usize).sum();
        let found = page_data(kind, rows, &bytes[start..start + info.lengths[column] as usize]);
        let what = || format!("column {} does not begin with the page that it should", names[column].0);
        found.map(|data| (at + start as u64, data)).ok_or_else(|| damaged(at + start as u64, what()))
    };
    let whole = |column: usize| {
        let (offset, data) = data(column, Kind::Whole)?;
        delta::decode(data, rows).map_err(|what| damaged(offset, format!("column {}: {what}", names[column].0)))
    };
    let flags = |column: usize| {
        let (offset, data) = data(column, Kind::Flag)?;
        if data.len() != rows.div_ceil(8) {
            return Err(damaged(
                offset,
                format!("column {} has {} bytes for {rows} rows", names[column].0, data.len()),
            ));
        }
        Ok((0..rows).map(|i| data[i / 8] >> (i % 8) & 1 == 1).collect())
    };
    let states = states_of(rows, classes, whole, flags)?;
    match states.iter().find(|state| tile_of(state.sums.origin) != info.tile) {
        Some(state) => Err(damaged(at, format!("the primitive with id {} belongs to another tile", state.id))),
        None => Ok(states),
    }
}
