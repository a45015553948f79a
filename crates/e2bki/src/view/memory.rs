//! Kernel values that are wanted again: most primitives that reach a stale voxel have not changed themselves.

/// Kernel values of a block's voxels, by primitive.
#[derive(Debug, Clone, Default)]
pub(crate) struct KernelMemory {
    /// By ascending order.
    entries: Vec<Entry>,
    /// Numbers of the voxels that each primitive reaches, one primitive after the other, and the values there.
    voxels: Vec<u16>,
    kernel: Vec<f32>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The place of the primitive in the order of summation.
    order: u64,
    /// Version of the primitive that the values belong to.
    version: u32,
    /// Where its values end.
    end: u32,
}

impl KernelMemory {
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.voxels.clear();
        self.kernel.clear();
    }

    /// The voxels and values of a primitive, if it has not changed since. They must come in ascending order; `cursor`
    /// starts at 0.
    #[inline(always)]
    pub(crate) fn find(&self, order: u64, version: u32, cursor: &mut usize) -> Option<(&[u16], &[f32])> {
        while self.entries.get(*cursor)?.order < order {
            *cursor += 1;
        }
        // Without a version nothing says that the values are of the same kernel.
        let same = |entry: &&Entry| entry.order == order && entry.version == version && version != 0;
        let entry = self.entries.get(*cursor).filter(same)?;
        let start = cursor.checked_sub(1).and_then(|before| self.entries.get(before)).map_or(0, |before| before.end);
        let values = start as usize..entry.end as usize;
        Some((self.voxels.get(values.clone())?, self.kernel.get(values)?))
    }

    /// Adds the values of a primitive; they must come in ascending order.
    #[inline(always)]
    pub(crate) fn push(&mut self, order: u64, version: u32, voxels: &[u16], kernel: &[f32]) {
        self.voxels.extend_from_slice(voxels);
        self.kernel.extend_from_slice(kernel);
        self.entries.push(Entry { order, version, end: self.kernel.len() as u32 });
    }

    /// Becomes a copy of another, in the same memory where that fits.
    pub(crate) fn copy(&mut self, other: &Self) {
        let fits = |capacity: usize, len: usize| (len..=2 * len).contains(&capacity);
        if fits(self.kernel.capacity(), other.kernel.len()) && fits(self.entries.capacity(), other.entries.len()) {
            self.entries.clone_from(&other.entries);
            self.voxels.clone_from(&other.voxels);
            self.kernel.clone_from(&other.kernel);
        } else {
            *self = other.clone();
        }
    }

    pub(crate) fn byte_size(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.voxels.capacity() * 2 + self.kernel.capacity() * 4
    }
}
