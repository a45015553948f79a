//! Storage of primitives: chunks of a fixed size, so that a growing map never moves what it holds, with free slots
//! used again. Slot numbers are handles only; every order in a result is by id.

use rayon::prelude::*;

use super::aabb::Support;
use super::surfaces::Surface;
use crate::kernel::Form;
use crate::keys::BlockKey;
use crate::prefetch::prefetch;
use crate::primitive::Sums;

/// Primitives per chunk.
const CHUNK: usize = 1024;

/// How many primitives ahead memory is asked for.
const AHEAD: usize = 3;

/// The fixed-size part of a primitive: the sums, and what is derived from them.
#[derive(Debug, Clone, PartialEq)]
#[repr(C)] // What the views read comes first and lies together.
pub(crate) struct Core {
    /// Age order: lower is older. Never used twice.
    pub(crate) id: u64,
    /// The order in which kernels are summed: the age or, in a map that is a sum, the cube and class.
    pub(crate) order: u64,
    pub(crate) mean: [f64; 3],
    pub(crate) form: Form,
    /// How the surface runs that it is a part of; see `surfaces.rs`.
    pub(crate) surface: Surface,
    /// Bit c of every class with p_c not clearly below 1/C; all bits if there are more than 64 classes.
    pub(crate) plausible: u64,
    pub(crate) uncertainty: f32,
    pub(crate) ln_uncertainty: f32,
    /// Number of the change that gave it its form.
    pub(crate) version: u32,
    /// Where the block of the mean keeps its record.
    pub(crate) position: u32,
    pub(crate) label: u16,
    /// Stopped by the gate but kept for refinement: its kernel is zero.
    pub(crate) muted: bool,
    /// In space that was seen through since: views leave it out.
    pub(crate) gone: bool,
    /// Changed since the views were last brought up to date.
    pub(crate) changed: bool,
    pub(crate) alive: bool,
    pub(crate) sums: Sums,
}

/// What views and index knew of a primitive before it was changed.
pub(crate) struct Before {
    pub(crate) mean: [f64; 3],
    pub(crate) half_box: [f32; 3],
    pub(crate) support: Option<Support>,
}

impl Before {
    fn of(core: &Core) -> Self {
        Self { mean: core.mean, half_box: core.form.half_box, support: Support::of(core) }
    }
}

/// Primitives side by side: the fixed-size parts, and a row per primitive of log-evidence (in quanta) and probability.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    pub(crate) cores: Vec<Core>,
    pub(crate) log_evidence: Vec<i64>,
    pub(crate) probability: Vec<f32>,
}

impl Batch {
    fn of_capacity(primitives: usize, classes: usize) -> Self {
        Self {
            cores: Vec::with_capacity(primitives),
            log_evidence: Vec::with_capacity(primitives * classes),
            probability: Vec::with_capacity(primitives * classes),
        }
    }

    fn push(&mut self, (core, log_evidence, probability): (Core, &[i64], &[f32])) {
        self.cores.push(core);
        self.log_evidence.extend_from_slice(log_evidence);
        self.probability.extend_from_slice(probability);
    }

    /// The log-evidence of a row.
    pub(crate) fn row(&self, row: usize, classes: usize) -> &[i64] {
        &self.log_evidence[row * classes..(row + 1) * classes]
    }

    /// Derives means and opinions, in parallel.
    pub(crate) fn judge(&mut self, classes: usize, correlation: f64) {
        self.probability = vec![0.0; self.cores.len() * classes];
        self.cores
            .par_iter_mut()
            .zip(self.log_evidence.par_chunks(classes))
            .zip(self.probability.par_chunks_mut(classes))
            .with_min_len(256)
            .for_each(|((core, log_evidence), probability)| core.judge(log_evidence, correlation, probability));
    }

    /// Rows in the order of a curve through their blocks: what is near in the world is then near in time and memory.
    pub(crate) fn along_curve(&self, rows: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut rows: Vec<(u64, usize)> =
            rows.into_iter().map(|row| (BlockKey(self.cores[row].sums.origin).along_curve(), row)).collect();
        rows.par_sort_unstable();
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

/// All primitives of a set.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    classes: usize,
    chunks: Vec<Batch>,
    free: Vec<u32>,
    alive: usize,
}

impl Slots {
    pub(crate) fn new(classes: usize) -> Self {
        Self { classes, chunks: Vec::new(), free: Vec::new(), alive: 0 }
    }

    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    pub(crate) fn len(&self) -> usize {
        self.alive
    }

    pub(crate) fn core(&self, slot: u32) -> &Core {
        &self.chunks[slot as usize / CHUNK].cores[slot as usize % CHUNK]
    }

    pub(crate) fn core_mut(&mut self, slot: u32) -> &mut Core {
        &mut self.chunks[slot as usize / CHUNK].cores[slot as usize % CHUNK]
    }

    pub(crate) fn log_evidence(&self, slot: u32) -> &[i64] {
        let first = slot as usize % CHUNK * self.classes;
        &self.chunks[slot as usize / CHUNK].log_evidence[first..first + self.classes]
    }

    pub(crate) fn probability_mut(&mut self, slot: u32) -> &mut [f32] {
        let first = slot as usize % CHUNK * self.classes;
        &mut self.chunks[slot as usize / CHUNK].probability[first..first + self.classes]
    }

    pub(crate) fn probability(&self, slot: u32) -> &[f32] {
        let first = slot as usize % CHUNK * self.classes;
        &self.chunks[slot as usize / CHUNK].probability[first..first + self.classes]
    }

    fn insert(&mut self, core: Core, log_evidence: &[i64], probability: &[f32]) -> u32 {
        self.alive += 1;
        if let Some(slot) = self.free.pop() {
            let (chunk, first) = (&mut self.chunks[slot as usize / CHUNK], slot as usize % CHUNK);
            chunk.cores[first] = core;
            chunk.log_evidence[first * self.classes..][..self.classes].copy_from_slice(log_evidence);
            chunk.probability[first * self.classes..][..self.classes].copy_from_slice(probability);
            return slot;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.cores.len() == CHUNK) {
            self.chunks.push(Batch::of_capacity(CHUNK, self.classes));
        }
        let last = self.chunks.len() - 1;
        let slot = last * CHUNK + self.chunks[last].cores.len();
        self.chunks[last].push((core, log_evidence, probability));
        slot as u32
    }

    /// Adds `count` primitives; `made(i)` gives the i-th. Returns their slots.
    pub(crate) fn extend<'a>(
        &mut self,
        count: usize,
        made: impl Fn(usize) -> (Core, &'a [i64], &'a [f32]) + Sync,
    ) -> Vec<u32> {
        let mut slots = Vec::with_capacity(count);
        // Free slots and the room of the last chunk first; then whole chunks, each filled by one thread.
        let room = |slots: &Self| slots.chunks.last().map_or(0, |chunk| CHUNK - chunk.cores.len());
        for i in 0..count.min(self.free.len() + room(self)) {
            let (core, log_evidence, probability) = made(i);
            slots.push(self.insert(core, log_evidence, probability));
        }
        let (first, before) = (slots.len(), self.chunks.len() * CHUNK);
        let classes = self.classes;
        let starts = (first..count).into_par_iter().step_by(CHUNK);
        self.chunks.par_extend(starts.map(|start| {
            let mut chunk = Batch::of_capacity(CHUNK, classes);
            (start..count.min(start + CHUNK)).for_each(|i| chunk.push(made(i)));
            chunk
        }));
        self.alive += count - first;
        slots.extend((first..count).map(|i| (before + i - first) as u32));
        slots
    }

    pub(crate) fn remove(&mut self, slot: u32) {
        self.core_mut(slot).alive = false;
        self.free.push(slot);
        self.alive -= 1;
    }

    /// Adds rows of a batch to primitives, in parallel: (slot, row) pairs. Then `derive(slot, core, log_evidence,
    /// probability, before)` is called once per primitive; its results come by ascending slot, a vector per chunk.
    pub(crate) fn add_rows<T: Send>(
        &mut self,
        pairs: &[(u32, usize)],
        batch: &Batch,
        derive: impl Fn(u32, &mut Core, &[i64], &mut [f32], Before) -> T + Sync,
    ) -> Vec<Vec<T>> {
        let classes = self.classes;
        let mut pairs = pairs.to_vec();
        pairs.par_sort_unstable();
        let add = |(number, chunk): (usize, &mut Batch)| {
            let from = pairs.partition_point(|(slot, _)| (*slot as usize) < number * CHUNK);
            let to = pairs.partition_point(|(slot, _)| (*slot as usize) < (number + 1) * CHUNK);
            let of_one = pairs[from..to].chunk_by(|a, b| a.0 == b.0);
            let mut ahead = pairs[from..to].iter().skip(AHEAD);
            let each = of_one.map(|rows| {
                // Asks for the memory of what comes soon, so that it is there by then.
                for (slot, row) in ahead.by_ref().take(rows.len()) {
                    let i = *slot as usize % CHUNK;
                    let (core, giver) = (&chunk.cores[i], &batch.cores[*row]);
                    let row = &batch.log_evidence[row * classes..(row + 1) * classes];
                    let own = &chunk.log_evidence[i * classes..(i + 1) * classes];
                    prefetch((core.order, core.plausible, core.sums.range, giver.order, giver.sums.range));
                    prefetch((own[0], own[classes - 1], row[0], row[classes - 1], chunk.probability[i * classes]));
                }
                let slot = rows[0].0;
                let i = slot as usize % CHUNK;
                let (core, range) = (&mut chunk.cores[i], i * classes..(i + 1) * classes);
                let (sums, before) = (&mut chunk.log_evidence[range.clone()], Before::of(core));
                for (_, row) in rows {
                    let giver = &batch.cores[*row];
                    core.sums.add(&giver.sums);
                    core.muted &= giver.muted;
                    let added = &batch.log_evidence[row * classes..(row + 1) * classes];
                    sums.iter_mut().zip(added).for_each(|(sum, value)| *sum = sum.saturating_add(*value));
                }
                derive(slot, core, sums, &mut chunk.probability[range], before)
            });
            each.collect::<Vec<T>>()
        };
        self.chunks.par_iter_mut().enumerate().map(add).collect()
    }

    /// Adds one primitive of this store to another.
    pub(crate) fn add_within(&mut self, receiver: u32, giver: u32) {
        let (sums, muted) = (self.core(giver).sums, self.core(giver).muted);
        let log_evidence = self.log_evidence(giver).to_vec();
        let first = receiver as usize % CHUNK;
        let chunk = &mut self.chunks[receiver as usize / CHUNK];
        chunk.cores[first].sums.add(&sums);
        chunk.cores[first].muted &= muted;
        for (sum, value) in chunk.log_evidence[first * self.classes..].iter_mut().zip(log_evidence) {
            *sum = sum.saturating_add(value);
        }
    }

    /// Runs `derive(core, log_evidence, probability)` on slots (sorted) in parallel.
    pub(crate) fn derive(&mut self, slots: &[u32], derive: impl Fn(&mut Core, &[i64], &mut [f32]) + Sync) {
        let classes = self.classes;
        self.chunks.par_iter_mut().enumerate().for_each(|(number, chunk)| {
            let from = slots.partition_point(|slot| (*slot as usize) < number * CHUNK);
            let to = slots.partition_point(|slot| (*slot as usize) < (number + 1) * CHUNK);
            for slot in &slots[from..to] {
                let i = *slot as usize % CHUNK;
                let row = i * classes..(i + 1) * classes;
                derive(&mut chunk.cores[i], &chunk.log_evidence[row.clone()], &mut chunk.probability[row]);
            }
        });
    }

    /// Slots in use, in the order of storage.
    pub(crate) fn alive(&self) -> impl Iterator<Item = u32> {
        (0..self.chunks.len()).flat_map(|chunk| {
            let cores = &self.chunks[chunk].cores;
            (0..cores.len()).filter(|i| cores[*i].alive).map(move |i| (chunk * CHUNK + i) as u32)
        })
    }

    pub(crate) fn byte_size(&self) -> usize {
        let per_slot = size_of::<Core>() + self.classes * (size_of::<f64>() + size_of::<f32>());
        self.chunks.len() * CHUNK * per_slot + self.free.capacity() * size_of::<u32>()
    }
}
