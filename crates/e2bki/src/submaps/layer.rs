//! What a submap adds at a place: its own sums, and the motions that take them there. Pieces are made one row at a time,
//! where they are needed: all of them together would be several times the map.

use std::borrow::Cow;

use super::motion::{Moved, moved_between};
use super::part::{Key, Part};
use super::pieces::{Scratch, cut};
use super::placement::Motions;
use crate::cluster::cell_of;
use crate::error::Result;
use crate::primitive::Sums;

/// More than rounding moves a mean, metres.
const ROUNDING_M: f64 = 1e-3;

/// A part, and where it is.
pub(super) struct Layer<'a> {
    part: Cow<'a, Part>,
    /// Nothing if it is where it was inserted.
    moved: Option<Moved>,
}

impl<'a> Layer<'a> {
    /// Fails if the motions take the part out of the world; motions that move nothing are none. `cut` is that of a
    /// [`Placement`](super::Placement).
    pub(super) fn new(part: Cow<'a, Part>, motions: Option<Motions>, cut: bool) -> Result<Self> {
        let moved = motions.map(|motions| part.moved_by(motions, cut)).transpose()?.flatten();
        Ok(Self { part, moved })
    }

    /// Rows: sums as they were inserted.
    pub(super) fn rows(&self) -> &[Sums] {
        &self.part.sums
    }

    /// Whether it is elsewhere than it was inserted.
    pub(super) fn moves(&self) -> bool {
        self.moved.is_some()
    }

    /// Points of all rows.
    pub(super) fn points(&self) -> u64 {
        self.part.sums.iter().map(|sums| sums.weight as u64).sum()
    }

    /// The cubes that hold every piece of a row, if these are within so many times its spread: the first and the last.
    pub(super) fn cubes(&self, row: usize, spreads: f64) -> ([i32; 3], [i32; 3]) {
        let (sums, side) = (&self.part.sums[row], self.part.side());
        let around = |middle: [f64; 3], away: f64| {
            (cell_of(middle.map(|v| v - away), side), cell_of(middle.map(|v| v + away), side))
        };
        match &self.moved {
            None => (self.part.keys[row].cell, self.part.keys[row].cell),
            Some(Moved::OnGrid(grid)) => around(grid.apply(sums.mean()), ROUNDING_M),
            Some(Moved::Freely(motions)) => {
                let (before, after, share) = motions.at(self.part.mean_frame(row).unwrap_or(0.0));
                let (mean, [xx, yy, zz, ..]) = (sums.mean(), sums.covariance());
                let (a, b) = (before.apply(mean), after.apply(mean));
                let middle = std::array::from_fn(|i| a[i] + share * (b[i] - a[i]));
                around(middle, spreads * (xx + yy + zz).sqrt() + ROUNDING_M)
            }
        }
    }

    /// Calls `take` for every piece of a row: what lies in several cubes there is cut at their faces.
    pub(super) fn pieces(&self, row: usize, scratch: &mut Scratch, mut take: impl FnMut(Key, &Sums, &[i64])) {
        let (sums, log_evidence, side) = (&self.part.sums[row], self.part.log_evidence(row), self.part.side());
        match &self.moved {
            None => take(self.part.keys[row], sums, log_evidence),
            Some(Moved::OnGrid(grid)) => {
                let sums = grid.sums(sums);
                take(Key::of(&sums, log_evidence, side), &sums, log_evidence);
            }
            Some(Moved::Freely(motions)) => {
                let moved = moved_between(sums, motions.at(self.part.mean_frame(row).unwrap_or(0.0)));
                cut(&moved, log_evidence, side, scratch, |sums, log_evidence| {
                    take(Key::of(sums, log_evidence, side), sums, log_evidence);
                });
            }
        }
    }
}
