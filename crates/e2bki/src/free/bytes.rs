//! Counters as bytes, to be kept: blocks in ascending order, numbers in as few bytes as they need. Equal counters are equal
//! bytes, and bytes that no counters give are refused.

use std::ops::Range;

use super::block::{Block, Fine};
use super::cells::Cells;
use super::counters::{Counters, MAX_FRAMES};
use super::cubes::BlockKey;
use super::moments::Moments;
use super::settings::BLOCK_M;
use crate::error::{Error, Result};
use crate::pose::WORLD_LIMIT_M;

/// Version of this form without times, and with them.
const VERSION: u8 = 1;
const WITH_TIMES: u8 = 2;

/// What the bytes of counters say before their blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CountersHead {
    /// Whether any block has times.
    timed: bool,
    frames: u64,
    blocks: u64,
}

impl CountersHead {
    /// Of such bytes, which are read once, with the slabs of their blocks by ascending first coordinate.
    pub fn of_bytes(bytes: &[u8]) -> Result<(Self, Vec<CountersSlab>)> {
        let mut slabs: Vec<CountersSlab> = Vec::new();
        let head = Reader::each(bytes, |key, _, before, bytes| match slabs.last_mut() {
            Some(slab) if slab.x == key[0] => slab.bytes.end = bytes.end,
            _ => slabs.push(CountersSlab { x: key[0], bytes, before, timed: false, frames: 0 }),
        })?;
        slabs.iter_mut().for_each(|slab| (slab.timed, slab.frames) = (head.timed, head.frames));
        Ok((head, slabs))
    }

    /// Of counters that have no block in common, of so many frames or as many as one of them has counted.
    pub fn of_parts(parts: impl IntoIterator<Item = Self>, frames: u64) -> Self {
        parts.into_iter().fold(Self { frames, ..Self::default() }, |sum, part| Self {
            timed: sum.timed || part.timed,
            frames: sum.frames.max(part.frames),
            blocks: sum.blocks + part.blocks,
        })
    }

    fn take(rest: &mut &[u8]) -> Result<Self> {
        let timed = match take_byte(rest)? {
            VERSION => false,
            WITH_TIMES => true,
            newer => return Err(wrong(&format!("version {newer}; this program reads up to version {WITH_TIMES}"))),
        };
        let frames = take(rest)?;
        if frames > MAX_FRAMES {
            return Err(wrong(&format!("{frames} frames; at most {MAX_FRAMES} can be counted")));
        }
        Ok(Self { timed, frames, blocks: take(rest)? })
    }
}

/// Bytes of counters that are not in memory as a whole: [`Counters::to_bytes`] part by part, each of which has the blocks
/// after those of the last.
#[derive(Debug)]
pub struct CountersBytes {
    timed: bool,
    last: BlockKey,
}

impl CountersBytes {
    /// Begins the bytes of the counters of a head.
    pub fn begin(head: CountersHead, out: &mut Vec<u8>) -> Self {
        out.push(if head.timed { WITH_TIMES } else { VERSION });
        put(out, head.frames);
        put(out, head.blocks);
        Self { timed: head.timed, last: [0; 3] }
    }

    /// The next blocks.
    pub fn put(&mut self, part: &Counters, out: &mut Vec<u8>) {
        for key in part.keys() {
            for axis in 0..3 {
                // Steps of either sign as numbers without one.
                let step = i64::from(key[axis]) - i64::from(self.last[axis]);
                put(out, (step << 1 ^ step >> 63) as u64);
            }
            self.last = key;
            if let Some(block) = part.blocks.get(&key) {
                put_block(out, block);
                if self.timed {
                    put_moments(out, &block.moments);
                }
            }
        }
    }
}

impl Counters {
    /// The counters as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let timed = self.blocks.values().any(|block| !block.moments.is_empty());
        let head = CountersHead { timed, frames: self.frames(), blocks: self.blocks.len() as u64 };
        let mut out = Vec::new();
        CountersBytes::begin(head, &mut out).put(self, &mut out);
        out
    }

    /// Counters from bytes; fails, and says why, if they are not those of any.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut counters = Self::default();
        let head = Reader::each(bytes, |key, block, _, _| drop(counters.blocks.insert(key, block)))?;
        counters.set_frames(head.frames);
        Ok(counters)
    }

    /// The blocks of a slab alone, from its part of the bytes.
    pub fn of_slab(bytes: &[u8], slab: &CountersSlab) -> Result<Self> {
        let mut reader = Reader { rest: bytes, last: slab.before, timed: slab.timed, frames: slab.frames };
        let mut counters = Self::default();
        while !reader.rest.is_empty() {
            let (key, block) = reader.next()?;
            counters.blocks.insert(key, block);
        }
        counters.set_frames(slab.frames);
        Ok(counters)
    }
}

/// Where the blocks of one first coordinate are in the bytes of counters: a part that can be read without the others.
#[derive(Debug, Clone)]
pub struct CountersSlab {
    /// The first coordinate.
    pub x: i32,
    /// The bytes.
    pub bytes: Range<usize>,
    before: Option<BlockKey>,
    timed: bool,
    frames: u64,
}

/// Reads block after block.
struct Reader<'a> {
    rest: &'a [u8],
    last: Option<BlockKey>,
    timed: bool,
    frames: u64,
}

impl Reader<'_> {
    /// Reads all blocks, each with the one before it and its part of the bytes.
    fn each(
        bytes: &[u8],
        mut found: impl FnMut(BlockKey, Block, Option<BlockKey>, Range<usize>),
    ) -> Result<CountersHead> {
        let mut rest = bytes;
        let head = CountersHead::take(&mut rest)?;
        let mut reader = Reader { rest, last: None, timed: head.timed, frames: head.frames };
        let mut any_times = false;
        for _ in 0..head.blocks {
            let (before, start) = (reader.last, bytes.len() - reader.rest.len());
            let (key, block) = reader.next()?;
            any_times |= !block.moments.is_empty();
            found(key, block, before, start..bytes.len() - reader.rest.len());
        }
        if !reader.rest.is_empty() {
            return Err(wrong(&format!("{} bytes after the last block", reader.rest.len())));
        }
        if head.timed && !any_times {
            return Err(wrong("they say they have times and have none"));
        }
        Ok(head)
    }

    fn next(&mut self) -> Result<(BlockKey, Block)> {
        let mut key = [0; 3];
        for (axis, coordinate) in key.iter_mut().enumerate() {
            let step = take(&mut self.rest)?;
            let step = (step >> 1) as i64 ^ -((step & 1) as i64);
            let value = i64::from(self.last.unwrap_or_default()[axis]).checked_add(step);
            let most = (WORLD_LIMIT_M / BLOCK_M) as i64 + 1;
            let inside = value.filter(|value| value.abs() <= most);
            *coordinate = inside.ok_or_else(|| wrong("a block outside of the world"))? as i32;
        }
        if self.last.is_some_and(|last| last >= key) {
            return Err(wrong("blocks that are not in ascending order"));
        }
        self.last = Some(key);
        let mut block = take_block(&mut self.rest)?;
        if self.timed {
            block.moments = take_moments(&mut self.rest)?;
        }
        if block.is_zero() {
            return Err(wrong(&format!("a block without counts, {key:?}")));
        }
        if block.most() > self.frames {
            return Err(wrong(&format!("more counts than frames in block {key:?}")));
        }
        Ok((key, block))
    }
}

fn wrong(what: &str) -> Error {
    Error::Unsupported(format!("free space: the stored counters are damaged or newer: {what}"))
}

fn put_block(out: &mut Vec<u8>, block: &Block) {
    put(out, u64::from(block.whole));
    block.metres.iter().for_each(|count| put(out, u64::from(*count)));
    out.push(u8::from(!block.halves.is_zero()) | u8::from(block.fine.is_some()) << 1);
    put_cells(out, &block.halves);
    if let Some(fine) = &block.fine {
        for cells in [&fine.passes, &fine.hits] {
            out.push((0..8).fold(0, |bits, i| bits | u8::from(!cells[i].is_zero()) << i));
            cells.iter().for_each(|cells| put_cells(out, cells));
        }
    }
}

fn take_block(rest: &mut &[u8]) -> Result<Block> {
    let mut block = Block { whole: take_count(rest)?, ..Block::default() };
    for metre in 0..8 {
        block.metres[metre] = take_count(rest)?;
    }
    let parts = take_byte(rest)?;
    if parts > 3 {
        return Err(wrong(&format!("parts {parts} of a block")));
    }
    block.halves = take_cells(rest, parts & 1 == 1)?;
    if parts & 2 != 0 {
        let mut fine = Fine::default();
        for cells in [&mut fine.passes, &mut fine.hits] {
            let there = take_byte(rest)?;
            for (i, cells) in cells.iter_mut().enumerate() {
                *cells = take_cells(rest, there >> i & 1 == 1)?;
            }
        }
        if fine == Fine::default() {
            return Err(wrong("a block that says it has fine counts and has none"));
        }
        block.fine = Some(Box::new(fine));
    }
    Ok(block)
}

/// Seconds as steps from the one before, each with its number of frames.
fn put_moments(out: &mut Vec<u8>, moments: &Moments) {
    put(out, moments.list().len() as u64);
    let mut last = 0;
    for (second, frames) in moments.list() {
        put(out, u64::from(second - last));
        put(out, u64::from(*frames));
        last = *second;
    }
}

fn take_moments(rest: &mut &[u8]) -> Result<Moments> {
    let count = take(rest)?;
    let (mut list, mut last) = (Vec::new(), 0_u32);
    for _ in 0..count {
        let step = take_count(rest)?;
        last = last.checked_add(step).ok_or_else(|| wrong("a time that is too large"))?;
        list.push((last, take_count(rest)?));
    }
    Moments::of(list).ok_or_else(|| wrong("times that do not ascend"))
}

fn put_cells(out: &mut Vec<u8>, cells: &Cells) {
    if !cells.is_zero() {
        cells.values().iter().for_each(|count| put(out, u64::from(*count)));
    }
}

fn take_cells(rest: &mut &[u8], there: bool) -> Result<Cells> {
    if !there {
        return Ok(Cells::default());
    }
    let mut values = [0; 64];
    for value in &mut values {
        *value = take_count(rest)?;
    }
    let cells = Cells::of(&values);
    if cells.is_zero() { Err(wrong("counters that are all zero")) } else { Ok(cells) }
}

/// Seven bits to a byte, the lowest first.
fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take(rest: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take_byte(rest)?;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 || shift > 0 && byte == 0 {
            return Err(wrong("a number that is too long"));
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(wrong("a number that is too long"))
}

fn take_count(rest: &mut &[u8]) -> Result<u32> {
    u32::try_from(take(rest)?).map_err(|_| wrong("a count that is too large"))
}

fn take_byte(rest: &mut &[u8]) -> Result<u8> {
    let (byte, after) = rest.split_first().ok_or_else(|| wrong("they end early"))?;
    *rest = after;
    Ok(*byte)
}
