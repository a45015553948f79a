//! What a submap added: one exact sum for every cube and class.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::cluster::cell_of;
use crate::error::{Error, Result};
use crate::map::Batch;
use crate::maths::argmax;
use crate::primitive::Sums;
use crate::state::PrimitiveState;

/// A cube and a class: what tells one primitive of a sum from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) cell: [i32; 3],
    pub(super) label: u16,
}

impl Key {
    fn of(sums: &Sums, log_evidence: &[i64], side: f64) -> Self {
        Self { cell: cell_of(sums.mean(), side), label: argmax(log_evidence) as u16 }
    }
}

/// What a submap added: geometry and log-evidence, summed for every cube and class, by ascending cube and class.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    classes: usize,
    /// Side of the cubes, metres.
    side: f64,
    pub(super) keys: Vec<Key>,
    pub(super) sums: Vec<Sums>,
    log_evidence: Vec<i64>,
}

impl Part {
    fn empty(classes: usize, side: f64) -> Self {
        Self { classes, side, keys: Vec::new(), sums: Vec::new(), log_evidence: Vec::new() }
    }

    /// A part of kept states, in any order; their ids mean nothing. `side` is that of the map's cubes, metres.
    pub fn of_states(classes: usize, side: f64, states: &[PrimitiveState]) -> Result<Self> {
        for state in states {
            state.check(classes, u64::MAX)?;
            if state.muted {
                return Err(Error::State { id: state.id, what: "it is muted, which no part of a sum is".into() });
            }
        }
        let row = |state: &PrimitiveState| (Key::of(&state.sums, &state.log_evidence, side), state.sums);
        let rows: Vec<(Key, Sums)> = states.par_iter().with_min_len(256).map(row).collect();
        Ok(Self::summed(classes, side, &rows, |i| &states[i].log_evidence))
    }

    /// What every sum holds, by ascending cube and class, numbered from 0.
    pub fn states(&self) -> impl ExactSizeIterator<Item = PrimitiveState> + '_ {
        (0..self.len()).map(|row| PrimitiveState {
            id: row as u64,
            muted: false,
            sums: self.sums[row],
            log_evidence: self.log_evidence(row).to_vec(),
        })
    }

    /// Number of sums.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The box around the means, low and high corner; nothing if it is empty.
    pub fn extent(&self) -> Option<([f64; 3], [f64; 3])> {
        let means = self.sums.iter().map(Sums::mean);
        means.fold(None, |extent, mean| {
            let (low, high) = extent.unwrap_or((mean, mean));
            Some((
                std::array::from_fn(|i| f64::min(low[i], mean[i])),
                std::array::from_fn(|i| f64::max(high[i], mean[i])),
            ))
        })
    }

    pub(super) fn classes(&self) -> usize {
        self.classes
    }

    pub(super) fn side(&self) -> f64 {
        self.side
    }

    pub(super) fn log_evidence(&self, row: usize) -> &[i64] {
        &self.log_evidence[row * self.classes..(row + 1) * self.classes]
    }

    pub(super) fn byte_size(&self) -> usize {
        self.keys.capacity() * size_of::<Key>()
            + self.sums.capacity() * size_of::<Sums>()
            + self.log_evidence.capacity() * size_of::<i64>()
    }

    /// The same points with other sums, one for each of the old: those that now share a cube are added together.
    pub(super) fn with_sums(&self, change: impl Fn(&Sums) -> Sums + Sync) -> Self {
        let row = |row: usize| {
            let sums = change(&self.sums[row]);
            (Key { cell: cell_of(sums.mean(), self.side), label: self.keys[row].label }, sums)
        };
        let rows: Vec<(Key, Sums)> = (0..self.len()).into_par_iter().with_min_len(256).map(row).collect();
        Self::summed(self.classes, self.side, &rows, |i| self.log_evidence(i))
    }

    /// The same points with other log-evidence.
    pub(super) fn with_evidence(&self, change: impl Fn(i64) -> i64 + Sync) -> Self {
        let log_evidence: Vec<i64> = self.log_evidence.par_iter().with_min_len(4096).map(|v| change(*v)).collect();
        // Rounding can make two classes equal, and then the lower one counts.
        let row = |row: usize| {
            let label = argmax(&log_evidence[row * self.classes..(row + 1) * self.classes]) as u16;
            (Key { label, ..self.keys[row] }, self.sums[row])
        };
        let rows: Vec<(Key, Sums)> = (0..self.len()).into_par_iter().with_min_len(256).map(row).collect();
        Self::summed(self.classes, self.side, &rows, |i| &log_evidence[i * self.classes..(i + 1) * self.classes])
    }

    /// Rows by ascending key, those of one key added together.
    fn summed<'a>(
        classes: usize,
        side: f64,
        rows: &[(Key, Sums)],
        log_evidence: impl Fn(usize) -> &'a [i64] + Sync,
    ) -> Self {
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        order.par_sort_unstable_by_key(|row| (rows[*row as usize].0, *row));
        let mut part = Self::empty(classes, side);
        part.keys.reserve_exact(rows.len());
        part.sums.reserve_exact(rows.len());
        part.log_evidence.reserve_exact(rows.len() * classes);
        for row in order.into_iter().map(|row| row as usize) {
            let (key, sums) = &rows[row];
            if part.keys.last() == Some(key) {
                let last = part.keys.len() - 1;
                part.add_to(last, sums, log_evidence(row));
            } else {
                part.push(*key, sums, log_evidence(row));
            }
        }
        part
    }

    fn push(&mut self, key: Key, sums: &Sums, log_evidence: &[i64]) {
        self.keys.push(key);
        self.sums.push(*sums);
        self.log_evidence.extend_from_slice(log_evidence);
    }

    fn add_to(&mut self, row: usize, sums: &Sums, log_evidence: &[i64]) {
        self.sums[row].add(sums);
        let own = &mut self.log_evidence[row * self.classes..(row + 1) * self.classes];
        own.iter_mut().zip(log_evidence).for_each(|(sum, value)| *sum = sum.saturating_add(*value));
    }
}

/// A part that grows with every frame.
#[derive(Debug, Clone)]
pub(super) struct Growing {
    rows: Part,
    at: FxHashMap<Key, u32>,
}

impl Growing {
    pub(super) fn new(classes: usize, side: f64) -> Self {
        Self { rows: Part::empty(classes, side), at: FxHashMap::default() }
    }

    /// Adds the named rows of a judged batch.
    pub(super) fn add(&mut self, batch: &Batch, rows: &[usize]) {
        let (classes, side) = (self.rows.classes, self.rows.side);
        for row in rows {
            let core = &batch.cores[*row];
            let log_evidence = &batch.log_evidence[row * classes..(row + 1) * classes];
            let key = Key { cell: cell_of(core.mean, side), label: core.label };
            match self.at.entry(key) {
                std::collections::hash_map::Entry::Occupied(known) => {
                    self.rows.add_to(*known.get() as usize, &core.sums, log_evidence);
                }
                std::collections::hash_map::Entry::Vacant(free) => {
                    free.insert(self.rows.keys.len() as u32);
                    self.rows.push(key, &core.sums, log_evidence);
                }
            }
        }
    }

    /// What was added, in order.
    pub(super) fn finished(&self) -> Part {
        let rows: Vec<(Key, Sums)> = self.rows.keys.iter().copied().zip(self.rows.sums.iter().copied()).collect();
        Part::summed(self.rows.classes, self.rows.side, &rows, |row| self.rows.log_evidence(row))
    }

    pub(super) fn byte_size(&self) -> usize {
        self.rows.byte_size() + self.at.capacity() * (size_of::<(Key, u32)>() + 1)
    }
}
