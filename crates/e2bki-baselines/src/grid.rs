//! The voxel map: blocks in a hash map, updated in parallel and read in a fixed order.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::block::{Block, Scratch};
use crate::lattice::{BlockKey, Lattice, pack, unpack};

/// Sources per parallel task; fixed, so that results do not depend on the number of threads.
const CHUNK: usize = 4096;

/// A frame's evidence, ready to be put into blocks. Sources are points, bins or cells.
pub(crate) trait Spread: Sync {
    /// Number of sources.
    fn sources(&self) -> usize;

    /// Number of channels.
    fn channels(&self) -> usize;

    /// Calls for every block to which a source may add.
    fn touch(&self, source: usize, each: impl FnMut(BlockKey));

    /// Adds the sources that touch a block, ascending, to the rows of its voxels.
    fn fill(&self, block: BlockKey, sources: &[u128], scratch: &mut Scratch);
}

/// A voxel map.
#[derive(Debug, Clone)]
pub(crate) struct Grid {
    pub(crate) lattice: Lattice,
    blocks: FxHashMap<BlockKey, Block>,
}

impl Grid {
    pub(crate) fn new(lattice: Lattice) -> Self {
        Self { lattice, blocks: FxHashMap::default() }
    }

    /// Adds a frame's evidence; returns the number of voxels that received some.
    pub(crate) fn add(&mut self, spread: &impl Spread) -> usize {
        let chunks = spread.sources().div_ceil(CHUNK);
        let mut touched: Vec<u128> = (0..chunks)
            .into_par_iter()
            .flat_map_iter(|chunk| {
                let mut touched = Vec::with_capacity(2 * CHUNK);
                for source in chunk * CHUNK..spread.sources().min((chunk + 1) * CHUNK) {
                    spread.touch(source, |block| touched.push(pack(block, source as u32)));
                }
                touched
            })
            .collect();
        touched.par_sort_unstable();
        let groups: Vec<&[u128]> = touched.chunk_by(|a, b| a >> 32 == b >> 32).collect();
        let fresh: Vec<Option<(BlockKey, usize, Block)>> = groups
            .par_iter()
            .map_init(
                || Scratch::new(spread.channels()),
                |scratch, group| {
                    let (key, _) = unpack(*group.first()?);
                    spread.fill(key, group, scratch);
                    let count = scratch.count();
                    Block::merged(self.blocks.get(&key), scratch).map(|block| (key, count, block))
                },
            )
            .collect();
        let mut updated = 0;
        for (key, count, block) in fresh.into_iter().flatten() {
            updated += count;
            self.blocks.insert(key, block);
        }
        updated
    }

    /// Channels and sums of the voxel that holds a world position.
    pub(crate) fn at(&self, position: [f64; 3]) -> Option<(&[u16], &[f32])> {
        let place = self.lattice.place(position)?;
        self.blocks.get(&place.block())?.row(place.local())
    }

    /// Every voxel's centre, channels and sums, by ascending block and number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ([f64; 3], &[u16], &[f32])> {
        let mut keys: Vec<BlockKey> = self.blocks.keys().copied().collect();
        keys.sort_unstable();
        keys.into_iter().filter_map(|key| self.blocks.get(&key).map(|block| (key, block))).flat_map(
            move |(key, block)| {
                block.rows().map(move |(voxel, channels, sums)| (self.lattice.center(key, voxel), channels, sums))
            },
        )
    }

    pub(crate) fn byte_size(&self) -> usize {
        #[allow(clippy::iter_over_hash_type)] // order is irrelevant to a sum
        let blocks: usize = self.blocks.values().map(Block::byte_size).sum();
        self.blocks.capacity() * (size_of::<(BlockKey, Block)>() + 1) + blocks
    }
}
