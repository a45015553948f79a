//! A fixed number of primitives: what they hold, packed, and what was derived from it where somebody looked.

use std::sync::OnceLock;

use super::added::Before;
use super::packed::{SLACK, Widths, each_known, len_of, pack, sums_of};
use super::seen::{Seen, SeenChunk};
use super::slots::Core;
use crate::primitive::Sums;

/// Primitives per chunk.
pub(super) const CHUNK: usize = 1024;

const MUTED: u16 = 1 << 9;
const GONE: u16 = 1 << 10;
const CHANGED: u16 = 1 << 11;
const ALIVE: u16 = 1 << 12;

/// What is known of a primitive without unpacking it. Sums and log-evidence are in a row of bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    id: [u32; 2],
    pub(crate) origin: [i32; 3],
    weight: u32,
    /// Where the row begins.
    at: u32,
    /// Where the block of the mean keeps its record.
    pub(crate) position: u32,
    pub(crate) label: u16,
    /// The widths of the row's numbers, and what is true of the primitive.
    bits: u16,
}

impl Head {
    fn of(core: &Core, at: usize, widths: Widths) -> Self {
        let mut head = Self {
            id: [core.id as u32, (core.id >> 32) as u32],
            origin: core.sums.origin,
            weight: core.sums.weight as u32,
            at: at as u32,
            position: 0,
            label: core.label,
            bits: widths.bits() | ALIVE,
        };
        head.set(MUTED, core.muted);
        head.set(CHANGED, core.changed);
        head
    }

    /// Age order: lower is older. Never used twice.
    pub(crate) fn id(&self) -> u64 {
        u64::from(self.id[0]) | u64::from(self.id[1]) << 32
    }

    fn set(&mut self, bit: u16, value: bool) {
        self.bits = if value { self.bits | bit } else { self.bits & !bit };
    }

    /// Stopped by the gate but kept for refinement: its kernel is zero.
    pub(crate) fn muted(&self) -> bool {
        self.bits & MUTED != 0
    }

    /// In space that was seen through since: views leave it out.
    pub(crate) fn gone(&self) -> bool {
        self.bits & GONE != 0
    }

    /// Changed since the views were last brought up to date.
    pub(crate) fn changed(&self) -> bool {
        self.bits & CHANGED != 0
    }

    pub(crate) fn alive(&self) -> bool {
        self.bits & ALIVE != 0
    }

    pub(super) fn set_gone(&mut self, gone: bool) {
        self.set(GONE, gone);
    }

    pub(super) fn set_changed(&mut self, changed: bool) {
        self.set(CHANGED, changed);
    }

    pub(super) fn set_dead(&mut self) {
        self.set(ALIVE, false);
    }

    /// Takes over what may change of a primitive, apart from its sums.
    pub(super) fn take(&mut self, core: &Core) {
        self.label = core.label;
        self.set(MUTED, core.muted);
        self.set(CHANGED, core.changed);
    }

    /// Where the row is, and what is kept outside of it: widths, corner and number of points.
    pub(super) fn row(&self) -> (usize, Widths, [i32; 3], u32) {
        (self.at as usize, self.widths(), self.origin, self.weight)
    }

    fn widths(&self) -> Widths {
        Widths::of_bits(self.bits & 0x1ff)
    }
}

/// The primitives.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    pub(super) heads: Vec<Head>,
    /// Rows, and some bytes that belong to none.
    pub(super) bytes: Vec<u8>,
    /// Bytes of rows that are no longer used.
    wasted: usize,
    /// What was derived, of all primitives that are alive and have not changed since.
    pub(super) seen: OnceLock<Box<SeenChunk>>,
    /// What primitives held before the frames of a submap, if that is kept.
    pub(super) before: Option<Box<Before>>,
}

impl Default for Chunk {
    fn default() -> Self {
        let heads = Vec::with_capacity(CHUNK);
        Self { heads, bytes: vec![0; SLACK], wasted: 0, seen: OnceLock::new(), before: None }
    }
}

impl Chunk {
    /// No primitives, with memory for what they will have held before.
    pub(super) fn with(before: Option<Box<Before>>) -> Self {
        Self { before, ..Self::default() }
    }

    /// Adds a primitive behind the others. `row` is a buffer.
    pub(super) fn push(&mut self, core: &Core, log_evidence: &[i64], row: &mut Vec<u8>) {
        let widths = pack(&core.sums, log_evidence, row);
        let at = self.append(row);
        self.heads.push(Head::of(core, at, widths));
    }

    /// Puts a primitive in the place of one that is gone.
    pub(super) fn replace(&mut self, i: usize, core: &Core, log_evidence: &[i64], row: &mut Vec<u8>) {
        let widths = pack(&core.sums, log_evidence, row);
        let at = self.put(i, row, log_evidence.len());
        self.heads[i] = Head::of(core, at, widths);
    }

    /// Gives a primitive other sums and log-evidence.
    pub(super) fn write(&mut self, i: usize, sums: &Sums, log_evidence: &[i64], row: &mut Vec<u8>) {
        let widths = pack(sums, log_evidence, row);
        let at = self.put(i, row, log_evidence.len());
        let head = &mut self.heads[i];
        (head.at, head.origin, head.weight) = (at as u32, sums.origin, sums.weight as u32);
        head.bits = head.bits & !0x1ff | widths.bits();
        if self.wasted > self.bytes.len() / 8 + 1024 {
            self.tidy(log_evidence.len());
        }
    }

    /// Puts a row where there is room for it: in the place of the old one, or behind all.
    fn put(&mut self, i: usize, row: &[u8], classes: usize) -> usize {
        let (at, widths) = (self.heads[i].at as usize, self.heads[i].widths());
        let old = len_of(&self.bytes, at, widths, classes);
        if row.len() > old {
            self.wasted += old;
            return self.append(row);
        }
        self.wasted += old - row.len();
        self.bytes[at..at + row.len()].copy_from_slice(row);
        at
    }

    fn append(&mut self, row: &[u8]) -> usize {
        let at = self.bytes.len() - SLACK;
        if self.bytes.capacity() < self.bytes.len() + row.len() {
            // By a little at a time: a map is mostly chunks that no longer grow.
            self.bytes.reserve_exact(row.len().max(self.bytes.len() / 8 + 1024));
        }
        self.bytes.truncate(at);
        self.bytes.extend_from_slice(row);
        self.bytes.extend_from_slice(&[0; SLACK]);
        at
    }

    /// Leaves out what no row uses.
    fn tidy(&mut self, classes: usize) {
        let mut bytes = Vec::with_capacity(self.bytes.len() - self.wasted + 256);
        for head in &mut self.heads {
            let at = head.at as usize;
            let len = len_of(&self.bytes, at, head.widths(), classes);
            head.at = bytes.len() as u32;
            bytes.extend_from_slice(&self.bytes[at..at + len]);
        }
        bytes.extend_from_slice(&[0; SLACK]);
        (self.bytes, self.wasted) = (bytes, 0);
    }

    /// Gives back memory that a chunk which has just been filled does not need.
    pub(super) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }

    pub(super) fn sums(&self, i: usize) -> Sums {
        let head = &self.heads[i];
        sums_of(&self.bytes, head.at as usize, head.widths(), head.origin, head.weight)
    }

    /// Calls `visit` with every class that a primitive knows, ascending, and its log-evidence.
    #[inline(always)]
    pub(super) fn each_known(&self, i: usize, classes: usize, visit: impl FnMut(usize, i64)) {
        let head = &self.heads[i];
        each_known(&self.bytes, head.at as usize, head.widths(), classes, visit);
    }

    /// Writes the log-evidence of every class.
    pub(super) fn log_evidence(&self, i: usize, values: &mut [i64]) {
        values.fill(0);
        self.each_known(i, values.len(), |class, value| values[class] = value);
    }

    /// The primitive, not judged yet.
    pub(super) fn core(&self, i: usize) -> Core {
        let head = &self.heads[i];
        Core {
            id: head.id(),
            label: head.label,
            muted: head.muted(),
            gone: head.gone(),
            changed: head.changed(),
            alive: head.alive(),
            ..Core::of_sums(self.sums(i))
        }
    }

    /// Keeps what views read of a primitive.
    pub(super) fn keep(&mut self, i: usize, seen: Seen, probability: &[f32]) {
        self.seen.get_or_init(|| Box::new(SeenChunk::new(probability.len(), 0)));
        if let Some(all) = self.seen.get_mut() {
            all.set(i, seen, probability);
        }
    }

    /// Gives a primitive what views read of it from now on, where there is room for it.
    pub(super) fn give(&mut self, i: usize, seen: &Seen, probability: Option<&[f32]>, look: u32) {
        self.heads[i].set_changed(false);
        self.heads[i].label = seen.label;
        if let Some(all) = self.seen.get_mut() {
            all.give(i, seen, probability, look);
        }
    }

    /// Forgets what views read if that was last derived in a look that is `old`.
    pub(super) fn forget(&mut self, old: impl Fn(u32) -> bool) {
        if self.seen.get().is_some_and(|seen| old(seen.look)) {
            self.seen = OnceLock::new();
        }
    }

    /// Asks for the memory of a primitive.
    pub(super) fn prefetch(&self, i: usize) {
        let head = &self.heads[i];
        let at = head.at as usize;
        let before = self.before.as_ref().map(|before| before.some_of(i));
        crate::prefetch::prefetch((self.bytes[at], self.bytes.get(at + 64), before));
    }

    /// Bytes of what the primitives hold, and of what was derived.
    pub(super) fn byte_size(&self) -> (usize, usize) {
        let held = size_of::<Self>() + self.heads.capacity() * size_of::<Head>() + self.bytes.capacity();
        (held, self.seen.get().map_or(0, |seen| seen.byte_size()))
    }
}
