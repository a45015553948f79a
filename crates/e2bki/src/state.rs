//! What a map is made of, to be kept elsewhere and put back: everything else is derived from it.

use rayon::prelude::*;

use crate::classes::ClassSet;
use crate::cluster::cell_of;
use crate::config::{Config, Posterior};
use crate::error::{Error, Result};
use crate::fold::{in_cell, put_back};
use crate::map::{Batch, Core, PrimitiveSet};
use crate::mapper::Mapper;
use crate::maths::argmax;
use crate::pose::WORLD_LIMIT_M;
use crate::primitive::{MOST_QUANTA, QUANTUM_M, Sums, log_evidence_of};

/// Largest standard deviation of a primitive that is put back, metres: far beyond what clustering makes.
const MAX_SPREAD_M: f64 = 50.0;

/// Largest number of frames and of ids that a map counts to: exact as a number in any program that reads map files, and
/// centuries away for any robot.
pub const MAX_COUNT: u64 = 1 << 53;

/// Primitives put back at a time: what lies between a state and a primitive of the map is then small.
const AT_ONCE: usize = 1 << 15;

/// All that a primitive holds; the ellipsoid, the opinion and the kernel are derived from it.
#[derive(Debug, Clone, PartialEq)]
pub struct PrimitiveState {
    /// Age order: lower is older. Never used twice in a map. In a map that is a sum it means nothing and only tells
    /// primitives apart.
    pub id: u64,
    /// Stopped by the gate but kept for refinement: its kernel is zero.
    pub muted: bool,
    /// The additive geometry.
    pub sums: Sums,
    /// The additive semantics: log-evidence of every class, in [`LOG_EVIDENCE_QUANTUM`](crate::primitive::LOG_EVIDENCE_QUANTUM).
    pub log_evidence: Vec<i64>,
}

impl PrimitiveState {
    /// Log-evidence of every class in its own unit, rounded where it has more than 53 bits.
    pub fn log_evidence_f64(&self) -> Vec<f64> {
        self.log_evidence.iter().map(|quanta| log_evidence_of(*quanta)).collect()
    }

    /// Checks that this can be a primitive of a map with so many classes and this next free id.
    pub fn check(&self, classes: usize, next_id: u64) -> Result<()> {
        let bad = |what: String| Err(Error::State { id: self.id, what });
        let Sums { origin, weight, first, range, .. } = &self.sums;
        if self.id >= next_id {
            return bad(format!("its id is not below the next free one, {next_id}"));
        }
        if self.log_evidence.len() != classes {
            return bad(format!("{} values of log-evidence for {classes} classes", self.log_evidence.len()));
        }
        if let Some(value) = self.log_evidence.iter().find(|v| !(0..=MOST_QUANTA).contains(*v)) {
            return bad(format!("log-evidence of {value} quanta; allowed: 0 to {MOST_QUANTA}"));
        }
        if !(1.0..=9.007_199_254_740_992e15).contains(weight) || weight.fract() != 0.0 {
            return bad(format!("weight {weight}; allowed: whole numbers from 1"));
        }
        if let Some(value) = first.iter().chain([range]).find(|v| !v.is_finite()) {
            return bad(format!("a sum is {value}"));
        }
        // Sums that are not whole numbers of their quanta would not add exactly, and could not be saved.
        if !first.iter().chain([range]).all(|v| (v * (1.0 / QUANTUM_M)).fract() == 0.0) {
            return bad("a sum is not a whole number of its quantum, 2^-16 m".into());
        }
        if let Err(what) = self.sums.limits() {
            return bad(what);
        }
        if *range < 0.0 {
            return bad(format!("sum of ranges {range}; it cannot be negative"));
        }
        // The mean must lie in the block that the sums are about, as it does after every change.
        if (0..3).any(|i| !(0.0..=1.0).contains(&(first[i] / weight))) {
            return bad(format!("its mean is not in the cubic metre at {origin:?}"));
        }
        if let Some(variance) = self.sums.covariance()[..3].iter().find(|v| **v > MAX_SPREAD_M * MAX_SPREAD_M) {
            return bad(format!("a spread of {} m; allowed: up to {MAX_SPREAD_M} m", variance.sqrt()));
        }
        if origin.iter().any(|v| f64::from(v.unsigned_abs()) > WORLD_LIMIT_M) {
            return bad(format!("it lies at {origin:?}; allowed: within {WORLD_LIMIT_M} m"));
        }
        Ok(())
    }
}

impl Mapper {
    /// A map of kept primitives, as it was: `frames` and `next_id` come from [`Mapper::frames`] and
    /// [`Mapper::next_id`], the states from [`Mapper::states`], in any order.
    pub fn restore(
        classes: ClassSet,
        config: Config,
        frames: u64,
        next_id: u64,
        states: Vec<PrimitiveState>,
    ) -> Result<Self> {
        let mut map = Restoring::new(classes, config, frames, next_id)?;
        map.add(&states)?;
        map.finish()
    }

    /// What every primitive holds, in the order of [`Self::primitives`]. In a map that is a sum their ids are numbers in
    /// that order, so that equal maps have equal states however they came to be.
    pub fn states(&self) -> impl ExactSizeIterator<Item = PrimitiveState> + '_ {
        let (is_sum, slots) = self.contents.read(|contents| (contents.set.cubes().is_some(), contents.set.in_order()));
        slots.into_iter().enumerate().map(move |(number, slot)| {
            let state = self.state_of(slot);
            PrimitiveState { id: if is_sum { number as u64 } else { state.id }, ..state }
        })
    }

    /// The same to be read in parts and in any order, by many threads. Neither derives what nobody has looked at yet.
    pub fn state_list(&self) -> StateList<'_> {
        StateList { map: self, slots: self.contents.read(|contents| contents.set.in_order()) }
    }

    /// The id that the next primitive gets.
    pub fn next_id(&self) -> u64 {
        self.contents.read(|contents| contents.set.next_id())
    }

    /// Takes every primitive whose mean lies outside of a box out of the map, in order, to be kept elsewhere.
    pub fn take_outside(&mut self, low: [f64; 3], high: [f64; 3]) -> Vec<PrimitiveState> {
        let outside = |core: &Core| (0..3).any(|i| !(low[i]..=high[i]).contains(&core.mean[i]));
        self.take(outside)
    }

    /// Takes every primitive whose mean lies in a box (low ≤ mean < high) out of the map, in order.
    pub fn take_inside(&mut self, low: [f64; 3], high: [f64; 3]) -> Vec<PrimitiveState> {
        let inside = |core: &Core| (0..3).all(|i| (low[i]..high[i]).contains(&core.mean[i]));
        self.take(inside)
    }

    fn take(&mut self, wanted: impl Fn(&Core) -> bool) -> Vec<PrimitiveState> {
        let set = &mut self.contents.get_mut().set;
        let gone: Vec<u32> = set.in_order().into_iter().filter(|slot| wanted(&set.core(*slot))).collect();
        let states = gone.iter().map(|slot| state_in(set, *slot)).collect();
        gone.iter().for_each(|slot| set.remove(*slot));
        self.refresh();
        states
    }

    /// Puts primitives back under the ids they had, without refining anything. On an error the map is unchanged.
    pub fn put_back(&mut self, states: Vec<PrimitiveState>) -> Result<()> {
        self.check(&states)?;
        self.check_ids(states.iter().map(|state| state.id))?;
        self.add(&states)?;
        self.refresh();
        Ok(())
    }

    /// As [`Self::put_back`], under ids of their own: for primitives of a map that is a sum, whose files keep no ids.
    /// Fails if the map has one of the same cube and class, or there are two.
    pub fn put_back_anew(&mut self, mut states: Vec<PrimitiveState>) -> Result<()> {
        let Some(side) = self.contents.read(|contents| contents.set.cubes()) else {
            return Err(Error::Unsupported("only primitives of a map that is a sum can be given new ids".into()));
        };
        self.check_counts(0, states.len())?;
        let first = self.next_id();
        states.iter_mut().zip(first..).for_each(|(state, id)| state.id = id);
        let mut keys: Vec<([i32; 3], u16, u64)> = states
            .iter()
            .map(|state| (cell_of(state.sums.mean(), side), argmax(&state.log_evidence) as u16, state.id))
            .collect();
        keys.par_sort_unstable();
        let twice = keys.windows(2).find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)).map(|pair| pair[1].2);
        let set = &self.contents.get_mut().set;
        let there = || keys.iter().find(|(cell, label, _)| in_cell(set, *cell, *label, side).is_some());
        if let Some(id) = twice.or_else(|| there().map(|(_, _, id)| *id)) {
            return Err(Error::State { id, what: "there are two of its cube and class".into() });
        }
        let classes = self.classes().len();
        let next_id = first + states.len() as u64;
        states.par_iter().with_min_len(256).try_for_each(|state| state.check(classes, next_id))?;
        self.contents.get_mut().set.reserve_ids(next_id);
        self.add(&states)?;
        self.refresh();
        Ok(())
    }

    fn check(&self, states: &[PrimitiveState]) -> Result<()> {
        if self.config().views.posterior == Posterior::Accumulate {
            return Err(Error::Unsupported("an accumulated posterior cannot be made of primitives again".into()));
        }
        let (classes, next_id) = (self.classes().len(), self.next_id());
        states.par_iter().with_min_len(256).try_for_each(|state| state.check(classes, next_id))
    }

    /// Checks that no id is there twice, with some that are about to come.
    fn check_ids(&self, coming: impl Iterator<Item = u64>) -> Result<()> {
        let mut ids: Vec<u64> = coming.collect();
        self.contents.read(|contents| ids.extend(contents.set.ids()));
        ids.par_sort_unstable();
        match ids.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::State { id: pair[0], what: "there are two of this id".into() }),
            None => Ok(()),
        }
    }

    /// Adds checked primitives, without bringing the views up to date.
    fn add(&mut self, states: &[PrimitiveState]) -> Result<()> {
        let classes = self.classes().len();
        let core = |state: &PrimitiveState| {
            let mut sums = state.sums;
            sums.settle();
            Core { id: state.id, muted: state.muted, ..Core::of_sums(sums) }
        };
        for part in states.chunks(AT_ONCE) {
            let mut batch = Batch { cores: part.par_iter().map(core).collect(), ..Batch::default() };
            batch.log_evidence.reserve_exact(part.len() * classes);
            part.iter().for_each(|state| batch.log_evidence.extend_from_slice(&state.log_evidence));
            batch.judge(classes, self.config().lifetime_correlation());
            put_back(&mut self.contents.get_mut().set, &batch)?;
        }
        Ok(())
    }

    /// Checks that so many more frames and primitives can be counted.
    pub(crate) fn check_counts(&self, frames: u64, primitives: usize) -> Result<()> {
        let over = |count: u64, more: u64| count.checked_add(more).is_none_or(|sum| sum > MAX_COUNT);
        if over(self.frames, frames) || over(self.next_id(), primitives as u64) {
            return Err(Error::Unsupported(format!(
                "the map has counted {} frames and {} primitives; it cannot count beyond {MAX_COUNT}",
                self.frames,
                self.next_id()
            )));
        }
        Ok(())
    }

    fn state_of(&self, slot: u32) -> PrimitiveState {
        self.contents.read(|contents| state_in(&contents.set, slot))
    }
}

/// What every primitive of a map holds; see [`Mapper::state_list`].
#[derive(Debug)]
pub struct StateList<'a> {
    map: &'a Mapper,
    slots: Vec<u32>,
}

impl StateList<'_> {
    /// Corner of the cubic metre of every primitive, in the order of [`Mapper::states`].
    pub fn origins(&self) -> Vec<[i32; 3]> {
        self.map.contents.read(|contents| self.slots.iter().map(|slot| contents.set.head(*slot).origin).collect())
    }

    /// The states of some primitives, by their numbers in that order, with the ids that they have in memory. Numbers that
    /// are too large are left out.
    pub fn read(&self, numbers: impl IntoIterator<Item = usize>) -> Vec<PrimitiveState> {
        let slots = numbers.into_iter().filter_map(|number| self.slots.get(number));
        self.map.contents.read(|contents| slots.map(|slot| state_in(&contents.set, *slot)).collect())
    }
}

fn state_in(set: &PrimitiveSet, slot: u32) -> PrimitiveState {
    let core = set.core(slot);
    PrimitiveState { id: core.id, muted: core.muted, sums: core.sums, log_evidence: set.log_evidence(slot) }
}

/// A map that is put together again part by part, so that its states need not be in memory all at once.
#[derive(Debug)]
pub struct Restoring(Mapper);

impl Restoring {
    /// A map without primitives yet; for the arguments see [`Mapper::restore`].
    pub fn new(classes: ClassSet, config: Config, frames: u64, next_id: u64) -> Result<Self> {
        let mut map = Mapper::new(classes, config)?;
        for (name, count) in [("frames", frames), ("next_id", next_id)] {
            if count > MAX_COUNT {
                return Err(Error::Argument { name, found: count.to_string(), allowed: format!("up to {MAX_COUNT}") });
            }
        }
        map.frames = frames;
        map.contents.get_mut().set.reserve_ids(next_id);
        Ok(Self(map))
    }

    /// Adds some of its primitives; in what order does not matter.
    pub fn add(&mut self, states: &[PrimitiveState]) -> Result<()> {
        self.0.check(states)?;
        self.0.add(states)
    }

    /// The map, once all of it has been added.
    pub fn finish(mut self) -> Result<Mapper> {
        self.0.check_ids(std::iter::empty())?;
        self.0.refresh();
        Ok(self.0)
    }
}

#[cfg(test)]
mod tests;
