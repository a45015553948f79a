//! What a map does with its counters.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::flips::Weights;
use super::regions::column_of_region;
use super::settings::CUBE_M;
use super::space::kappas;
use super::{Counters, Existence, FreeSpace, MAX_FRAMES, Metre};
use crate::classes::ClassSet;
use crate::config::Config;
use crate::contents::Contents;
use crate::error::{Error, Result};
use crate::keys::BlockKey;
use crate::mapper::Mapper;
use crate::pose::Pose;
use crate::threads::{in_threads, threads_of};

impl Mapper {
    /// What was seen and seen through, if `free_space.enabled`.
    pub fn free_space(&self) -> Option<&Counters> {
        self.looked_through().map(|free| &free.counters)
    }

    /// Puts counters in place of those the map has, as from a file. Without effect unless `free_space.enabled`.
    pub fn set_free_space(&mut self, counters: Counters) {
        let contents = self.contents.get_mut();
        if contents.free.is_some() {
            contents.free = Some(FreeSpace::of(counters));
            self.look_everywhere();
        }
    }

    /// Takes the counters of some columns of ground out of the map, by their numbers in multiples of
    /// [`TILE_M`](crate::TILE_M), to be kept elsewhere with the primitives there. The frames counted stay counted.
    pub fn take_free_space(&mut self, wanted: impl Fn([i32; 2]) -> bool) -> BTreeMap<[i32; 2], Counters> {
        let free = self.contents.get_mut().free.as_mut();
        free.map_or_else(BTreeMap::new, |free| free.counters.take_columns(wanted))
    }

    /// Puts counters back that were taken out by [`Self::take_free_space`], before the primitives there are put back.
    pub fn put_free_space(&mut self, counters: Counters) {
        if let Some(free) = &mut self.contents.get_mut().free {
            free.counters.put_back(counters);
        }
    }

    /// Says how many frames were counted, for a map of which only a part is in memory.
    pub fn set_free_space_frames(&mut self, frames: u64) -> Result<()> {
        match &mut self.contents.get_mut().free {
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
        if self.contents.get_mut().free.take().is_some() {
            self.config.free_space.enabled = false;
            self.look_everywhere();
        }
    }

    /// Columns of ground, multiples of [`TILE_M`](crate::TILE_M) along x and y, in which counters changed after the
    /// change of that number (see [`Mapper::changes_since`]); in ascending order.
    pub fn free_space_since(&self, number: u64) -> Vec<[i32; 2]> {
        let mut columns: Vec<[i32; 2]> =
            self.free_space_regions_since(number).into_iter().map(column_of_region).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// As [`Self::free_space_since`], in regions of 8 m: see [`Counters::in_region`].
    pub fn free_space_regions_since(&self, number: u64) -> Vec<[i32; 3]> {
        self.looked_through().map_or_else(Vec::new, |free| free.regions_since(number))
    }

    /// When the block of 2 m around a place was last seen: the time of a frame, whole seconds, as given with
    /// [`Self::name_next_frame`]. Nothing where no frame with a time saw it, and in a map without free space.
    pub fn last_seen(&self, place: [f64; 3]) -> Option<f64> {
        self.free_space()?.seen(place).map(|seen| f64::from(seen.last))
    }

    /// When the block of 2 m around a place was first seen; see [`Self::last_seen`].
    pub fn first_seen(&self, place: [f64; 3]) -> Option<f64> {
        self.free_space()?.seen(place).map(|seen| f64::from(seen.first))
    }

    /// For every point of a scan whether it is in space that is known to be free: it moves. All false without counters.
    pub fn moving(&self, points: &[[f32; 3]], world_from_sensor: &Pose) -> Vec<bool> {
        match self.looked_through() {
            Some(free) => self.run(|| free.moving(points, world_from_sensor)),
            None => vec![false; points.len()],
        }
    }

    /// Counters and when they changed. A map without any need not be put in order for that.
    fn looked_through(&self) -> Option<&FreeSpace> {
        self.config.free_space.enabled.then(|| self.seen().free.as_ref()).flatten()
    }

    /// How free space acts on beliefs, if it does.
    pub(crate) fn existence(&self) -> Option<Existence<'_>> {
        let free = self.looked_through().filter(|free| !free.counters.is_empty())?;
        Some(Existence::new(free, self.classes(), self.config()))
    }

    /// The weights of hits that are in use.
    pub(crate) fn weights(&self) -> Weights {
        Weights::new(&kappas(self.classes(), self.config()))
    }

    /// Checks that another map may be added: of one that does not know what it saw through what it hit would be lost, and
    /// in one that does not, what the other counted.
    pub(crate) fn check_free_space_of(&self, other: &Self) -> Result<()> {
        let counts = |map: &Self| map.contents.read(|contents| contents.free.is_some());
        let says = |counting: &str, not: &str, lost: &str| {
            Err(Error::Merge(format!(
                "the {counting} counts what was seen through (`free_space.enabled`) and the {not} does not: {lost}; merge \
                 them with `free_space.enabled = false`"
            )))
        };
        match (counts(self), counts(other)) {
            (true, false) if !other.is_empty() => {
                says("first", "other", "what it hit is not known, and would be called gone")
            }
            (false, true) if other.free_space().is_some_and(|counters| !counters.is_empty()) => {
                says("other", "first", "what was counted would be lost without a word")
            }
            _ => Ok(()),
        }
    }

    /// Brings all flags up to date after the counters were replaced.
    fn look_everywhere(&mut self) {
        let Self { contents, classes, config, .. } = self;
        let Contents { set, free, .. } = contents.get_mut();
        let free = free.as_ref().filter(|free| !free.counters.is_empty());
        let existence = free.map(|free| Existence::new(free, classes, config));
        let gone: Vec<(u32, bool)> = set
            .in_order()
            .into_par_iter()
            .with_min_len(1024)
            .map(|slot| {
                let core = set.core(slot);
                let gone = existence.as_ref().is_some_and(|e| e.is_gone_in(set, core.mean, usize::from(core.label)));
                (slot, gone)
            })
            .filter(|(slot, gone)| *gone != set.core(*slot).gone)
            .collect();
        for (slot, gone) in gone {
            set.set_gone(slot, gone);
        }
        self.refresh();
    }
}

impl Contents {
    /// Brings every primitive's flag up to date with the counters where either changed; returns the cubic metres in
    /// which voxels may differ for another reason than that.
    pub(crate) fn settle_existence(&mut self, classes: &ClassSet, config: &Config) -> Vec<Metre> {
        let (number, threads) = (self.log.history.number, threads_of(config.run.threads));
        let Some(free) = &mut self.free else { return Vec::new() };
        let flips = free.take_pending(number);
        let mut metres = flips.clone();
        metres.extend(self.set.touched().map(|key| key.0));
        let existence = Existence::new(free, classes, config);
        // What can move depends on what is above it and on what it stands on, which may be in the metres above and below.
        let below = flips.iter().map(|[x, y, z]| [*x, *y, z.saturating_sub(1)]);
        let above = metres.iter().map(|[x, y, z]| [*x, *y, z.saturating_add(1)]);
        let beside: Vec<Metre> =
            below.chain(above).filter(|metre| existence.holds_movable(&self.set, BlockKey(*metre))).collect();
        metres.extend(beside);
        metres.sort_unstable();
        metres.dedup();
        let differ = |_: &mut (), metre: &Metre| {
            let near = self.set.blocks().get(BlockKey(*metre)).map_or(&[][..], |block| &block.near);
            let differs = |slot: &u32| {
                let core = self.set.core(*slot);
                existence.is_gone_in(&self.set, core.mean, usize::from(core.label)) != core.gone
            };
            near.iter().map(|near| near.slot).filter(differs).collect::<Vec<u32>>()
        };
        let slots = in_threads(&metres, threads, 256, || (), differ);
        for slot in slots.into_iter().flatten() {
            let gone = self.set.core(slot).gone;
            self.set.set_gone(slot, !gone);
        }
        let shown = |_: &mut (), metre: &Metre| {
            // Half a cube more: what is there keeps its neighbours from being called free.
            let low = metre.map(|v| f64::from(v) - 0.5 * CUBE_M);
            self.set.reaches(low, low.map(|v| v + 1.0 + CUBE_M))
        };
        let shown = in_threads(&flips, threads, 256, || (), shown);
        flips.into_iter().zip(shown).filter(|(_, shown)| *shown).map(|(metre, _)| metre).collect()
    }
}
