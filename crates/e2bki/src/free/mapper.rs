//! What a map does with its counters.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::flips::Weights;
use super::settings::CUBE_M;
use super::space::kappas;
use super::{Counters, Existence, FreeSpace, MAX_FRAMES, Metre};
use crate::error::{Error, Result};
use crate::map::BlockKey;
use crate::mapper::Mapper;
use crate::pose::Pose;

impl Mapper {
    /// What was seen and seen through, if `free_space.enabled`.
    pub fn free_space(&self) -> Option<&Counters> {
        self.free.as_ref().map(|free| &free.counters)
    }

    /// Puts counters in place of those the map has, as from a file. Without effect unless `free_space.enabled`.
    pub fn set_free_space(&mut self, counters: Counters) {
        if self.free.is_some() {
            self.free = Some(FreeSpace::of(counters));
            self.look_everywhere();
        }
    }

    /// Takes the counters of some columns of ground out of the map, by their numbers in multiples of
    /// [`COLUMN_M`](super::COLUMN_M), to be kept elsewhere with the primitives there. The frames counted stay counted.
    pub fn take_free_space(&mut self, wanted: impl Fn([i32; 2]) -> bool) -> BTreeMap<[i32; 2], Counters> {
        self.free.as_mut().map_or_else(BTreeMap::new, |free| free.counters.take_columns(wanted))
    }

    /// Puts counters back that were taken out by [`Self::take_free_space`], before the primitives there are put back.
    pub fn put_free_space(&mut self, counters: Counters) {
        if let Some(free) = &mut self.free {
            free.counters.put_back(counters);
        }
    }

    /// Says how many frames were counted, for a map of which only a part is in memory.
    pub fn set_free_space_frames(&mut self, frames: u64) -> Result<()> {
        match &mut self.free {
            Some(_) if frames > MAX_FRAMES => Err(Error::Argument {
                name: "frames",
                found: frames.to_string(),
                allowed: format!("up to {MAX_FRAMES}"),
            }),
            Some(free) => {
                free.counters.set_frames(frames);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// From now on the map has no free space: it was made without, so that what was hit before is not known.
    pub fn forget_free_space(&mut self) {
        if self.free.take().is_some() {
            self.config.free_space.enabled = false;
            self.look_everywhere();
        }
    }

    /// Columns of ground, multiples of [`COLUMN_M`](super::COLUMN_M) along x and y, in which counters changed after the
    /// change of that number (see [`Mapper::changes_since`]); in ascending order.
    pub fn free_space_since(&self, number: u64) -> Vec<[i32; 2]> {
        self.free.as_ref().map_or_else(Vec::new, |free| free.columns_since(number))
    }

    /// For every point of a scan whether it is in space that is known to be free: it moves. All false without counters.
    pub fn moving(&self, points: &[[f32; 3]], world_from_sensor: &Pose) -> Vec<bool> {
        match &self.free {
            Some(free) => self.run(|| free.moving(points, world_from_sensor)),
            None => vec![false; points.len()],
        }
    }

    /// How free space acts on beliefs, if it does.
    pub(crate) fn existence(&self) -> Option<Existence<'_>> {
        let free = self.free.as_ref().filter(|free| !free.counters.is_empty())?;
        Some(Existence::new(free, self.classes(), self.config()))
    }

    /// The weights of hits that are in use.
    pub(crate) fn weights(&self) -> Weights {
        Weights::new(&kappas(self.classes(), self.config()))
    }

    /// Checks that another map may be added: one that does not know what it saw through would lose what it hit.
    pub(crate) fn check_free_space_of(&self, other: &Self) -> Result<()> {
        match (&self.free, &other.free) {
            (Some(_), None) if !other.is_empty() => Err(Error::Merge(
                "the first counts what was seen through (`free_space.enabled`) and the other does not: what it hit is \
                 not known, and would be called gone; merge them with `free_space.enabled = false`"
                    .into(),
            )),
            _ => Ok(()),
        }
    }

    /// Brings every primitive's flag up to date with the counters where either changed; returns the cubic metres in
    /// which voxels may differ for another reason than that.
    pub(crate) fn settle_existence(&mut self) -> Vec<Metre> {
        let number = self.log.history.number + 1;
        let Some(free) = &mut self.free else { return Vec::new() };
        let flips = free.take_pending(number);
        let mut metres = flips.clone();
        metres.extend(self.set.touched().map(|key| key.0));
        metres.par_sort_unstable();
        metres.dedup();
        let existence = Existence::new(free, &self.classes, &self.config);
        let differ = |metre: &Metre| {
            let near = self.set.blocks().get(BlockKey(*metre)).map_or(&[][..], |block| &block.near);
            near.iter().map(|near| near.slot).filter(|slot| {
                let core = self.set.core(*slot);
                existence.is_gone(core.mean, usize::from(core.label)) != core.gone
            })
        };
        let slots: Vec<u32> = metres.par_iter().with_min_len(64).flat_map_iter(differ).collect();
        for slot in slots {
            let gone = self.set.core(slot).gone;
            self.set.set_gone(slot, !gone);
        }
        let shown = |metre: &Metre| {
            // Half a cube more: what is there keeps its neighbours from being called free.
            let low = metre.map(|v| f64::from(v) - 0.5 * CUBE_M);
            self.set.reaches(low, low.map(|v| v + 1.0 + CUBE_M))
        };
        flips.into_par_iter().with_min_len(64).filter(shown).collect()
    }

    /// Brings all flags up to date after the counters were replaced.
    fn look_everywhere(&mut self) {
        let existence = self.existence();
        let gone: Vec<(u32, bool)> = self
            .set
            .in_order()
            .into_par_iter()
            .with_min_len(1024)
            .map(|slot| {
                let core = self.set.core(slot);
                let gone = existence.as_ref().is_some_and(|e| e.is_gone(core.mean, usize::from(core.label)));
                (slot, gone)
            })
            .filter(|(slot, gone)| *gone != self.set.core(*slot).gone)
            .collect();
        for (slot, gone) in gone {
            self.set.set_gone(slot, gone);
        }
        self.refresh();
    }
}
