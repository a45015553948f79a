//! What a submap added: one exact sum for every cube and class.

use std::hash::{Hash, Hasher};

use rayon::prelude::*;

use super::pieces::too_wide;
use crate::cluster::cell_of;
use crate::error::{Error, Result};
use crate::map::Additions;
use crate::maths::argmax;
use crate::primitive::Sums;
use crate::state::PrimitiveState;

/// A cube and a class: what tells one primitive of a sum from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) cell: [i32; 3],
    pub(super) label: u16,
}

impl Hash for Key {
    // Two words instead of five: it is hashed for every row of every frame.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [x, y, z] = self.cell.map(|v| u64::from(v.cast_unsigned()));
        state.write_u64(x | y << 32);
        state.write_u64(z | u64::from(self.label) << 32);
    }
}

impl Key {
    pub(super) fn of(sums: &Sums, log_evidence: &[i64], side: f64) -> Self {
        Self { cell: cell_of(sums.mean(), side), label: argmax(log_evidence) as u16 }
    }

    /// The order of keys as one number, which is quicker to compare.
    fn rank(&self) -> u128 {
        let [x, y, z] = self.cell.map(|v| u128::from(v.cast_unsigned() ^ 1 << 31));
        x << 80 | y << 48 | z << 16 | u128::from(self.label)
    }
}

/// Numbers of keys by ascending key, and of equal ones by ascending number.
fn in_order(keys: &[Key]) -> Vec<u32> {
    let (low, high) = keys.iter().fold(([i32::MAX; 3], [i32::MIN; 3]), |(low, high), key| {
        (std::array::from_fn(|i| low[i].min(key.cell[i])), std::array::from_fn(|i| high[i].max(key.cell[i])))
    });
    let bits: [u32; 3] =
        std::array::from_fn(|i| (i64::from(high[i]) - i64::from(low[i])).unsigned_abs().max(1).ilog2() + 1);
    if bits.iter().sum::<u32>() > 48 {
        let mut order: Vec<(u128, u32)> = keys.iter().map(Key::rank).zip(0..).collect();
        order.sort_unstable();
        return order.into_iter().map(|(_, at)| at).collect();
    }
    // A submap is small: its keys are short, and quick to compare.
    let short = |key: &Key| {
        let [x, y, z] = std::array::from_fn(|i| (i64::from(key.cell[i]) - i64::from(low[i])).cast_unsigned());
        ((x << bits[1] | y) << bits[2] | z) << 16 | u64::from(key.label)
    };
    let mut order: Vec<(u64, u32)> = keys.iter().map(short).zip(0..).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, at)| at).collect()
}

/// What a submap added: geometry and log-evidence, summed for every cube and class, by ascending cube and class.
#[derive(Debug, Clone, Default)]
pub struct Part {
    classes: usize,
    /// Side of the cubes, metres.
    side: f64,
    pub(super) keys: Vec<Key>,
    pub(super) sums: Vec<Sums>,
    log_evidence: Vec<i64>,
    /// Σ over the points of the number of their frame in the submap: when it was seen, on average. Empty where that is not
    /// known, as in parts that were moved.
    frames: Vec<u64>,
    /// Rows by ascending cube and class; empty if that is how they are stored.
    order: Vec<u32>,
    /// Not put in order yet, all or nothing: what was added, primitive by primitive.
    loose: Vec<Additions>,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (usize, usize)| {
            (self.keys[a], self.sums[a], self.log_evidence(a), self.frames.get(a))
                == (other.keys[b], other.sums[b], other.log_evidence(b), other.frames.get(b))
        };
        (self.classes, self.side, self.len()) == (other.classes, other.side, other.len())
            && self.in_order().zip(other.in_order()).all(same)
            && self.loose == other.loose
    }
}

impl Part {
    fn empty(classes: usize, side: f64) -> Self {
        Self {
            classes,
            side,
            keys: Vec::new(),
            sums: Vec::new(),
            log_evidence: Vec::new(),
            frames: Vec::new(),
            order: Vec::new(),
            loose: Vec::new(),
        }
    }

    fn with_room(classes: usize, side: f64, rows: usize) -> Self {
        let mut part = Self::empty(classes, side);
        part.keys.reserve_exact(rows);
        part.sums.reserve_exact(rows);
        part.log_evidence.reserve_exact(rows * classes);
        part
    }

    /// A part of kept states, in any order; their ids mean nothing. `side` is that of the map's cubes, metres, and `frames`
    /// what [`Self::frame_sums`] says of every state, or empty.
    pub fn of_states(classes: usize, side: f64, states: &[PrimitiveState], frames: &[u64]) -> Result<Self> {
        if !frames.is_empty() && frames.len() != states.len() {
            let (found, allowed) = (frames.len().to_string(), format!("0 or {}", states.len()));
            return Err(Error::Argument { name: "frames", found, allowed });
        }
        for state in states {
            state.check(classes, u64::MAX)?;
            if state.muted {
                return Err(Error::State { id: state.id, what: "it is muted, which no part of a sum is".into() });
            }
            if let Some(spread) = too_wide(&state.sums, side) {
                let what =
                    format!("its points are spread by {spread:.2} m, which points of a cube of {side} m are not");
                return Err(Error::State { id: state.id, what });
            }
        }
        let key = |(row, state): (usize, &PrimitiveState)| (Key::of(&state.sums, &state.log_evidence, side), row);
        let mut order: Vec<_> = states.par_iter().enumerate().with_min_len(256).map(key).collect();
        order.par_sort_unstable_by_key(|(key, row)| (key.rank(), *row));
        Ok(Self::summed(classes, side, order, |row| (&states[row].sums, &states[row].log_evidence, frames.get(row))))
    }

    /// What frames of a submap added, to be put in order when somebody looks.
    pub(super) fn of_additions(classes: usize, side: f64, loose: Vec<Additions>) -> Self {
        Self { loose, ..Self::empty(classes, side) }
    }

    /// For every sum, in the order of [`Self::states`]: Σ over its points of the number of their frame in the submap, from
    /// 0. Empty if that is not known.
    pub fn frame_sums(&self) -> Vec<u64> {
        if self.frames.is_empty() { Vec::new() } else { self.in_order().map(|row| self.frames[row]).collect() }
    }

    /// Whether it is known when sums were seen.
    pub(super) fn knows_frames(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Rows as they are stored, by ascending cube and class.
    fn in_order(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        (0..self.len()).map(|place| self.order.get(place).map_or(place, |row| *row as usize))
    }

    /// When a sum was seen: the mean number of its points' frames in the submap, if that is known.
    pub(super) fn mean_frame(&self, row: usize) -> Option<f64> {
        self.frames.get(row).map(|sum| *sum as f64 / self.sums[row].weight)
    }

    /// What every sum holds, by ascending cube and class, numbered from 0.
    pub fn states(&self) -> impl ExactSizeIterator<Item = PrimitiveState> + '_ {
        self.in_order().enumerate().map(|(id, row)| PrimitiveState {
            id: id as u64,
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
            + self.frames.capacity() * size_of::<u64>()
            + self.order.capacity() * size_of::<u32>()
            + self.loose.iter().map(Additions::byte_size).sum::<usize>()
    }

    /// The same points with other log-evidence.
    pub(super) fn with_evidence(&self, change: impl Fn(i64) -> i64 + Sync) -> Self {
        let log_evidence: Vec<i64> = self.log_evidence.par_iter().with_min_len(4096).map(|v| change(*v)).collect();
        let own = |row: usize| &log_evidence[row * self.classes..(row + 1) * self.classes];
        // Rounding can make two classes equal, and then the lower one counts.
        let key = |row: usize| (Key { label: argmax(own(row)) as u16, ..self.keys[row] }, row);
        let mut order: Vec<_> = (0..self.len()).into_par_iter().with_min_len(256).map(key).collect();
        order.par_sort_unstable_by_key(|(key, row)| (key.rank(), *row));
        Self::summed(self.classes, self.side, order, |row| (&self.sums[row], own(row), self.frames.get(row)))
    }

    /// Puts what was added in order; see `settled.rs` for why one thread does it.
    pub(super) fn put_in_order(&mut self) {
        if self.loose.is_empty() {
            return;
        }
        let (side, classes, loose) = (self.side, self.classes, std::mem::take(&mut self.loose));
        let count = loose.iter().map(Additions::len).sum();
        let mut part = Self::with_room(classes, side, count);
        part.frames.reserve_exact(count);
        // One after the other, as they are in memory.
        for added in loose {
            for row in 0..added.len() {
                let sums = added.sums(row);
                let key = Key { cell: cell_of(sums.mean(), side), label: added.label(row) };
                part.push(key, &sums, &[], Some(&added.frames(row)));
                let first = part.log_evidence.len();
                part.log_evidence.resize(first + classes, 0);
                added.add_evidence(row, &mut part.log_evidence[first..]);
            }
        }
        let order = in_order(&part.keys);
        let twice = |pair: &[u32]| part.keys[pair[0] as usize] == part.keys[pair[1] as usize];
        if order.windows(2).any(twice) {
            // Something else changed a primitive, or took it away, and then frames added to it again.
            let order = order.into_iter().map(|row| (part.keys[row as usize], row as usize)).collect();
            let row = |row: usize| (&part.sums[row], part.log_evidence(row), part.frames.get(row));
            *self = Self::summed(classes, side, order, row);
        } else {
            *self = Self { order, ..part };
        }
    }

    /// Rows of ascending keys, those of one key added together.
    fn summed<'a, At>(
        classes: usize,
        side: f64,
        order: Vec<(Key, At)>,
        row: impl Fn(At) -> (&'a Sums, &'a [i64], Option<&'a u64>),
    ) -> Self {
        let mut part = Self::with_room(classes, side, order.len());
        for (key, at) in order {
            let (sums, log_evidence, frames) = row(at);
            if part.keys.last() == Some(&key) {
                let last = part.keys.len() - 1;
                part.add_to(last, sums, log_evidence, frames);
            } else {
                part.push(key, sums, log_evidence, frames);
            }
        }
        part.sums.iter_mut().for_each(Sums::settle);
        part
    }

    fn push(&mut self, key: Key, sums: &Sums, log_evidence: &[i64], frames: Option<&u64>) {
        self.frames.extend(frames);
        self.keys.push(key);
        self.sums.push(*sums);
        self.log_evidence.extend_from_slice(log_evidence);
    }

    /// Leaves the sums about the corner that they are about: where that is to be is seen when all have been added.
    fn add_to(&mut self, row: usize, sums: &Sums, log_evidence: &[i64], frames: Option<&u64>) {
        self.sums[row].add_about(sums);
        if let Some((sum, frames)) = self.frames.get_mut(row).zip(frames) {
            *sum = sum.saturating_add(*frames);
        }
        let own = &mut self.log_evidence[row * self.classes..(row + 1) * self.classes];
        own.iter_mut().zip(log_evidence).for_each(|(sum, value)| *sum = sum.saturating_add(*value));
    }
}
