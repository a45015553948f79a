//! The counters of one block of 2 m.

use super::cells::Cells;
use super::cubes::{InBlock, Passed, in_block};
use super::moments::Moments;

/// P of the block and of its parts, H of its cubes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Block {
    /// Frames that saw through the block as a whole, and through its cubic metres.
    pub(super) whole: u32,
    pub(super) metres: [u32; 8],
    /// Frames that saw through its cubes of 0.5 m.
    pub(super) halves: Cells,
    /// Its cubes of 0.25 m, where there is anything to count: in open space there rarely is.
    pub(super) fine: Option<Box<Fine>>,
    /// When it was seen.
    pub(super) moments: Moments,
}

/// Counters of cubes of 0.25 m, by cubic metre.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Fine {
    pub(super) passes: [Cells; 8],
    pub(super) hits: [Cells; 8],
}

impl Block {
    /// H and P of a cube.
    pub(super) fn get(&self, place: InBlock) -> (u32, u32) {
        let coarse = self.whole + self.metres[place.metre] + self.halves.get(place.half);
        match &self.fine {
            Some(fine) => (fine.hits[place.metre].get(place.bit), coarse + fine.passes[place.metre].get(place.bit)),
            None => (0, coarse),
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        // Whoever saw anything of it has counted something in it.
        self.whole == 0 && self.metres == [0; 8] && self.halves.is_zero() && self.fine.is_none()
    }

    fn fine(&mut self) -> &mut Fine {
        self.fine.get_or_insert_default()
    }

    pub(super) fn add_passed(&mut self, passed: &Passed) {
        self.whole += u32::from(passed.whole);
        for (metre, count) in self.metres.iter_mut().enumerate() {
            *count += u32::from(passed.metres >> metre & 1);
        }
        self.halves.add_bits(passed.halves);
        if passed.quarters != [0; 8] {
            for (cells, bits) in self.fine().passes.iter_mut().zip(passed.quarters) {
                cells.add_bits(bits);
            }
        }
    }

    pub(super) fn add_hits(&mut self, hits: &[u64; 8]) {
        for (cells, bits) in self.fine().hits.iter_mut().zip(hits) {
            cells.add_bits(*bits);
        }
    }

    /// Whether what a frame passed was counted here at least once.
    pub(super) fn covers_passed(&self, passed: &Passed) -> bool {
        self.whole >= u32::from(passed.whole)
            && (0..8).all(|metre| self.metres[metre] >= u32::from(passed.metres >> metre & 1))
            && self.halves.covers_bits(passed.halves)
            && (0..8).all(|metre| match &self.fine {
                Some(fine) => fine.passes[metre].covers_bits(passed.quarters[metre]),
                None => passed.quarters[metre] == 0,
            })
    }

    pub(super) fn covers_hits(&self, hits: &[u64; 8]) -> bool {
        self.fine.as_ref().is_some_and(|fine| (0..8).all(|metre| fine.hits[metre].covers_bits(hits[metre])))
    }

    pub(super) fn take_passed(&mut self, passed: &Passed) {
        self.whole = self.whole.saturating_sub(u32::from(passed.whole));
        for (metre, count) in self.metres.iter_mut().enumerate() {
            *count = count.saturating_sub(u32::from(passed.metres >> metre & 1));
        }
        self.halves.take_bits(passed.halves);
        if let Some(fine) = &mut self.fine {
            for (cells, bits) in fine.passes.iter_mut().zip(passed.quarters) {
                cells.take_bits(bits);
            }
        }
        self.tidy();
    }

    pub(super) fn take_hits(&mut self, hits: &[u64; 8]) {
        if let Some(fine) = &mut self.fine {
            for (cells, bits) in fine.hits.iter_mut().zip(hits) {
                cells.take_bits(*bits);
            }
        }
        self.tidy();
    }

    /// Whether every counter is at least as large as another's.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let fine = match (&self.fine, &other.fine) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(a), Some(b)) => (0..8).all(|i| a.passes[i].covers(&b.passes[i]) && a.hits[i].covers(&b.hits[i])),
        };
        fine && self.whole >= other.whole
            && (0..8).all(|i| self.metres[i] >= other.metres[i])
            && self.halves.covers(&other.halves)
            && self.moments.covers(&other.moments)
    }

    /// Adds another's counters, or takes them away.
    pub(super) fn combine(&mut self, other: &Self, take: bool) {
        let join = |a: u32, b: u32| if take { a.saturating_sub(b) } else { a.saturating_add(b) };
        self.whole = join(self.whole, other.whole);
        self.metres = std::array::from_fn(|i| join(self.metres[i], other.metres[i]));
        self.halves.combine(&other.halves, take);
        self.moments.combine(&other.moments, take);
        if let Some(theirs) = &other.fine {
            let fine = self.fine();
            for i in 0..8 {
                fine.passes[i].combine(&theirs.passes[i], take);
                fine.hits[i].combine(&theirs.hits[i], take);
            }
        }
        self.tidy();
    }

    /// Lets go of counters that are all zero again, so that equal counts are equal blocks.
    fn tidy(&mut self) {
        if self.fine.as_ref().is_some_and(|fine| fine.passes.iter().chain(&fine.hits).all(Cells::is_zero)) {
            self.fine = None;
        }
    }

    /// The largest H or P of its cubes, or the number of frames whose times it has.
    pub(super) fn most(&self) -> u64 {
        let mut most = self.moments.total();
        for metre in 0..8 {
            let coarse = u64::from(self.whole) + u64::from(self.metres[metre]);
            let fine = self.fine.as_deref().map(|fine| (fine.passes[metre].values(), fine.hits[metre].values()));
            for bit in 0..64 {
                let passes = coarse + u64::from(self.halves.get(in_block(metre, bit).half));
                let (more, hits) = fine.as_ref().map_or((0, 0), |(passes, hits)| (passes[bit], hits[bit]));
                most = most.max(passes + u64::from(more)).max(u64::from(hits));
            }
        }
        most
    }

    /// Memory beyond the block itself.
    pub(super) fn bytes(&self) -> usize {
        let fine = self.fine.as_ref().map_or(0, |fine| {
            size_of::<Fine>() + fine.passes.iter().chain(&fine.hits).map(Cells::bytes).sum::<usize>()
        });
        fine + self.halves.bytes() + self.moments.bytes()
    }
}
