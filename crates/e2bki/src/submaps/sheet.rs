//! Sums of one region: what layers add there and take out, one sum for every cube and class.

use rustc_hash::FxHashMap;

use super::part::Key;
use crate::primitive::{MOST_QUANTA, Sums};

/// Differences by cube and class, in the order in which they were met. Used again for one region after the other.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    classes: usize,
    at: FxHashMap<Key, u32>,
    pub(super) keys: Vec<Key>,
    pub(super) sums: Vec<Sums>,
    log_evidence: Vec<i64>,
}

impl Sheet {
    /// Empties it.
    pub(super) fn clear(&mut self, classes: usize) {
        self.classes = classes;
        self.at.clear();
        self.keys.clear();
        self.sums.clear();
        self.log_evidence.clear();
    }

    pub(super) fn log_evidence(&self, row: usize) -> &[i64] {
        &self.log_evidence[row * self.classes..(row + 1) * self.classes]
    }

    /// Adds sums (`sign` 1) or takes them out (−1). Nothing if that cannot be exact.
    pub(super) fn add(&mut self, key: Key, sums: &Sums, log_evidence: &[i64], sign: i64) -> Option<()> {
        let row = *self.at.entry(key).or_insert_with(|| {
            self.keys.push(key);
            // About one corner throughout: a difference may have no mean to be about.
            self.sums.push(Sums::about(sums.origin));
            self.log_evidence.resize(self.keys.len() * self.classes, 0);
            (self.keys.len() - 1) as u32
        }) as usize;
        self.sums[row].add_times(sums, sign)?;
        let own = &mut self.log_evidence[row * self.classes..(row + 1) * self.classes];
        // Neither is beyond 2⁶², so that a sum that does not fit becomes i64::MIN, and a look at all of them is enough.
        let mut largest = 0;
        for (sum, value) in own.iter_mut().zip(log_evidence) {
            *sum = sum.wrapping_add(value.wrapping_mul(sign));
            largest = sum.unsigned_abs().max(largest);
        }
        (largest <= MOST_QUANTA.unsigned_abs()).then_some(())
    }
}
