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
        let (mask, before) = (self.mask(), (self.labels(), &*self.values));
        let (mut first, mut next, mut rows) = (0, 0, [0; 4]);
        for (row, (stale, kept)) in stale.0.iter().zip(mask.0).enumerate() {
            if *stale | kept == 0 {
                continue;
            }
            let old = next..next + kept.count_ones() as usize;
            next = old.end;
            if *stale == 0 {
                labels.extend_from_slice(&before.0[old.clone()]);
                values.extend_from_slice(&before.1[old]);
                rows[row / 64] |= 1 << (row % 64);
                words.push(kept);
                continue;
            }
            // Of what was asked about, only what something reaches is there now.
            let asked = stale & scratch.reached.0[row];
            let with_mass = if asked == 0 { 0 } else { reached.as_ref().map_or(0, |sums| sums.with_mass(first)) };
            let (fresh, kept_now) = (asked & with_mass, kept & !stale);
            let now = fresh | kept_now;
            let mut left = now;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                if kept_now >> bit & 1 == 1 {
                    // Its number among those that were there.
                    let at = old.start + (kept & !(u16::MAX << bit)).count_ones() as usize;
                    labels.push(before.0[at]);
                    values.push(before.1[at]);
                } else if let Some(sums) = &reached {
                    let (sums, mass, weighted) = sums.get(first + bit as usize);
                    let label = argmax(sums);
                    labels.push(scratch.classes[label]);
                    values.push([sums[label], mass, weighted]);
                }
            }
            if now != 0 {
                rows[row / 64] |= 1 << (row % 64);
                words.push(now);
            }
            // Only rows that were asked about have places.
            first += SIDE as usize;
        }
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
