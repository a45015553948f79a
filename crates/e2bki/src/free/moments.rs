//! When a block was seen: for every whole second the number of frames that saw anything of it, hit or passed.
//!
//! A latest time alone could not be taken out again. Counted by the second it is a sum like all else: any order and
//! grouping gives the same, and what was added can be taken out exactly; the last second with a frame is when the block
//! was last seen. A drive past a block leaves a handful of seconds.

use std::sync::OnceLock;

use super::block::Block;
use super::counters::{Counters, Tally};
use super::cubes::{cube_of, split};

/// The times of the first and the last frame that saw a place, whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// Of the first one.
    pub first: u32,
    /// Of the last one.
    pub last: u32,
}

impl Seen {
    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self { first: self.first.min(other.first), last: self.last.max(other.last) }
    }
}

/// The whole second of a time in seconds; nothing where that is not a time from 0 to 2³² − 1.
pub(crate) fn second_of(time: f64) -> Option<u32> {
    (time >= 0.0 && time < f64::from(u32::MAX) + 1.0).then_some(time as u32)
}

/// Frames by second, ascending, none of them zero.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Moments(Vec<(u32, u32)>);

impl Moments {
    /// From seconds that ascend, each with a number above zero; nothing otherwise.
    pub(super) fn of(list: Vec<(u32, u32)>) -> Option<Self> {
        let good = list.iter().all(|(_, frames)| *frames > 0) && list.windows(2).all(|pair| pair[0].0 < pair[1].0);
        good.then_some(Self(list))
    }

    pub(super) fn list(&self) -> &[(u32, u32)] {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn seen(&self) -> Option<Seen> {
        Some(Seen { first: self.0.first()?.0, last: self.0.last()?.0 })
    }

    /// Number of frames.
    pub(super) fn total(&self) -> u64 {
        self.0.iter().map(|(_, frames)| u64::from(*frames)).sum()
    }

    fn at(&self, second: u32) -> Result<usize, usize> {
        // Frames mostly come in the order of their times.
        match self.0.last() {
            Some((last, _)) if *last == second => Ok(self.0.len() - 1),
            Some((last, _)) if *last < second => Err(self.0.len()),
            _ => self.0.binary_search_by_key(&second, |(second, _)| *second),
        }
    }

    /// Counts frames; they are kept below 2³² by who calls.
    pub(super) fn add(&mut self, second: u32, frames: u32) {
        match self.at(second) {
            Ok(at) => self.0[at].1 = self.0[at].1.saturating_add(frames),
            Err(at) => self.0.insert(at, (second, frames)),
        }
    }

    /// Takes frames out.
    pub(super) fn take(&mut self, second: u32, frames: u32) {
        if let Ok(at) = self.at(second) {
            self.0[at].1 = self.0[at].1.saturating_sub(frames);
            if self.0[at].1 == 0 {
                self.0.remove(at);
            }
        }
    }

    pub(super) fn holds(&self, second: u32, frames: u32) -> bool {
        self.at(second).is_ok_and(|at| self.0[at].1 >= frames)
    }

    /// Whether it counts at least as many frames as another at every second.
    pub(super) fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|(second, frames)| self.holds(*second, *frames))
    }

    /// Adds another's, or takes them away.
    pub(super) fn combine(&mut self, other: &Self, take: bool) {
        for (second, frames) in &other.0 {
            if take { self.take(*second, *frames) } else { self.add(*second, *frames) }
        }
    }

    /// At every second the larger number.
    pub(super) fn join(&mut self, other: &Self) {
        for (second, frames) in &other.0 {
            match self.at(*second) {
                Ok(at) => self.0[at].1 = self.0[at].1.max(*frames),
                Err(at) => self.0.insert(at, (*second, *frames)),
            }
        }
    }

    /// Memory beyond itself.
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<(u32, u32)>()
    }
}

/// When the first and the last frame of counters were, once somebody has asked: frames that are added are followed, and whatever
/// takes something away has it looked up again. It follows from the counters, so that it does not tell them apart.
#[derive(Debug, Clone, Default)]
pub(super) struct Span(OnceLock<Option<Seen>>);

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Span {
    /// A frame was added.
    pub(super) fn add(&mut self, second: u32) {
        if let Some(known) = self.0.get_mut() {
            let seen = Seen { first: second, last: second };
            *known = Some(known.map_or(seen, |known| known.and(seen)));
        }
    }

    /// Anything may have changed.
    pub(super) fn forget(&mut self) {
        self.0.take();
    }
}

impl Counters {
    /// When the block of 2 m around a place was first and last seen; nothing where no frame with a time saw anything of it.
    pub fn seen(&self, world: [f64; 3]) -> Option<Seen> {
        world.iter().all(|v| v.is_finite()).then(|| self.look(cube_of(world)).1).flatten()
    }

    /// The counts of a cube, and when its block was seen.
    pub(crate) fn look(&self, cube: [i32; 3]) -> (Tally, Option<Seen>) {
        let (key, place) = split(cube);
        let Some(block) = self.blocks.get(&key) else { return Default::default() };
        let (hits, passes) = block.get(place);
        (Tally { hits, passes }, block.moments.seen())
    }

    /// When the first and the last frame with a time were; nothing if there was none.
    pub fn span(&self) -> Option<Seen> {
        let seen = |block: &Block| block.moments.seen();
        *self.span.0.get_or_init(|| self.blocks.values().filter_map(seen).reduce(Seen::and))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_counted_and_come_out_again() {
        let mut moments = Moments::default();
        for second in [7, 3, 7, 9, 3, 3] {
            moments.add(second, 1);
        }
        assert_eq!(moments.list(), [(3, 3), (7, 2), (9, 1)]);
        assert_eq!((moments.seen(), moments.total()), (Some(Seen { first: 3, last: 9 }), 6));
        let other = Moments::of(vec![(3, 1), (9, 1)]).unwrap();
        assert!(moments.covers(&other) && !other.covers(&moments) && !moments.holds(8, 1));
        moments.combine(&other, true);
        assert_eq!(moments.seen(), Some(Seen { first: 3, last: 7 }));
        moments.combine(&other, false);
        moments.join(&Moments::of(vec![(1, 1), (3, 9)]).unwrap());
        assert_eq!(moments.list(), [(1, 1), (3, 9), (7, 2), (9, 1)]);
        assert!(Moments::of(vec![(3, 0)]).is_none() && Moments::of(vec![(3, 1), (3, 1)]).is_none());
    }

    #[test]
    fn the_span_follows_frames_that_are_added_and_forgets() {
        let seen = |first, last| Some(Seen { first, last });
        let mut span = Span::default();
        span.add(5);
        assert!(span.0.get().is_none(), "nobody has asked");
        assert_eq!(*span.0.get_or_init(|| None), None);
        for (second, expected) in [(7, seen(7, 7)), (9, seen(7, 9)), (3, seen(3, 9)), (4, seen(3, 9))] {
            span.add(second);
            assert_eq!(span.0.get(), Some(&expected));
        }
        span.forget();
        assert!(span.0.get().is_none() && span == Span::default());
    }

    #[test]
    fn times_are_whole_seconds_from_zero_on() {
        assert_eq!(second_of(12.99), Some(12));
        assert_eq!(second_of(4_294_967_295.9), Some(u32::MAX));
        for wrong in [-0.1, 4_294_967_296.0, f64::NAN, f64::INFINITY] {
            assert_eq!(second_of(wrong), None);
        }
    }
}
