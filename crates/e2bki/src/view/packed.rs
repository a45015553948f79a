//! The voxels of a block that hold evidence, in few bytes: 14 each, and 2 for every row that has some.

use super::evaluate::Scratch;
use super::lattice::{Mask, SIDE};
use super::memory::KernelMemory;
use crate::maths::argmax;

/// A voxel: most likely class; its evidence, Σk and Σku.
type Stored = (u16, [f32; 3]);

/// Voxels of a block, in the order of their index.
#[derive(Debug, Clone, Default)]
pub(super) struct Packed {
    /// A bit for every row that has voxels.
    rows: [u64; 4],
    /// The bits of each of these rows, then the class of every voxel.
    words: Box<[u16]>,
    values: Box<[[f32; 3]]>,
    /// Kernel values, if they are remembered.
    pub(super) memory: Option<Box<KernelMemory>>,
    /// Number of the update that computed it last.
    pub(super) update: u32,
}

/// Buffers for [`Packed::replace`].
#[derive(Default)]
pub(super) struct Buffers {
    words: Vec<u16>,
    labels: Vec<u16>,
    values: Vec<[f32; 3]>,
}

impl Packed {
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    fn labels(&self) -> &[u16] {
        &self.words[self.words.len() - self.len()..]
    }

    /// Which voxels hold evidence.
    pub(super) fn mask(&self) -> Mask {
        let (mut mask, mut words) = (Mask::default(), self.words.iter());
        for (first, bits) in (0..).step_by(64).zip(self.rows) {
            let mut bits = bits;
            while bits != 0 {
                mask.0[first + bits.trailing_zeros() as usize] = words.next().copied().unwrap_or(0);
                bits &= bits - 1;
            }
        }
        mask
    }

    /// The voxels.
    pub(super) fn stored(&self) -> impl Iterator<Item = Stored> {
        self.labels().iter().copied().zip(self.values.iter().copied())
    }

    /// Keeps the voxels outside of a mask and takes those inside of it from `scratch`.
    pub(super) fn replace(&mut self, stale: &Mask, scratch: &Scratch, buffers: &mut Buffers) {
        let Buffers { words, labels, values } = buffers;
        words.clear();
        labels.clear();
        values.clear();
        let reached = scratch.rows();
        let most_likely = |place: usize| {
            let (sums, mass, weighted) = reached.as_ref()?.get(place);
            if mass <= 0.0 {
                return None;
            }
            let label = argmax(sums);
            Some((scratch.classes[label], [sums[label], mass, weighted]))
        };
        let (mask, mut before) = (self.mask(), self.stored());
        let (mut first, mut rows) = (0, [0; 4]);
        for (row, (stale, kept)) in stale.0.iter().zip(mask.0).enumerate() {
            // Where nothing reaches any more, only what was not asked about stays.
            let mut candidates = if reached.is_some() { stale & scratch.reached.0[row] | kept } else { kept };
            let mut now = 0;
            while candidates != 0 {
                let bit = candidates.trailing_zeros();
                candidates &= candidates - 1;
                let mut stored = if kept >> bit & 1 == 1 { before.next() } else { None };
                if stale >> bit & 1 == 1 {
                    stored = most_likely(first + bit as usize);
                }
                if let Some((label, value)) = stored {
                    now |= 1 << bit;
                    labels.push(label);
                    values.push(value);
                }
            }
            if now != 0 {
                rows[row / 64] |= 1 << (row % 64);
                words.push(now);
            }
            // Only rows that were asked about have places.
            first += if *stale == 0 { 0 } else { SIDE as usize };
        }
        drop(before);
        words.extend_from_slice(labels);
        self.rows = rows;
        refill(&mut self.words, words);
        refill(&mut self.values, values);
    }

    pub(super) fn byte_size(&self) -> usize {
        let memory = self.memory.as_ref().map_or(0, |memory| size_of::<KernelMemory>() + memory.byte_size());
        size_of::<Self>() + size_of_val(&*self.words) + size_of_val(&*self.values) + memory
    }
}

/// Copies values, in the same memory where there are as many.
fn refill<T: Copy>(old: &mut Box<[T]>, new: &[T]) {
    if old.len() == new.len() {
        old.copy_from_slice(new);
    } else {
        *old = new.into();
    }
}
