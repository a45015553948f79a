//! Feature maps as blocks of eight channels, and the memory that they and scratch space come from.

use std::sync::Mutex;

use super::lanes::{Eight, LANES};

/// Blocks × rows × columns × eight channels.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) blocks: usize,
    pub(super) height: usize,
    pub(super) width: usize,
    /// From a block to the next: an odd number of cache lines, so that a place's blocks do not compete for the same ones.
    pub(super) stride: usize,
    /// As many as are needed, or more.
    values: Vec<Eight>,
}

/// Where a layer reads: blocks of channels, `stride` apart.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) values: &'a [Eight],
    pub(super) stride: usize,
    pub(super) blocks: usize,
}

/// Some places of all blocks of a field, to be written by one thread.
pub(super) struct Share<'a> {
    /// The first place.
    pub(super) from: usize,
    /// Number of places.
    pub(super) count: usize,
    /// They, block by block.
    pub(super) blocks: Vec<&'a mut [Eight]>,
}

impl Field {
    pub(super) fn places(&self) -> usize {
        self.height * self.width
    }

    pub(super) fn source(&self) -> Source<'_> {
        Source { values: &self.values, stride: self.stride, blocks: self.blocks }
    }

    pub(super) fn block(&self, number: usize) -> &[Eight] {
        &self.values[number * self.stride..][..self.places()]
    }

    /// The field's blocks.
    pub(super) fn blocks_mut(&mut self) -> impl Iterator<Item = &mut [Eight]> {
        let places = self.places();
        self.values.chunks_mut(self.stride).take(self.blocks).map(move |block| &mut block[..places])
    }

    /// The field divided into runs of `count` places.
    pub(super) fn shares(&mut self, count: usize) -> Vec<Share<'_>> {
        let (places, blocks) = (self.places(), self.blocks);
        let empty = |from: usize| Share { from, count: count.min(places - from), blocks: Vec::with_capacity(blocks) };
        let mut all: Vec<Share<'_>> = (0..places).step_by(count).map(empty).collect();
        for block in self.blocks_mut() {
            block.chunks_mut(count).zip(&mut all).for_each(|(places, share)| share.blocks.push(places));
        }
        all
    }
}

/// Memory that is used again for the next image: nothing in it is ever read before it is written.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    free: Vec<Vec<Eight>>,
    scratch: Mutex<Vec<Vec<Eight>>>,
    /// Of a layer whose inputs are scaled.
    pub(super) weights: Vec<Eight>,
}

impl Buffers {
    pub(super) fn field(&mut self, channels: usize, height: usize, width: usize) -> Field {
        let blocks = channels.div_ceil(LANES);
        let stride = (height * width).div_ceil(4) * 4 + 2;
        let mut values = self.free.pop().unwrap_or_default();
        if values.len() < blocks * stride {
            values = vec![[0.0; LANES]; blocks * stride];
        }
        Field { blocks, height, width, stride, values }
    }

    /// Takes a field's memory back.
    pub(super) fn take(&mut self, field: Field) {
        self.free.push(field.values);
    }

    /// Calls `work` with so much scratch memory.
    pub(super) fn with_scratch<R>(&self, count: usize, work: impl FnOnce(&mut [Eight]) -> R) -> R {
        let pop = || self.scratch.lock().ok()?.pop();
        let mut scratch = pop().unwrap_or_default();
        if scratch.len() < count {
            scratch = vec![[0.0; LANES]; count];
        }
        let done = work(&mut scratch[..count]);
        if let Ok(mut all) = self.scratch.lock() {
            all.push(scratch);
        }
        done
    }
}
