//! What frames add to primitives while a submap grows. What a primitive held before the first of them is copied, and what it
//! holds more in the end is what they added: sums are exact, so their difference is. A copy for each primitive and submap
//! is all that this costs; a second sum would cost as much as the first.

use rayon::prelude::*;

use super::chunk::{CHUNK, Chunk};
use super::packed::{SLACK, Widths, each_known, len_of, sums_of};
use super::slots::Slots;
use crate::primitive::Sums;

/// What was added to some primitives.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Additions {
    pub(crate) labels: Vec<u16>,
    pub(crate) sums: Vec<Sums>,
    pub(crate) log_evidence: Vec<i64>,
    /// Σ over the points of the number of their frame in the submap.
    pub(crate) frames: Vec<u64>,
}

impl Additions {
    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn byte_size(&self) -> usize {
        self.labels.capacity() * size_of::<u16>()
            + self.sums.capacity() * size_of::<Sums>()
            + self.log_evidence.capacity() * size_of::<i64>()
            + self.frames.capacity() * size_of::<u64>()
    }
}

/// What a primitive held before.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// Its number in the chunk; [`CHUNK`] if it has changed in another way since.
    primitive: u16,
    widths: u16,
    origin: [i32; 3],
    /// 0 of one that is new.
    weight: u32,
    /// Where its row of bytes begins.
    at: u32,
    frames: u64,
}

/// What the primitives of a chunk held before, of those that were added to.
#[derive(Debug, Clone)]
pub(super) struct Before {
    /// For every primitive one more than its place in `held`, or 0.
    places: Vec<u32>,
    held: Vec<Held>,
    bytes: Vec<u8>,
    /// What was added to primitives that have changed in another way since.
    let_go: Additions,
}

impl Default for Before {
    fn default() -> Self {
        Self { places: vec![0; CHUNK], held: Vec::new(), bytes: vec![0; SLACK], let_go: Additions::default() }
    }
}

impl Before {
    fn add(&mut self, held: Held) {
        self.held.push(held);
        self.places[usize::from(held.primitive)] = self.held.len() as u32;
    }
}

impl Chunk {
    /// A frame is about to add to a primitive; `frames` is its number times its points.
    #[inline(always)]
    pub(super) fn will_grow(&mut self, i: usize, classes: usize, frames: u64) {
        let before = self.before.get_or_insert_default();
        if before.places[i] == 0 {
            let (at, widths, origin, weight) = self.heads[i].row();
            let len = len_of(&self.bytes, at, widths, classes);
            let to = before.bytes.len() - SLACK;
            before.bytes.truncate(to);
            // With the bytes behind it, which may be read.
            before.bytes.extend_from_slice(&self.bytes[at..at + len + SLACK]);
            let (primitive, widths) = (i as u16, widths.bits());
            before.add(Held { primitive, widths, origin, weight, at: to as u32, frames });
        } else if let Some(held) = before.held.get_mut(before.places[i] as usize - 1) {
            held.frames = held.frames.saturating_add(frames);
        }
    }

    /// A frame has made a primitive.
    pub(super) fn was_made(&mut self, i: usize, frames: u64) {
        let nothing = Held { primitive: i as u16, widths: 0, origin: [0; 3], weight: 0, at: 0, frames };
        self.before.get_or_insert_default().add(nothing);
    }

    /// A primitive is about to be changed by something that is not a frame of the submap, or taken out.
    #[inline(always)]
    pub(super) fn let_go(&mut self, i: usize, classes: usize) {
        let place = self.before.as_ref().map_or(0, |before| before.places[i] as usize);
        let Some(held) = place.checked_sub(1) else { return };
        if let Some(mut before) = self.before.take() {
            self.added_to(&before.held[held], &before.bytes, classes, &mut before.let_go);
            before.held[held].primitive = CHUNK as u16;
            before.places[i] = 0;
            self.before = Some(before);
        }
    }

    /// The difference of a primitive to what it held.
    fn added_to(&self, held: &Held, bytes: &[u8], classes: usize, to: &mut Additions) {
        let (i, first) = (usize::from(held.primitive), to.log_evidence.len());
        let mut sums = self.sums(i);
        to.log_evidence.resize(first + classes, 0);
        let evidence = &mut to.log_evidence[first..];
        self.each_known(i, classes, |class, value| evidence[class] = value);
        if held.weight > 0 {
            let (at, widths) = (held.at as usize, Widths::of_bits(held.widths));
            // Within limits: it was part of them.
            sums.add_times(&sums_of(bytes, at, widths, held.origin, held.weight), -1);
            sums.settle();
            each_known(bytes, at, widths, classes, |class, value| evidence[class] -= value);
        }
        to.labels.push(self.heads[i].label);
        to.sums.push(sums);
        to.frames.push(held.frames);
    }

    fn additions(&self, before: &Before, classes: usize) -> Additions {
        let (mut all, rows) = (before.let_go.clone(), before.held.len());
        all.labels.reserve_exact(rows);
        all.sums.reserve_exact(rows);
        all.log_evidence.reserve_exact(rows * classes);
        all.frames.reserve_exact(rows);
        for held in before.held.iter().filter(|held| usize::from(held.primitive) < CHUNK) {
            self.added_to(held, &before.bytes, classes, &mut all);
        }
        all
    }
}

impl Slots {
    /// What frames have added since they are remembered; in one thread, as whoever only looks may hold a lock.
    pub(super) fn additions(&self) -> Vec<Additions> {
        let of_one = |chunk: &Chunk| chunk.before.as_ref().map(|before| chunk.additions(before, self.classes()));
        self.chunks().iter().filter_map(of_one).collect()
    }

    /// The same, which is then forgotten.
    pub(super) fn take_additions(&mut self) -> Vec<Additions> {
        let classes = self.classes();
        let of_one = |chunk: &mut Chunk| chunk.before.take().map(|before| chunk.additions(&before, classes));
        self.chunks_mut().par_iter_mut().filter(|chunk| chunk.before.is_some()).filter_map(of_one).collect()
    }

    /// Bytes that remembering takes.
    pub(super) fn size_of_additions(&self) -> usize {
        let of_one = |before: &Before| {
            let held = before.held.capacity() * size_of::<Held>() + before.places.capacity() * size_of::<u32>();
            size_of::<Before>() + held + before.bytes.capacity() + before.let_go.byte_size()
        };
        self.chunks().iter().filter_map(|chunk| chunk.before.as_deref()).map(of_one).sum()
    }
}
