//! What one run of a robot added, as far as it is known here: its regions, and which of its numbers have been told.

use std::collections::BTreeMap;

use e2bki::MAX_COUNT;

use super::message::{Frames, Kind, Place, RegionBytes, Told};
use super::space;

/// Spans of numbers beyond a gap that are remembered; what is told beyond is asked for again.
const MOST_SPANS: usize = 1024;

/// Numbers that have been told: all up to one, and spans beyond it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Covered {
    through: u64,
    /// Above the first and up to the second; none touch.
    spans: BTreeMap<u64, u64>,
}

impl Covered {
    /// All up to this.
    pub(super) fn through(&self) -> u64 {
        self.through
    }

    /// Those above `after` and up to `through` have been told.
    pub(super) fn add(&mut self, after: u64, through: u64) {
        let (mut low, mut high) = (after, through);
        let touching: Vec<u64> =
            self.spans.range(..=high).filter(|(_, end)| **end >= low).map(|(start, _)| *start).collect();
        for start in touching {
            high = high.max(self.spans.remove(&start).unwrap_or(start));
            low = low.min(start);
        }
        if low <= self.through {
            self.through = self.through.max(high);
        } else {
            self.spans.insert(low, high);
            if self.spans.len() > MOST_SPANS {
                self.spans.pop_last();
            }
        }
    }

    /// The first numbers that are missing up to the latest: above the first and up to the second.
    pub(super) fn missing(&self, latest: u64) -> Option<(u64, u64)> {
        let end = self.spans.first_key_value().map_or(latest, |(start, _)| (*start).min(latest));
        (self.through < end).then_some((self.through, end))
    }
}

/// What is known of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Replica {
    /// Number and rows of every region; those that hold nothing any more are kept too, since others have to be told.
    pub(super) regions: BTreeMap<Place, (u64, Box<[u8]>)>,
    pub(super) covered: Covered,
    /// The latest number that was heard of.
    pub(super) latest: u64,
    /// Frames, and the number as of which they are counted.
    pub(super) frames: (Frames, u64),
    pub(super) bytes: usize,
    /// Bytes of what is free space.
    pub(super) space_bytes: usize,
}

impl Replica {
    /// Regions of a message that are newer than what is known.
    pub(super) fn news(&self, told: Told) -> Vec<RegionBytes> {
        let newer = |new: &RegionBytes| self.regions.get(&new.place).is_none_or(|(number, _)| *number < new.number);
        told.regions.into_iter().filter(newer).collect()
    }

    /// Takes regions in place of what they were.
    pub(super) fn put(&mut self, news: Vec<RegionBytes>) {
        for RegionBytes { place, number, rows } in news {
            self.latest = self.latest.max(number);
            let more = rows.len();
            let less = self.regions.insert(place, (number, rows.into())).map_or(0, |(_, old)| old.len());
            self.bytes = self.bytes + more - less;
            if place.0 == Kind::Space {
                self.space_bytes = self.space_bytes + more - less;
            }
        }
    }

    /// Bytes of a region of a kind, on average.
    pub(super) fn usual_bytes(&self, kind: Kind) -> Option<usize> {
        let spaces = self.regions.range((Kind::Space, [i32::MIN; 3])..).count();
        match kind {
            Kind::Space => self.space_bytes.checked_div(spaces),
            Kind::Primitives => (self.bytes - self.space_bytes).checked_div(self.regions.len() - spaces),
        }
    }

    /// Most frames that any region of free space says were counted, those of a message left out.
    pub(super) fn most_counted(&self, news: &[RegionBytes]) -> u64 {
        let spaces = self.regions.range((Kind::Space, [i32::MIN; 3])..);
        let kept = spaces.filter(|(place, _)| news.binary_search_by_key(place, |new| &new.place).is_err());
        kept.filter_map(|(_, (_, counts))| space::frames(counts)).max().unwrap_or(0)
    }

    pub(super) fn heard_of(&mut self, latest: u64) {
        self.latest = self.latest.max(latest.min(MAX_COUNT));
    }

    /// All regions whose numbers are above one and up to another, in messages of at most so many bytes of rows and until so many
    /// bytes are told, at least one message; what is left has to be asked for again. A number is never split: it was a message.
    pub(super) fn told(
        &self,
        (after, through): (u64, u64),
        most: usize,
        budget: usize,
    ) -> Vec<(u64, u64, Vec<RegionBytes>)> {
        let mut wanted: Vec<(u64, Place)> = self
            .regions
            .iter()
            .filter(|(_, (number, _))| *number > after && *number <= through)
            .map(|(place, (number, _))| (*number, *place))
            .collect();
        wanted.sort_unstable();
        let (mut messages, mut from, mut spent) = (Vec::new(), after, 0);
        let (mut regions, mut size): (Vec<RegionBytes>, usize) = (Vec::new(), 0);
        for group in wanted.chunk_by(|a, b| a.0 == b.0) {
            let rows = |place: &Place| self.regions.get(place).map_or(&[][..], |(_, rows)| rows);
            let more: usize = group.iter().map(|(_, place)| rows(place).len() + ABOUT_REGION).sum();
            if size + more > most && !regions.is_empty() {
                let end = group[0].0 - 1;
                messages.push((from, end, std::mem::take(&mut regions)));
                (from, spent, size) = (end, spent + size, 0);
                if spent >= budget {
                    return sorted(messages);
                }
            }
            size += more;
            regions.extend(group.iter().map(|(number, place)| RegionBytes {
                place: *place,
                number: *number,
                rows: rows(place).to_vec(),
            }));
        }
        messages.push((from, through, regions));
        sorted(messages)
    }
}

/// Bytes of a region besides its rows, at most in practice.
pub(super) const ABOUT_REGION: usize = 20;

fn sorted(mut messages: Vec<(u64, u64, Vec<RegionBytes>)>) -> Vec<(u64, u64, Vec<RegionBytes>)> {
    messages.iter_mut().for_each(|(_, _, regions)| regions.sort_unstable_by_key(|region| region.place));
    messages
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn spans_are_a_set_of_numbers(spans in prop::collection::vec((0_u64..40, 1_u64..9), 0..30), latest in 0_u64..50) {
            let (mut covered, mut told) = (Covered::default(), BTreeSet::new());
            for (after, length) in spans {
                covered.add(after, after + length);
                told.extend(after + 1..=after + length);
                let through = (1..).find(|n| !told.contains(n)).unwrap() - 1;
                prop_assert_eq!(covered.through(), through);
                let first = (1..=latest).find(|n| !told.contains(n));
                let end = first.map(|first| (first..=latest).take_while(|n| !told.contains(n)).last().unwrap());
                prop_assert_eq!(covered.missing(latest), first.zip(end).map(|(first, end)| (first - 1, end)));
            }
        }

        #[test]
        fn what_is_told_is_what_there_is(numbers in prop::collection::vec(1_u64..30, 0..60), most in 1_usize..200) {
            let mut replica = Replica::default();
            for (x, number) in numbers.iter().enumerate() {
                let rows = vec![*number as u8; 5];
                let kind = if x % 3 == 0 { Kind::Space } else { Kind::Primitives };
                replica.put(vec![RegionBytes { place: (kind, [x as i32, 0, 0]), number: *number, rows }]);
            }
            let mut other = Replica::default();
            for (after, through, regions) in replica.told((0, 30), most, usize::MAX) {
                prop_assert!(regions.iter().all(|r| r.number > after && r.number <= through));
                prop_assert!(regions.is_sorted_by_key(|r| r.place));
                other.put(regions);
                other.covered.add(after, through);
            }
            prop_assert_eq!(&other.regions, &replica.regions);
            prop_assert_eq!((other.covered.through(), other.bytes), (30, replica.bytes));
            prop_assert_eq!(other.space_bytes, 5 * numbers.len().div_ceil(3));
            // With a budget it is less, and never nothing.
            let some = replica.told((0, 30), most, 1);
            prop_assert_eq!(some.len(), 1);
        }
    }

    #[test]
    fn spans_that_are_too_many_are_forgotten_and_never_wrong() {
        let mut covered = Covered::default();
        for k in 1..5000 {
            covered.add(2 * k, 2 * k + 1);
        }
        assert_eq!((covered.spans.len(), covered.missing(10)), (MOST_SPANS, Some((0, 2))));
    }
}
