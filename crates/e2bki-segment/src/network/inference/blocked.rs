//! Feature maps in blocks of eight channels (nChw8c), and the buffer pool behind them.

use std::sync::Mutex;

use super::simd::{Eight, LANES};

/// Blocks × rows × columns × eight channels.
#[derive(Debug)]
pub(super) struct BlockedTensor {
    pub(super) blocks: usize,
    pub(super) height: usize,
    pub(super) width: usize,
    /// Distance between blocks: an odd number of cache lines, so that a pixel's blocks do not fall into the same cache set.
    pub(super) stride: usize,
    /// At least as many as needed.
    values: Vec<Eight>,
}

/// A layer's input: blocks of channels, `stride` apart.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) values: &'a [Eight],
    pub(super) stride: usize,
    pub(super) blocks: usize,
}

/// Some pixels of all blocks, written by one thread.
pub(super) struct Chunk<'a> {
    /// The first pixel.
    pub(super) from: usize,
    /// Number of pixels.
    pub(super) count: usize,
    /// Their values by block.
    pub(super) blocks: Vec<&'a mut [Eight]>,
}

impl BlockedTensor {
    pub(super) fn pixels(&self) -> usize {
        self.height * self.width
    }

    pub(super) fn source(&self) -> View<'_> {
        View { values: &self.values, stride: self.stride, blocks: self.blocks }
    }

    pub(super) fn block(&self, number: usize) -> &[Eight] {
        &self.values[number * self.stride..][..self.pixels()]
    }

    /// All blocks.
    pub(super) fn blocks_mut(&mut self) -> impl Iterator<Item = &mut [Eight]> {
        let pixels = self.pixels();
        self.values.chunks_mut(self.stride).take(self.blocks).map(move |block| &mut block[..pixels])
    }

    /// The tensor divided into runs of `count` pixels.
    pub(super) fn chunks(&mut self, count: usize) -> Vec<Chunk<'_>> {
        let (pixels, blocks) = (self.pixels(), self.blocks);
        let empty = |from: usize| Chunk { from, count: count.min(pixels - from), blocks: Vec::with_capacity(blocks) };
        let mut all: Vec<Chunk<'_>> = (0..pixels).step_by(count).map(empty).collect();
        for block in self.blocks_mut() {
            block.chunks_mut(count).zip(&mut all).for_each(|(pixels, chunk)| chunk.blocks.push(pixels));
        }
        all
    }
}

/// Buffers reused from image to image: nothing in them is read before it is written.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    free: Vec<Vec<Eight>>,
    scratch: Mutex<Vec<Vec<Eight>>>,
    /// Weights of a layer whose inputs are scaled.
    pub(super) weights: Vec<Eight>,
}

impl Buffers {
    pub(super) fn tensor(&mut self, channels: usize, height: usize, width: usize) -> BlockedTensor {
        let blocks = channels.div_ceil(LANES);
        let stride = (height * width).div_ceil(4) * 4 + 2;
        let mut values = self.free.pop().unwrap_or_default();
        if values.len() < blocks * stride {
            values = vec![[0.0; LANES]; blocks * stride];
        }
        BlockedTensor { blocks, height, width, stride, values }
    }

    /// Returns a tensor's memory to the pool.
    pub(super) fn recycle(&mut self, tensor: BlockedTensor) {
        self.free.push(tensor.values);
    }

    /// Calls `work` with scratch memory of this size.
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
