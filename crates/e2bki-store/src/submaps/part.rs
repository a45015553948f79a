//! The file of a part: a record with the frames of the submap and the packed columns of what it added.
//!
//! Columns are packed by Pcodec: most of the numbers are noise of few bits, and of many rows with a single point there is
//! no spread to tell.

use e2bki::submaps::{Part, SubmapFrame};
use e2bki::{Pose, PrimitiveState};
use pco::standalone::{DecompressorItem, FileDecompressor, simple_compress};
use pco::{ChunkConfig, DeltaSpec, ModeSpec};

use super::columns::{Columns, FIXED, columns_of, states_of};
use crate::file::{delta_decode, unwrap_part, wrap_part};

/// Most rows of a part: a bound on what a made-up file can ask for.
const MOST_ROWS: usize = 1 << 28;

/// Bytes of a frame: its number, whether it has a time, the time, a rotation and a translation.
const FRAME: usize = 8 + 1 + 8 + 12 * 8;

/// A part's file.
pub(super) fn encode(part: &Part, frames: &[SubmapFrame]) -> Result<Vec<u8>, String> {
    let columns = columns_of(part.states()).map_err(|row| format!("sum {row} is not a whole number of its quanta"))?;
    let mut bytes = Vec::new();
    for count in [frames.len(), part.len(), columns.class.len()] {
        bytes.extend((count as u64).to_le_bytes());
    }
    for frame in frames {
        bytes.extend(frame.number.to_le_bytes());
        bytes.push(u8::from(frame.time.is_some()));
        bytes.extend(frame.time.unwrap_or(0.0).to_le_bytes());
        let (rotation, translation) = (frame.world_from_sensor.rotation(), frame.world_from_sensor.translation());
        rotation.as_flattened().iter().chain(&translation).for_each(|v| bytes.extend(v.to_le_bytes()));
    }
    let frames: Vec<i64> = part.frame_sums().iter().map(|sum| sum.cast_signed()).collect();
    bytes.push(u8::from(!frames.is_empty()));
    let all = columns.fixed.iter().chain([&columns.class, &columns.evidence]).chain([&frames]);
    let start = bytes.len();
    for (number, column) in all.enumerate() {
        let mut packed = pack(column, ORDERED.contains(&number)).map_err(|error| format!("cannot pack it: {error}"))?;
        if number == FIXED + 2 {
            // Rows that are all alike take no bytes at all, and readers refuse more rows than bytes: filled up after the end.
            let written = bytes.len() + packed.len() - start;
            packed.resize(packed.len() + part.len().saturating_sub(written), 0);
        }
        bytes.extend((packed.len() as u64).to_le_bytes());
        bytes.extend(packed);
    }
    Ok(wrap_part(&bytes))
}

/// Columns whose neighbours are alike, since rows are by ascending cube: the corners of cubic metres.
const ORDERED: std::ops::Range<usize> = 1..4;

fn pack(column: &[i64], ordered: bool) -> Result<Vec<u8>, pco::errors::PcoError> {
    let delta = if ordered { DeltaSpec::TryConsecutive(1) } else { DeltaSpec::NoOp };
    let config = ChunkConfig::default().with_mode_spec(ModeSpec::Classic).with_delta_spec(delta);
    simple_compress(column, &config)
}

/// The ways of packing that [`pack`] uses, as the second word of a chunk says them: plain numbers, or their differences. Others
/// ask for memory by a number in the chunk: a dictionary, a window to look back into.
const WAYS: [u8; 2] = [0x00, 0x10];

/// Where a chunk says its way: after the type of its numbers and how many there are.
const WAY_AT: usize = 4;

/// What stands in place of a type after the last chunk.
const END: u8 = 0;

fn unpack(packed: &[u8], count: usize) -> Result<Vec<i64>, String> {
    let bad = |error: pco::errors::PcoError| format!("a column: {error}");
    let wrong = || "a column does not hold as many values as there are rows".to_string();
    let (file, mut rest) = FileDecompressor::new(packed).map_err(bad)?;
    let mut column = vec![0; count];
    let mut filled = 0;
    loop {
        if rest.first() != Some(&END) && rest.get(WAY_AT).is_some_and(|way| !WAYS.contains(way)) {
            return Err("a column is packed in a way that no part is".into());
        }
        let mut chunk = match file.chunk_decompressor::<i64, &[u8]>(rest).map_err(bad)? {
            DecompressorItem::Chunk(chunk) => chunk,
            DecompressorItem::EndOfData(_) if filled == count => return Ok(column),
            DecompressorItem::EndOfData(_) => return Err(wrong()),
        };
        let space = column.get_mut(filled..filled + chunk.n()).ok_or_else(wrong)?;
        let progress = chunk.read(space).map_err(bad)?;
        if !progress.finished {
            return Err(wrong());
        }
        filled += progress.n_processed;
        rest = chunk.into_src();
    }
}

/// What a part's file holds: frames, states, and the sums of frame numbers of every state (or none).
pub(super) type Decoded = (Vec<SubmapFrame>, Vec<PrimitiveState>, Vec<u64>);

/// Reads a part's file.
pub(super) fn decode(file: &[u8], classes: usize) -> Result<Decoded, String> {
    let (bytes, old) = unwrap_part(file)?;
    let mut bytes = Bytes(bytes);
    let [frames, rows, entries] = [bytes.count()?, bytes.count()?, bytes.count()?];
    if frames > bytes.0.len() / FRAME || rows > MOST_ROWS || entries > rows.saturating_mul(classes) {
        return Err(format!("{frames} frames, {rows} rows and {entries} entries cannot be in it"));
    }
    let frames = (0..frames).map(|_| frame(bytes.take(FRAME)?)).collect::<Result<Vec<_>, String>>()?;
    // A file may not ask for more than it has bytes: `encode` fills it up.
    if !old && rows.max(entries / classes.max(1)) > bytes.0.len() {
        return Err(format!("{rows} rows cannot be in {} bytes", bytes.0.len()));
    }
    let dated = !old && bytes.take(1)? != [0];
    let mut column = |count: usize| -> Result<Vec<i64>, String> {
        let length = bytes.count()?;
        let packed = bytes.take(length)?;
        if old { Ok(delta_decode(packed, count)?) } else { unpack(packed, count) }
    };
    let fixed = (0..FIXED).map(|_| column(rows)).collect::<Result<Vec<_>, String>>()?;
    let columns = Columns { fixed, class: column(entries)?, evidence: column(entries)? };
    let sums = if old { Vec::new() } else { column(if dated { rows } else { 0 })? };
    if !bytes.0.is_empty() {
        return Err("bytes are left over".into());
    }
    Ok((frames, states_of(&columns, rows, classes)?, sums.into_iter().map(i64::cast_unsigned).collect()))
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or("it is too short")?;
        self.0 = rest;
        Ok(taken)
    }

    fn count(&mut self) -> Result<usize, String> {
        usize::try_from(u64::from_le_bytes(eight(self.take(8)?))).map_err(|_| "a count is too large".to_string())
    }
}

fn eight(bytes: &[u8]) -> [u8; 8] {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[..8]);
    word
}

fn frame(bytes: &[u8]) -> Result<SubmapFrame, String> {
    let number = u64::from_le_bytes(eight(bytes));
    let float = |at: usize| f64::from_le_bytes(eight(&bytes[at..]));
    let time = (bytes[8] != 0).then(|| float(9)).filter(|time| time.is_finite());
    let values: [f64; 12] = std::array::from_fn(|i| float(17 + 8 * i));
    let world_from_sensor = pose_of(&values).map_err(|error| format!("frame {number}: {error}"))?;
    Ok(SubmapFrame { number, time, world_from_sensor })
}

/// A pose of nine numbers of a rotation and three of a translation.
pub(super) fn pose_of(values: &[f64; 12]) -> e2bki::Result<Pose> {
    let rotation = std::array::from_fn(|i| std::array::from_fn(|j| values[3 * i + j]));
    Pose::restored(rotation, [values[9], values[10], values[11]])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test may fail loudly

    use super::*;
    use e2bki::primitive::Sums;

    /// Cubes along a line with one point each, all in the same place of their cube and seen from as far.
    fn alike(rows: i32) -> Part {
        let state = |i: i32| PrimitiveState {
            id: i as u64,
            muted: false,
            sums: Sums {
                weight: 1.0,
                first: [0.125, 0.125, 0.125],
                second: [1 << 26; 6],
                range: 5.0,
                ..Sums::about([i, 0, 0])
            },
            log_evidence: vec![0, 77],
        };
        Part::of_states(2, 0.25, &(0..rows).map(state).collect::<Vec<_>>(), &[]).unwrap()
    }

    #[test]
    fn rows_that_pack_into_nearly_nothing_are_read_again() {
        for rows in [1, 300, 20_000] {
            let part = alike(rows);
            let file = encode(&part, &[]).unwrap();
            assert!(file.len() > rows as usize && file.len() < rows as usize + 2000, "{}", file.len());
            let (frames, states, sums) = decode(&file, 2).unwrap();
            assert!(frames.is_empty() && sums.is_empty() && part.states().eq(states));
        }
    }

    #[test]
    fn columns_are_unpacked_as_they_are_packed_and_in_no_other_way() {
        // More than one chunk.
        let column: Vec<i64> = (0..600_000).map(|i| i * i % 1009 - (i << 20)).collect();
        for ordered in [false, true] {
            let packed = pack(&column, ordered).unwrap();
            assert_eq!(unpack(&packed, column.len()).unwrap(), column);
            assert!(unpack(&packed, column.len() - 1).is_err() && unpack(&packed, column.len() + 1).is_err());
        }
        // A dictionary of as many numbers as can be said, which the file does not have.
        let packed = pack(&[1, 2, 3], false).unwrap();
        let start = packed.len() - FileDecompressor::new(&packed[..]).unwrap().1.len();
        assert_eq!(packed[start + WAY_AT], WAYS[0]);
        let mut dictionary = packed.clone();
        dictionary[start + WAY_AT..][..4].copy_from_slice(&[0xf4, 0xff, 0xff, 0x1f]);
        assert!(unpack(&dictionary, 3).unwrap_err().contains("in a way that no part is"));
        assert!(unpack(&pack(&[], true).unwrap(), 0).unwrap().is_empty());
    }
}
