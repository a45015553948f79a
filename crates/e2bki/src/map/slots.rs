//! Storage of primitives: chunks of a fixed size, so that a growing map never moves what it holds, with free slots
//! used again. Slot numbers are handles only; every order in a result is by id.

use rayon::prelude::*;

use super::added::Before;
use super::chunk::{CHUNK, Chunk, Head};
use super::seen::Seen;
use super::surfaces::Surface;
use crate::keys::BlockKey;
use crate::prefetch::prefetch;
use crate::primitive::Sums;

/// How many primitives ahead memory is asked for.
const AHEAD: usize = 3;

/// A primitive unpacked: its sums, and what is derived from them when it is judged.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Core {
    /// Age order: lower is older. Never used twice.
    pub(crate) id: u64,
    pub(crate) mean: [f64; 3],
    pub(crate) sums: Sums,
    pub(crate) uncertainty: f32,
    pub(crate) ln_uncertainty: f32,
    pub(crate) label: u16,
    /// Stopped by the gate but kept for refinement: its kernel is zero.
    pub(crate) muted: bool,
    /// In space that was seen through since: views leave it out.
    pub(crate) gone: bool,
    /// Changed since the views were last brought up to date.
    pub(crate) changed: bool,
    pub(crate) alive: bool,
}

/// Primitives side by side: the fixed-size parts, and a row per primitive of log-evidence in quanta.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    pub(crate) cores: Vec<Core>,
    pub(crate) log_evidence: Vec<i64>,
    /// How the surface runs at every primitive, where that is known already.
    pub(crate) surfaces: Vec<Surface>,
}

impl Batch {
    /// The log-evidence of a row.
    pub(crate) fn row(&self, row: usize, classes: usize) -> &[i64] {
        &self.log_evidence[row * classes..(row + 1) * classes]
    }

    /// Derives means and opinions, in parallel.
    pub(crate) fn judge(&mut self, classes: usize, correlation: f64) {
        let each = self.cores.par_iter_mut().zip(self.log_evidence.par_chunks(classes)).with_min_len(256);
        each.for_each_init(
            || vec![0.0; classes],
            |probability, (core, log_evidence)| core.judge(log_evidence, correlation, probability),
        );
    }

    /// Rows in the order of a curve through their blocks: what is near in the world is then near in time and memory.
    pub(crate) fn along_curve(&self, rows: impl IntoIterator<Item = usize>) -> Vec<usize> {
        along_curve(rows.into_iter().map(|row| (self, row))).into_iter().map(|(_, row)| row).collect()
    }
}

/// A row of a batch.
pub(crate) type BatchRow<'a> = (&'a Batch, usize);

/// Rows of batches in the order of a curve through their blocks, those of a block in the order in which they come.
pub(super) fn along_curve<'a>(rows: impl Iterator<Item = BatchRow<'a>>) -> Vec<BatchRow<'a>> {
    let rows: Vec<BatchRow<'_>> = rows.collect();
    let curve = |(batch, row): &BatchRow<'_>| BlockKey(batch.cores[*row].sums.origin).along_curve();
    let mut order: Vec<(u64, u32)> = rows.iter().map(curve).zip(0..).collect();
    order.par_sort_unstable();
    order.into_iter().map(|(_, at)| rows[at as usize]).collect()
}

/// A new primitive: its sums, its log-evidence and, where views are not left to wait, what they read.
pub(super) type Made<'a> = (Core, &'a [i64], Option<(Seen, &'a [f32])>);

/// All primitives of a set.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    classes: usize,
    chunks: Vec<Chunk>,
    free: Vec<u32>,
    alive: usize,
    /// The number of the frame in a submap by which primitives are changed, if what it adds is remembered.
    pub(super) frame: Option<u64>,
    /// Memory for that, not in use.
    pub(super) spare: Vec<Before>,
}

/// The chunk of a slot, and its number there.
fn split(slot: u32) -> (usize, usize) {
    (slot as usize / CHUNK, slot as usize % CHUNK)
}

/// The chunks of some slots, which of a large map are few, each with what is to be done there; by ascending slot.
fn by_chunk<'a, 'b, T>(chunks: &'a mut [Chunk], pairs: &'b [(u32, T)]) -> Vec<(&'b [(u32, T)], &'a mut Chunk)> {
    let (mut rest, mut first) = (chunks, 0);
    let mut work = Vec::new();
    for pairs in pairs.chunk_by(|a, b| split(a.0).0 == split(b.0).0) {
        let number = split(pairs[0].0).0;
        let (chunk, behind) = std::mem::take(&mut rest)[number - first..].split_at_mut(1);
        work.extend(chunk.iter_mut().map(|chunk| (pairs, chunk)));
        (rest, first) = (behind, number + 1);
    }
    work
}

/// Gives chunks that a frame adds to memory for what they held before.
fn hand_out<T>(spare: &mut Vec<Before>, frame: Option<u64>, work: &mut [(&[(u32, T)], &mut Chunk)]) {
    if frame.is_some() {
        let without = work.iter_mut().filter(|(_, chunk)| chunk.before.is_none());
        without.for_each(|(_, chunk)| chunk.before = spare.pop().map(Box::new));
    }
}

/// Σ over so many points of the number of their frame.
fn frame_sum(frame: u64, points: f64) -> u64 {
    frame.saturating_mul(points as u64)
}

impl Slots {
    pub(crate) fn new(classes: usize) -> Self {
        Self { classes, chunks: Vec::new(), free: Vec::new(), alive: 0, frame: None, spare: Vec::new() }
    }

    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    pub(crate) fn len(&self) -> usize {
        self.alive
    }

    pub(crate) fn head(&self, slot: u32) -> &Head {
        let (chunk, i) = split(slot);
        &self.chunks[chunk].heads[i]
    }

    pub(super) fn head_mut(&mut self, slot: u32) -> &mut Head {
        let (chunk, i) = split(slot);
        &mut self.chunks[chunk].heads[i]
    }

    /// A primitive, not judged.
    pub(crate) fn core(&self, slot: u32) -> Core {
        let (chunk, i) = split(slot);
        self.chunks[chunk].core(i)
    }

    pub(crate) fn sums(&self, slot: u32) -> Sums {
        let (chunk, i) = split(slot);
        self.chunks[chunk].sums(i)
    }

    pub(crate) fn log_evidence(&self, slot: u32) -> Vec<i64> {
        let mut values = vec![0; self.classes];
        self.read_evidence(slot, &mut values);
        values
    }

    /// Writes the log-evidence of every class.
    pub(crate) fn read_evidence(&self, slot: u32, values: &mut [i64]) {
        let (chunk, i) = split(slot);
        self.chunks[chunk].log_evidence(i, values);
    }

    /// Keeps what views read of a primitive.
    pub(super) fn keep(&mut self, slot: u32, seen: Seen, probability: &[f32]) {
        let (chunk, i) = split(slot);
        self.chunks[chunk].keep(i, seen, probability);
    }

    /// Asks for the memory of what some primitives hold, of all at once.
    pub(super) fn prefetch_all(&self, slots: impl Iterator<Item = u32>) {
        for slot in slots {
            let (chunk, i) = self.chunk_of(slot);
            chunk.prefetch(i);
        }
    }

    /// The chunk of a slot, and the slot's number there.
    pub(super) fn chunk_of(&self, slot: u32) -> (&Chunk, usize) {
        let (chunk, i) = split(slot);
        (&self.chunks[chunk], i)
    }

    pub(super) fn chunks_mut(&mut self) -> &mut [Chunk] {
        &mut self.chunks
    }

    pub(super) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// Adds `count` primitives; `made(i)` gives the i-th. Returns their slots.
    pub(crate) fn extend<'a>(&mut self, count: usize, made: impl Fn(usize) -> Made<'a> + Sync) -> Vec<u32> {
        let frame = self.frame;
        let put = |chunk: &mut Chunk, at: usize, i: usize, row: &mut Vec<u8>| {
            let (core, log_evidence, seen) = made(i);
            if at < chunk.heads.len() {
                chunk.replace(at, &core, log_evidence, row);
            } else {
                chunk.push(&core, log_evidence, row);
            }
            if let Some(frame) = frame {
                chunk.was_made(at, frame_sum(frame, core.sums.weight));
            }
            if let Some((seen, probability)) = seen {
                chunk.keep(at, seen, probability);
            }
        };
        // Free slots and the room of the last chunk first, then new chunks; each is filled by one thread.
        let mut slots = self.free.split_off(self.free.len().saturating_sub(count));
        slots.par_sort_unstable();
        let end = self.chunks.len() * CHUNK;
        let room = self.chunks.last().map_or(0, |chunk| CHUNK - chunk.heads.len()).min(count - slots.len());
        let first = end - self.chunks.last().map_or(0, |chunk| CHUNK - chunk.heads.len());
        slots.extend((first..first + room).map(|slot| slot as u32));
        let numbered: Vec<(u32, usize)> = slots.iter().copied().zip(0..).collect();
        let mut work = by_chunk(&mut self.chunks, &numbered);
        hand_out(&mut self.spare, frame, &mut work);
        work.into_par_iter().for_each_init(Vec::new, |row, (numbered, chunk)| {
            numbered.iter().for_each(|(slot, i)| put(chunk, split(*slot).1, *i, row));
        });
        let old = slots.len();
        let mut spare = || frame.and_then(|_| self.spare.pop()).map(Box::new);
        let starts: Vec<_> = (old..count).step_by(CHUNK).map(|start| (start, spare())).collect();
        self.chunks.par_extend(starts.into_par_iter().map_init(Vec::new, |row, (start, before)| {
            let mut chunk = Chunk::with(before);
            (start..count.min(start + CHUNK)).enumerate().for_each(|(at, i)| put(&mut chunk, at, i, row));
            chunk.shrink();
            chunk
        }));
        self.alive += count;
        slots.extend((old..count).map(|i| (end + i - old) as u32));
        slots
    }

    /// Removes primitives; no slot may be named twice.
    pub(crate) fn remove(&mut self, slots: impl Iterator<Item = u32>) {
        let classes = self.classes;
        let mut sorted: Vec<(u32, usize)> = slots.zip(0..).collect();
        sorted.par_sort_unstable();
        by_chunk(&mut self.chunks, &sorted).into_par_iter().for_each(|(slots, chunk)| {
            for i in slots.iter().map(|(slot, _)| split(*slot).1) {
                chunk.let_go(i, classes);
                chunk.heads[i].set_dead();
            }
        });
        self.free.extend(sorted.iter().map(|(slot, _)| *slot));
        self.alive -= sorted.len();
    }

    /// Adds rows of batches to primitives, in parallel: (slot, row) pairs. `before(chunk, i, core)` is called with every
    /// primitive as it was, then `after(slot, chunk, core, log_evidence, before)` with what it is now, which is written
    /// afterwards; what that returns comes by ascending slot, a vector per chunk.
    pub(super) fn add_rows<B, T: Send>(
        &mut self,
        mut pairs: Vec<(u32, BatchRow<'_>)>,
        before: impl Fn(&Chunk, usize, &Core) -> B + Sync,
        after: impl Fn(u32, &mut Chunk, &mut Core, &[i64], B) -> T + Sync,
    ) -> Vec<Vec<T>> {
        let (classes, frame) = (self.classes, self.frame);
        pairs.par_sort_unstable_by_key(|(slot, (_, row))| (*slot, *row));
        let add = |(pairs, chunk): (&[(u32, BatchRow<'_>)], &mut Chunk)| {
            let of_one = pairs.chunk_by(|a, b| a.0 == b.0);
            let mut ahead = pairs.iter().skip(AHEAD);
            let (mut evidence, mut row_bytes) = (vec![0; classes], Vec::new());
            let each = of_one.map(|rows| {
                // Asks for the memory of what comes soon, so that it is there by then.
                for (slot, (batch, row)) in ahead.by_ref().take(rows.len()) {
                    chunk.prefetch(*slot as usize % CHUNK);
                    let (giver, row) = (&batch.cores[*row], batch.row(*row, classes));
                    prefetch((giver.id, giver.sums.range, row.first(), row.last()));
                }
                let slot = rows[0].0;
                let i = slot as usize % CHUNK;
                let mut core = chunk.core(i);
                let old = before(chunk, i, &core);
                chunk.log_evidence(i, &mut evidence);
                for (_, (batch, row)) in rows {
                    let giver = &batch.cores[*row];
                    core.sums.add(&giver.sums);
                    core.muted &= giver.muted;
                    let added = batch.row(*row, classes);
                    evidence.iter_mut().zip(added).for_each(|(sum, value)| *sum = sum.saturating_add(*value));
                }
                core.mean = core.sums.mean();
                let result = after(slot, chunk, &mut core, &evidence, old);
                match frame {
                    Some(frame) => {
                        let points = rows.iter().map(|(_, (batch, row))| batch.cores[*row].sums.weight).sum();
                        chunk.will_grow(i, classes, frame_sum(frame, points));
                    }
                    None => chunk.let_go(i, classes),
                }
                chunk.write(i, &core.sums, &evidence, &mut row_bytes);
                chunk.heads[i].take(&core);
                result
            });
            each.collect::<Vec<T>>()
        };
        let mut work = by_chunk(&mut self.chunks, &pairs);
        hand_out(&mut self.spare, frame, &mut work);
        work.into_par_iter().map(add).collect()
    }

    /// Adds one primitive of this store to another.
    pub(crate) fn add_within(&mut self, receiver: u32, giver: u32) {
        let (mut core, other) = (self.core(receiver), self.core(giver));
        let (mut evidence, added) = (self.log_evidence(receiver), self.log_evidence(giver));
        core.sums.add(&other.sums);
        core.muted &= other.muted;
        evidence.iter_mut().zip(added).for_each(|(sum, value)| *sum = sum.saturating_add(value));
        let (chunk, i) = split(receiver);
        self.chunks[chunk].let_go(i, self.classes);
        self.chunks[chunk].write(i, &core.sums, &evidence, &mut Vec::new());
        self.chunks[chunk].heads[i].take(&core);
    }

    /// Slots in use, in the order of storage.
    pub(crate) fn alive(&self) -> impl Iterator<Item = u32> {
        (0..self.chunks.len()).flat_map(|chunk| {
            let heads = &self.chunks[chunk].heads;
            (0..heads.len()).filter(|i| heads[*i].alive()).map(move |i| (chunk * CHUNK + i) as u32)
        })
    }

    /// Bytes of what primitives hold, and of what was derived from it.
    pub(crate) fn byte_size(&self) -> (usize, usize) {
        let sizes = self.chunks.iter().map(Chunk::byte_size);
        let (held, seen) = sizes.fold((0, 0), |(held, seen), (h, s)| (held + h, seen + s));
        (held + self.free.capacity() * size_of::<u32>(), seen)
    }
}
