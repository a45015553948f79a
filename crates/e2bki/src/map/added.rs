//! What frames add to primitives while a submap grows. What a primitive held before the first of them is copied, packed as it
//! is, and when the submap ends so is what it holds then. The difference is what they added: sums are exact, so it is. It is
//! taken when somebody asks; a second sum would cost as much as the first.

use rayon::prelude::*;

use super::chunk::{CHUNK, Chunk};
use super::packed::{SLACK, Widths, each_known, len_of, sums_of};
use super::slots::Slots;
use crate::primitive::Sums;

/// A row of bytes, and what is kept outside of it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Row {
    /// Where it begins.
    at: u32,
    widths: u16,
    origin: [i32; 3],
    /// 0 of a primitive that was not there.
    weight: u32,
}

impl Row {
    fn sums(&self, bytes: &[u8]) -> Sums {
        sums_of(bytes, self.at as usize, Widths::of_bits(self.widths), self.origin, self.weight)
    }

    fn each_known(&self, bytes: &[u8], classes: usize, visit: impl FnMut(usize, i64)) {
        each_known(bytes, self.at as usize, Widths::of_bits(self.widths), classes, visit);
    }
}

/// What a primitive held before and after.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Grown {
    before: Row,
    after: Row,
    /// Σ over the points that were added of the number of their frame in the submap.
    frames: u64,
    label: u16,
}

/// What was added to some primitives.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Additions {
    grown: Vec<Grown>,
    /// Rows from before, and those from after.
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Additions {
    pub(crate) fn len(&self) -> usize {
        self.grown.len()
    }

    pub(crate) fn byte_size(&self) -> usize {
        self.grown.capacity() * size_of::<Grown>() + self.before.capacity() + self.after.capacity()
    }

    pub(crate) fn label(&self, row: usize) -> u16 {
        self.grown[row].label
    }

    /// Σ over the points of the number of their frame in the submap.
    pub(crate) fn frames(&self, row: usize) -> u64 {
        self.grown[row].frames
    }

    /// The sums that were added to a primitive.
    pub(crate) fn sums(&self, row: usize) -> Sums {
        let Grown { before, after, .. } = &self.grown[row];
        let mut sums = after.sums(&self.after);
        if before.weight > 0 {
            // Within limits: it was part of them.
            sums.add_times(&before.sums(&self.before), -1);
            sums.settle();
        }
        sums
    }

    /// Adds the log-evidence that was added to a primitive.
    pub(crate) fn add_evidence(&self, row: usize, to: &mut [i64]) {
        let Grown { before, after, .. } = &self.grown[row];
        // What is left in the end is within limits, whatever it is on the way.
        after.each_known(&self.after, to.len(), |class, value| to[class] = to[class].wrapping_add(value));
        if before.weight > 0 {
            before.each_known(&self.before, to.len(), |class, value| to[class] = to[class].wrapping_sub(value));
        }
    }
}

/// What is kept of a primitive while a submap grows: in one place, as every frame that sees it looks at it.
#[derive(Debug, Clone, Copy, Default)]
struct Touched {
    frames: u64,
    /// One more than the place of what it held before, or 0 if no frame added to it.
    place: u32,
}

/// What the primitives of a chunk held before, of those that were added to.
#[derive(Debug, Clone)]
pub(super) struct Before {
    /// For every primitive.
    touched: Vec<Touched>,
    held: Vec<Row>,
    bytes: Vec<u8>,
    /// What was added to primitives that have changed in another way since; rows from before are among `bytes`.
    let_go: Vec<Grown>,
    after: Vec<u8>,
}

impl Default for Before {
    fn default() -> Self {
        let (touched, bytes) = (vec![Touched::default(); CHUNK], vec![0; SLACK]);
        Self { touched, held: Vec::new(), after: bytes.clone(), bytes, let_go: Vec::new() }
    }
}

impl Before {
    fn add(&mut self, i: usize, row: Row, frames: u64) {
        self.held.push(row);
        self.touched[i] = Touched { frames, place: self.held.len() as u32 };
    }

    /// Something of a primitive, to ask for its memory.
    pub(super) fn some_of(&self, i: usize) -> u32 {
        self.touched[i].place
    }

    /// Forgets everything, but keeps the memory.
    fn clear(&mut self) {
        self.held.clear();
        self.touched.fill(Touched::default());
        self.bytes.truncate(SLACK);
        self.let_go.clear();
        self.after.truncate(SLACK);
    }

    fn byte_size(&self) -> usize {
        let held = self.held.capacity() * size_of::<Row>() + self.touched.capacity() * size_of::<Touched>();
        let let_go = self.let_go.capacity() * size_of::<Grown>() + self.after.capacity();
        size_of::<Self>() + held + self.bytes.capacity() + let_go
    }
}

impl Chunk {
    /// Copies the row of a primitive behind others.
    #[inline(always)]
    fn copy_row(&self, i: usize, classes: usize, to: &mut Vec<u8>) -> Row {
        let (at, widths, origin, weight) = self.heads[i].row();
        let (len, begin) = (len_of(&self.bytes, at, widths, classes), to.len() - SLACK);
        to.truncate(begin);
        // With the bytes behind it, which may be read.
        to.extend_from_slice(&self.bytes[at..at + len + SLACK]);
        Row { at: begin as u32, widths: widths.bits(), origin, weight }
    }

    /// A frame is about to add to a primitive; `frames` is its number times its points.
    #[inline(always)]
    pub(super) fn will_grow(&mut self, i: usize, classes: usize, frames: u64) {
        let mut before = self.before.take().unwrap_or_default();
        let touched = &mut before.touched[i];
        if touched.place == 0 {
            let row = self.copy_row(i, classes, &mut before.bytes);
            before.add(i, row, frames);
        } else {
            touched.frames = touched.frames.saturating_add(frames);
        }
        self.before = Some(before);
    }

    /// A frame has made a primitive.
    pub(super) fn was_made(&mut self, i: usize, frames: u64) {
        self.before.get_or_insert_default().add(i, Row::default(), frames);
    }

    /// A primitive is about to be changed by something that is not a frame of the submap, or taken out.
    #[inline(always)]
    pub(super) fn let_go(&mut self, i: usize, classes: usize) {
        let kept = self.before.as_ref().is_some_and(|before| before.touched[i].place != 0);
        if let Some(mut before) = self.before.take_if(|_| kept) {
            let touched = std::mem::take(&mut before.touched[i]);
            let grown = self.grown(i, &touched, &before.held, classes, &mut before.after);
            before.let_go.extend(grown);
            self.before = Some(before);
        }
    }

    /// A primitive as it was and as it is, if frames added to it.
    fn grown(&self, i: usize, touched: &Touched, held: &[Row], classes: usize, to: &mut Vec<u8>) -> Option<Grown> {
        let before = held.get((touched.place as usize).checked_sub(1)?)?;
        let after = self.copy_row(i, classes, to);
        Some(Grown { before: *before, after, frames: touched.frames, label: self.heads[i].label })
    }

    fn additions(&self, before: &Before, classes: usize) -> Additions {
        let mut grown = Vec::with_capacity(before.held.len());
        grown.extend_from_slice(&before.let_go);
        let each = self.bytes.len() / self.heads.len().max(1) + 8;
        let mut after = Vec::with_capacity(before.after.len() + before.held.len() * each);
        after.extend_from_slice(&before.after);
        // In the order of memory.
        let all = before.touched.iter().enumerate();
        grown.extend(all.filter_map(|(i, touched)| self.grown(i, touched, &before.held, classes, &mut after)));
        Additions { grown, before: before.bytes.clone(), after }
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
        let of_one = |chunk: &mut Chunk| {
            let mut before = chunk.before.take()?;
            let additions = chunk.additions(&before, classes);
            before.clear();
            Some((additions, *before))
        };
        let (additions, spare): (Vec<_>, Vec<_>) = self.chunks_mut().par_iter_mut().filter_map(of_one).unzip();
        // Memory that is in use already: for the next submap.
        self.spare = spare;
        additions
    }

    /// Bytes that remembering takes.
    pub(super) fn size_of_additions(&self) -> usize {
        let chunks = self.chunks().iter().filter_map(|chunk| chunk.before.as_deref());
        chunks.chain(&self.spare).map(Before::byte_size).sum()
    }
}
