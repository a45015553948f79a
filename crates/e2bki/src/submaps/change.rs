//! The difference that submaps make, put into the map: every primitive that it concerns is changed once.

use rayon::prelude::*;

use super::part::{Key, Part};
use crate::error::{Error, Result};
use crate::fold::in_cell;
use crate::map::{Batch, Core, PrimitiveSet};
use crate::primitive::{MOST_QUANTA, Sums};

/// Keys that one task looks at.
const AT_ONCE: usize = 2048;

/// What is to be done to a set.
#[derive(Default)]
pub(super) struct Change {
    /// Differences to primitives that stay, and these.
    altered: Batch,
    slots: Vec<u32>,
    /// Primitives that are new.
    fresh: Batch,
    /// Primitives of which nothing is left.
    gone: Vec<u32>,
}

/// A row of a part: those below `taken` are taken out, the others added.
type Row = (Key, u32, u32);

impl Change {
    /// Looks at what taking some parts out and adding others does, without doing it. Fails if more would be taken out
    /// than there is.
    pub(super) fn new(set: &PrimitiveSet, taken: &[&Part], added: &[&Part], side: f64) -> Result<Self> {
        let parts: Vec<&Part> = taken.iter().chain(added).copied().collect();
        let mut rows: Vec<Row> = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
        for (part, number) in parts.iter().zip(0..) {
            rows.extend(part.keys.iter().zip(0..).map(|(key, row)| (*key, number, row)));
        }
        // Parts are in order: a stable sort only has to merge them.
        rows.par_sort();
        let groups: Vec<&[Row]> = rows.chunk_by(|a, b| a.0 == b.0).collect();
        let look = |groups: &[&[Row]]| {
            let (mut change, mut difference) = (Self::default(), vec![0; set.classes()]);
            let mut look = |rows: &&[Row]| change.look(set, (&parts, taken.len()), rows, side, &mut difference);
            groups.iter().try_for_each(&mut look)?;
            Ok(change)
        };
        let pieces: Vec<Result<Self>> = groups.par_chunks(AT_ONCE).map(look).collect();
        let mut whole = Self::default();
        for piece in pieces {
            whole.append(piece?);
        }
        Ok(whole)
    }

    fn append(&mut self, mut other: Self) {
        for (to, from) in [(&mut self.altered, &mut other.altered), (&mut self.fresh, &mut other.fresh)] {
            to.cores.append(&mut from.cores);
            to.log_evidence.append(&mut from.log_evidence);
        }
        self.slots.append(&mut other.slots);
        self.gone.append(&mut other.gone);
    }

    /// What all rows of one key do together.
    fn look(
        &mut self,
        set: &PrimitiveSet,
        (parts, taken): (&[&Part], usize),
        rows: &[Row],
        side: f64,
        log_evidence: &mut [i64],
    ) -> Result<()> {
        let Key { cell, label } = rows[0].0;
        let of = |(_, part, row): &Row| (parts[*part as usize], *row as usize);
        let (part, row) = of(&rows[0]);
        // About one corner throughout: a difference may have no mean to be about.
        let mut sums = Sums::about(part.sums[row].origin);
        log_evidence.fill(0);
        let at = || cell.map(|v| (f64::from(v) + 0.5) * side);
        let too_much = || {
            Error::Unsupported(format!(
                "around {:.2?} the map would hold more points or evidence than can be summed exactly; nothing was changed",
                at()
            ))
        };
        for row in rows {
            let sign = if (row.1 as usize) < taken { -1 } else { 1 };
            let (part, row) = of(row);
            sums.add_times(&part.sums[row], sign).ok_or_else(too_much)?;
            for (sum, value) in log_evidence.iter_mut().zip(part.log_evidence(row)) {
                let added = value.checked_mul(sign).and_then(|value| sum.checked_add(value));
                *sum = added.filter(|sum| sum.abs() <= MOST_QUANTA).ok_or_else(too_much)?;
            }
        }
        if sums.is_zero() && log_evidence.iter().all(|v| *v == 0) {
            return Ok(());
        }
        let missing = || {
            Error::Unsupported(format!(
                "the map does not hold what its submaps added around {:.2?}: primitives were taken out of it in \
                 another way, or the submaps are of another map; nothing was changed",
                at()
            ))
        };
        let Some(slot) = in_cell(set, cell, label, side) else {
            if sums.weight < 1.0 || log_evidence.iter().any(|v| *v < 0) {
                return Err(missing());
            }
            sums.settle();
            self.fresh.cores.push(Core { mean: sums.mean(), label, ..Core::of_sums(sums) });
            self.fresh.log_evidence.extend_from_slice(log_evidence);
            return Ok(());
        };
        let mut left = set.core(slot).sums;
        left.add_times(&sums, 1).ok_or_else(too_much)?;
        // Neither is beyond half of what fits.
        let mut evidence = set.log_evidence(slot).iter().zip(&*log_evidence).map(|(a, b)| a.saturating_add(*b));
        if left.weight == 0.0 {
            if !left.is_zero() || evidence.any(|v| v != 0) {
                return Err(missing());
            }
            self.gone.push(slot);
            return Ok(());
        }
        if left.weight < 0.0 || left.range < 0.0 || evidence.clone().any(|v| v < 0) {
            return Err(missing());
        }
        if evidence.any(|v| v > MOST_QUANTA) {
            return Err(too_much());
        }
        self.altered.cores.push(Core::of_sums(sums));
        self.altered.log_evidence.extend_from_slice(log_evidence);
        self.slots.push(slot);
        Ok(())
    }

    /// Primitives that are altered, made and removed.
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        (self.slots.len(), self.fresh.cores.len(), self.gone.len())
    }

    /// Does it.
    pub(super) fn apply(mut self, set: &mut PrimitiveSet) {
        let pairs: Vec<(u32, usize)> = self.slots.iter().copied().zip(0..).collect();
        set.begin();
        set.fold(&pairs, &self.altered);
        if set.defers() {
            self.fresh.probability = vec![0.0; self.fresh.log_evidence.len()];
        } else {
            self.fresh.judge(set.classes(), set.recipe().correlation);
        }
        set.insert(&self.fresh, 0..self.fresh.cores.len());
        // Last, so that no slot is used again before all are done with.
        self.gone.iter().for_each(|slot| set.remove(*slot));
    }
}
