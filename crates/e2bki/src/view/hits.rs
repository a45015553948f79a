//! The places that one primitive may reach, gathered for the batched kernel.

use super::lattice::{Mask, SHIFT};
use super::runs::{ROW, Run, Runs};
use crate::config::Distance;
use crate::kernel::{LANES, support_of};
use crate::map::Seen;

/// Most places evaluated together.
const MOST_PLACES: usize = 4096;

/// Places that one primitive may reach: offsets from its mean, and numbers.
pub(super) struct Hits {
    pub(super) offsets: [[f32; MOST_PLACES + LANES]; 3],
    pub(super) places: [u16; MOST_PLACES + LANES],
    pub(super) kernel: [f32; MOST_PLACES + LANES],
    pub(super) len: usize,
    /// Square of the distance from the mean beyond which the kernel is surely zero.
    limit: f32,
}

impl Default for Hits {
    fn default() -> Self {
        Self {
            offsets: [[0.0; MOST_PLACES + LANES]; 3],
            places: [0; MOST_PLACES + LANES],
            kernel: [0.0; MOST_PLACES + LANES],
            len: 0,
            limit: 0.0,
        }
    }
}

impl Hits {
    /// Made by a function of its own: the arrays may be in its frame for a moment, and must not be in that of a parallel iterator,
    /// which has one on the stack for every time it was split.
    #[inline(never)]
    pub(super) fn boxed() -> Box<Self> {
        Box::default()
    }

    #[inline(always)]
    pub(super) fn clear(&mut self, seen: &Seen, distance: Distance) {
        self.len = 0;
        let radius = seen.form.semi_axes[2] + support_of(seen.form.reach, distance);
        self.limit = radius * radius * (1.0 + 1e-5);
    }

    /// Takes the places of every run that are in a mask.
    #[inline(always)]
    pub(super) fn take_runs(&mut self, runs: &Runs, mask: &Mask) {
        let x = &runs.x;
        for run in runs.found() {
            let (wanted, bits) = (mask.0[usize::from(run.row)], run.bits());
            if wanted & bits == bits {
                self.take_run(x, run);
            } else {
                let (y, z, row) = ([run.y; ROW], [run.z; ROW], u16::from(run.row) << SHIFT);
                self.offer(x, &y, &z, (wanted & bits) as u8, row);
                self.offer(&x[ROW..], &y, &z, ((wanted & bits) >> 8) as u8, row + 8);
            }
        }
    }

    /// Takes all places of a run. Copies eight or sixteen and keeps what is wanted, so that little depends on how many
    /// there are; `x` is longer than a row for that reason.
    #[inline(always)]
    fn take_run(&mut self, x: &[f32; 4 * ROW], run: &Run) {
        let (row, first, end) = (u16::from(run.row) << SHIFT, usize::from(run.first), usize::from(run.end));
        let at = self.len.min(MOST_PLACES);
        self.copy_eight(x, run.y, run.z, row, first, at);
        if end - first > ROW {
            self.copy_eight(x, run.y, run.z, row, first + ROW, at + ROW);
        }
        self.len = at + (end - first);
    }

    #[inline(always)]
    fn copy_eight(&mut self, x: &[f32; 4 * ROW], y: f32, z: f32, row: u16, first: usize, at: usize) {
        let [xs, ys, zs] = &mut self.offsets;
        let first = first.min(3 * ROW);
        xs[at..at + ROW].copy_from_slice(&x[first..first + ROW]);
        ys[at..at + ROW].fill(y);
        zs[at..at + ROW].fill(z);
        let mut places = [0; ROW];
        for lane in 0..ROW {
            places[lane] = row + first as u16 + lane as u16;
        }
        self.places[at..at + ROW].copy_from_slice(&places);
    }

    /// Takes those of eight places that are `wanted` (a bit each) and that the primitive may reach.
    #[inline(always)]
    pub(super) fn offer(&mut self, x: &[f32], y: &[f32; ROW], z: &[f32; ROW], wanted: u8, row: u16) {
        let mut bits = 0;
        for lane in 0..ROW {
            let squared = x[lane] * x[lane] + (y[lane] * y[lane] + z[lane] * z[lane]);
            bits |= u8::from(squared <= self.limit) << lane;
        }
        bits &= wanted;
        while bits != 0 {
            let lane = bits.trailing_zeros() as usize & 7;
            bits &= bits - 1;
            let i = self.len.min(MOST_PLACES);
            self.offsets[0][i] = x[lane];
            self.offsets[1][i] = y[lane];
            self.offsets[2][i] = z[lane];
            self.places[i] = row + lane as u16;
            self.len = i + 1;
        }
    }
}
