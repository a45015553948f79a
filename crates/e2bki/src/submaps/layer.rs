//! What a submap adds at a place: its own sums, and the motions that take them there. Pieces are made one row at a time,
//! where they are needed: all of them together would be several times the map.

use std::borrow::Cow;

use super::motion::moved_between;
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
    motions: Option<Motions>,
}

impl<'a> Layer<'a> {
    /// Fails if the motions take the part out of the world; motions that move nothing are none.
    pub(super) fn new(part: Cow<'a, Part>, motions: Option<Motions>) -> Result<Self> {
        let motions = match motions {
            Some(motions) if part.is_moved_by(&motions)? => Some(motions),
            _ => None,
        };
        Ok(Self { part, motions })
    }

    /// Rows: sums as they were inserted.
    pub(super) fn rows(&self) -> &[Sums] {
        &self.part.sums
    }

    /// The cubes that hold every piece of a row, if these are within so many times its spread: the first and the last.
    pub(super) fn cubes(&self, row: usize, spreads: f64) -> ([i32; 3], [i32; 3]) {
        let Some(motions) = &self.motions else { return (self.part.keys[row].cell, self.part.keys[row].cell) };
        let sums = &self.part.sums[row];
        let (before, after, share) = motions.at(self.part.mean_frame(row).unwrap_or(0.0));
        let (mean, [xx, yy, zz, ..]) = (sums.mean(), sums.covariance());
        let (a, b) = (before.apply(mean), after.apply(mean));
        let away = spreads * (xx + yy + zz).sqrt() + ROUNDING_M;
        let corner = |away: f64| -> [f64; 3] { std::array::from_fn(|i| a[i] + share * (b[i] - a[i]) + away) };
        (cell_of(corner(-away), self.part.side()), cell_of(corner(away), self.part.side()))
    }

    /// Calls `take` for every piece of a row: what lies in several cubes there is cut at their faces.
    pub(super) fn pieces(&self, row: usize, scratch: &mut Scratch, mut take: impl FnMut(Key, &Sums, &[i64])) {
        let (sums, log_evidence, side) = (&self.part.sums[row], self.part.log_evidence(row), self.part.side());
        let Some(motions) = &self.motions else { return take(self.part.keys[row], sums, log_evidence) };
        let moved = moved_between(sums, motions.at(self.part.mean_frame(row).unwrap_or(0.0)));
        cut(&moved, log_evidence, side, scratch, |sums, log_evidence| {
            take(Key::of(&sums, log_evidence, side), &sums, log_evidence);
        });
    }
}
