//! The live voxel view: a cache, kept up to date with every frame.
//!
//! A voxel keeps what its scalar outputs need (16 bytes); all α of a place are one query away and agree exactly.

use std::collections::VecDeque;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::belief::{Belief, Terms};
use super::evaluate::Scratch;
use super::lattice::Lattice;
use super::packed::{Buffers, Packed};
use super::places::BlockVoxels;
use super::reaching::Reaching;
use crate::changes::Changes;
use crate::config::Distance;
use crate::keys::VoxelBlock;
use crate::map::{Aabb, PrimitiveSet, Stale};

/// A voxel of the live view.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveVoxel {
    /// Centre, metres.
    pub center: [f64; 3],
    /// Belief at the centre.
    pub belief: Belief,
}

/// A block of the live view: 16×16×16 voxels.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveBlock {
    /// Its number along each axis, counted from the world's origin.
    pub key: [i32; 3],
    /// Its voxels that hold evidence, in a fixed order.
    pub voxels: Vec<LiveVoxel>,
}

/// Blocks of which it is known at a time who reaches them: several scans, and a few megabytes.
const AT_ONCE: usize = 1 << 12;

/// Updates of the view for which kernel values are kept in blocks that are not touched again.
const REMEMBERED: u32 = 1;

/// What bringing a view up to date took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Work {
    pub(crate) voxels: usize,
    pub(crate) kernel_values: usize,
}

/// The view.
#[derive(Debug, Clone)]
pub(crate) struct LiveGrid {
    lattice: Lattice,
    terms: Terms,
    distance: Distance,
    blocks: FxHashMap<VoxelBlock, Box<Packed>>,
    len: usize,
    /// Number of the latest update.
    update: u32,
    /// Blocks that remember kernel values, with the update that computed them.
    remembering: VecDeque<(u32, VoxelBlock)>,
    /// Whether kernel values are remembered at all.
    pub(crate) remembers: bool,
}

impl LiveGrid {
    pub(crate) fn new(resolution: f64, terms: Terms, distance: Distance) -> Self {
        let lattice = Lattice { resolution, planar: false };
        let (blocks, remembering) = (FxHashMap::default(), VecDeque::new());
        Self { lattice, terms, distance, blocks, len: 0, update: 0, remembering, remembers: true }
    }

    /// Remembers kernel values, or not.
    pub(crate) fn remembering(self, remembers: bool) -> Self {
        Self { remembers, ..self }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether there may be a voxel in a box.
    pub(crate) fn shows(&self, bounds: &Aabb) -> bool {
        let stale = Stale { boxes: vec![*bounds], ..Stale::default() };
        let masks = if self.blocks.is_empty() { Vec::new() } else { self.lattice.masks(&stale, self.distance) };
        masks.iter().any(|(block, _)| self.blocks.contains_key(block))
    }

    /// Computes the voxels that are out of date anew.
    pub(crate) fn refresh(&mut self, set: &PrimitiveSet, stale: &Stale) -> Work {
        self.update = self.update.wrapping_add(1);
        let stale = self.lattice.masks(stale, self.distance);
        // Taken out while they are worked on: their memory is used again, or given back, by all threads.
        let old: Vec<Box<Packed>> =
            stale.iter().map(|(block, _)| self.blocks.remove(block).unwrap_or_default()).collect();
        self.len -= old.iter().map(|packed| packed.len()).sum::<usize>();
        let (mut old, mut fresh) = (old.into_iter(), Vec::with_capacity(stale.len()));
        for part in stale.chunks(AT_ONCE) {
            let reaching = Reaching::new(set, &self.lattice, part);
            let old: Vec<Box<Packed>> = old.by_ref().take(part.len()).collect();
            let blocks = part.par_iter().zip(old).enumerate();
            fresh.par_extend(blocks.map_init(
                <(Scratch, Buffers)>::default,
                |(scratch, buffers), (number, ((block, mask), mut packed))| {
                    let places = BlockVoxels::new(&self.lattice, *block, mask, self.distance);
                    packed.memory = self.remembers.then(|| packed.memory.take().unwrap_or_default());
                    let (reaching, known) = (reaching.of(number), packed.memory.as_deref());
                    scratch.labels(set, self.terms, self.distance, places, reaching, known);
                    packed.replace(mask, scratch, buffers);
                    packed.update = self.update;
                    if let Some(memory) = &mut packed.memory {
                        memory.copy(&scratch.memory);
                    }
                    (packed, scratch.kernel_values)
                },
            ));
        }
        let mut work = Work::default();
        for ((block, mask), (packed, kernel_values)) in stale.into_iter().zip(fresh) {
            work.voxels += mask.count();
            work.kernel_values += kernel_values;
            if packed.len() > 0 {
                self.len += packed.len();
                self.blocks.insert(block, packed);
                self.remembering.push_back((self.update, block));
            }
        }
        while let Some((update, block)) = self.remembering.front().copied() {
            if self.update.wrapping_sub(update) <= REMEMBERED {
                break;
            }
            self.remembering.pop_front();
            if let Some(packed) = self.blocks.get_mut(&block).filter(|packed| packed.update == update) {
                packed.memory = None;
            }
        }
        work
    }

    /// Voxels by ascending block and index.
    pub(crate) fn iter(&self) -> impl Iterator<Item = LiveVoxel> {
        self.keys().into_iter().flat_map(|key| self.of_block(key))
    }

    fn keys(&self) -> Vec<VoxelBlock> {
        let mut keys: Vec<VoxelBlock> = self.blocks.keys().copied().collect();
        keys.sort_unstable();
        keys
    }

    fn of_block(&self, key: VoxelBlock) -> impl Iterator<Item = LiveVoxel> {
        self.blocks.get(&key).into_iter().flat_map(move |packed| {
            let voxels: Vec<usize> = packed.mask().voxels().collect();
            voxels.into_iter().zip(packed.stored()).map(move |(voxel, (label, values))| LiveVoxel {
                center: self.lattice.center_of(key, voxel),
                belief: Belief::of_parts(self.terms, label, values),
            })
        })
    }

    /// All blocks, or those in which views can differ after changes, the emptied ones too; in ascending order.
    pub(crate) fn changed(&self, changes: &Changes) -> Vec<LiveBlock> {
        let keys = if changes.everything { self.keys() } else { self.lattice.blocks_of(changes) };
        keys.into_par_iter().map(|key| LiveBlock { key: key.0, voxels: self.of_block(key).collect() }).collect()
    }

    pub(crate) fn byte_size(&self) -> usize {
        #[allow(clippy::iter_over_hash_type)] // order is irrelevant to a sum
        let blocks: usize = self.blocks.values().map(|packed| packed.byte_size()).sum();
        self.blocks.capacity() * (size_of::<(VoxelBlock, Box<Packed>)>() + 1) + blocks
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Reach, Update};
    use crate::{ClassSet, Config, Frame, Mapper, Pose, Result, Semantics};

    #[test]
    fn voxels_are_the_same_with_and_without_remembered_kernels() -> Result<()> {
        for reach in [Reach::Uniform, Reach::Surface] {
            let config = Config::default().with(|c| (c.views.update, c.kernel.reach) = (Update::EveryFrame, reach));
            let make = |remember: bool| -> Result<Mapper> {
                let mut map = Mapper::new(ClassSet::from_names(["a", "b", "c"])?, config.clone())?;
                map.remember_kernels(remember);
                Ok(map)
            };
            let (mut with, mut without) = (make(true)?, make(false)?);
            for frame in 0..6_i32 {
                let value = |i: i32, k: i32| ((frame * 37 + i * 31 + k * 17) * 7919 % 1000) as f32 * 0.006;
                let points: Vec<[f32; 3]> =
                    (0..400).map(|i| [2.0 + value(i, 0), value(i, 1), 0.1 * value(i, 2)]).collect();
                let labels: Vec<u32> = (0..400).map(|i| (i + frame as u32) % 3).collect();
                let world_from_sensor = Pose::from_translation([f64::from(frame), 0.0, 0.0])?;
                let frame =
                    Frame { points: &points, semantics: Semantics::Labels(&labels), world_from_sensor, scan: None };
                with.insert(&frame)?;
                without.insert(&frame)?;
                assert!(with.live_voxel_count() > 100 && with.live_voxels().eq(without.live_voxels()), "{reach:?}");
            }
        }
        Ok(())
    }

    #[test]
    fn kernel_values_of_places_left_behind_are_forgotten() -> Result<()> {
        let config =
            Config::default().with(|c| (c.views.update, c.kernel.reach) = (Update::EveryFrame, Reach::Uniform));
        let mut map = Mapper::new(ClassSet::from_names(["a", "b"])?, config)?;
        let points: Vec<[f32; 3]> = (0..900).map(|i| [0.1 * (i % 30) as f32, 0.1 * (i / 30) as f32, -1.0]).collect();
        let labels: Vec<u32> = (0..900).map(|i| u32::from(i % 30 > 12)).collect();
        let mut bytes_per_voxel = |metres: f64| -> Result<f64> {
            let world_from_sensor = Pose::from_translation([metres, 0.0, 0.0])?;
            map.insert(&Frame {
                points: &points,
                semantics: Semantics::Labels(&labels),
                world_from_sensor,
                scan: None,
            })?;
            Ok(map.byte_size().voxels as f64 / map.live_voxel_count() as f64)
        };
        let first = bytes_per_voxel(0.0)?;
        let mut last = first;
        for i in 1..40 {
            last = bytes_per_voxel(20.0 * f64::from(i))?;
        }
        assert!(last < 0.6 * first, "{first} then {last} bytes per voxel");
        Ok(())
    }
}
