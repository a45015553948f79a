//! The file of a part: a record with the frames of the submap and the packed columns of what it added.
//!
//! Columns are packed by Pcodec: most of the numbers are noise of few bits, and of many rows with a single point there is
//! no spread to tell.

use e2bki::submaps::{Part, SubmapFrame};
use e2bki::{Pose, PrimitiveState};
use pco::standalone::{simple_compress, simple_decompress_into};
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
    for (number, column) in all.enumerate() {
        let packed = pack(column, ORDERED.contains(&number)).map_err(|error| format!("cannot pack it: {error}"))?;
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

fn unpack(packed: &[u8], count: usize) -> Result<Vec<i64>, String> {
    let mut column = vec![0; count];
    let progress = simple_decompress_into(packed, &mut column).map_err(|error| format!("a column: {error}"))?;
    if progress.n_processed != count || !progress.finished {
        return Err("a column does not hold as many values as there are rows".into());
    }
    Ok(column)
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
    // Every row has a position of its own, which no packing makes smaller than a byte.
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
