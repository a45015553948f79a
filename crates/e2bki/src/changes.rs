//! What changed in a map since a consumer last looked: the one answer for viewers, folders of tiles and publishers.

use std::sync::Arc;

use crate::mapper::Mapper;

/// Clones of clones that are remembered; older ones count as strangers.
const MOST_ANCESTORS: usize = 16;

/// A cubic metre in which something changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockChange {
    /// Its low corner, whole metres: the [`origin`](crate::primitive::Sums::origin) of the primitives in it.
    pub block: [i32; 3],
    /// Whether a primitive in it was added, removed or altered.
    pub primitives: bool,
    /// Corners of the first and the last cubic metre, both included, in which views can differ because of it.
    pub views: Option<([i32; 3], [i32; 3])>,
}

/// What changed after a given change; see [`Mapper::changes_since`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Number of the latest change: ask from here the next time.
    pub number: u64,
    /// True if what changed is not known (see [`Mapper::forget_changes`]): everything must be read anew.
    pub everything: bool,
    /// The cubic metres, in ascending order.
    pub blocks: Vec<BlockChange>,
}

impl Changes {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && !self.everything
    }

    /// Cubic metres in which a primitive was added, removed or altered; in ascending order.
    pub fn primitive_blocks(&self) -> impl Iterator<Item = [i32; 3]> {
        self.blocks.iter().filter(|change| change.primitives).map(|change| change.block)
    }

    /// Cubic metres in which voxels, bird's-eye cells (by x and y) or queries can differ; in ascending order. Where tiles
    /// are enough, [`BlockChange::views`] costs less.
    pub fn view_blocks(&self) -> Vec<[i32; 3]> {
        let mut blocks: Vec<[i32; 3]> = Vec::new();
        for (low, high) in self.blocks.iter().filter_map(|change| change.views) {
            for x in low[0]..=high[0] {
                for y in low[1]..=high[1] {
                    blocks.extend((low[2]..=high[2]).map(|z| [x, y, z]));
                }
            }
        }
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }
}

/// A state that a map was in: after one certain change of one certain map. A clone shares the moments before it was made.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Stands for the map that made the change: no other has the same address as long as this is held.
    maker: Arc<()>,
    number: u64,
}

impl Moment {
    /// Number of the change.
    pub fn number(&self) -> u64 {
        self.number
    }
}

/// The number of a map's latest change, and whose changes led there.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) number: u64,
    own: Arc<()>,
    /// Number of the change after which this map was cloned from another.
    born: u64,
    /// Maps that this one was cloned from, with the last of their changes that it has.
    ancestors: Vec<(Arc<()>, u64)>,
}

impl Clone for History {
    fn clone(&self) -> Self {
        let mut ancestors = self.ancestors.clone();
        if self.number > self.born {
            ancestors.push((self.own.clone(), self.number));
        }
        let excess = ancestors.len().saturating_sub(MOST_ANCESTORS);
        ancestors.drain(..excess);
        Self { number: self.number, own: Arc::default(), born: self.number, ancestors }
    }
}

impl History {
    fn moment(&self) -> Moment {
        let inherited = self.ancestors.last().filter(|(_, last)| self.number == self.born && *last == self.number);
        Moment { maker: inherited.map_or(&self.own, |(maker, _)| maker).clone(), number: self.number }
    }

    fn includes(&self, moment: &Moment) -> bool {
        let mut makers = self.ancestors.iter().map(|(maker, last)| (maker, *last)).chain([(&self.own, self.number)]);
        makers.any(|(maker, last)| Arc::ptr_eq(maker, &moment.maker) && moment.number <= last)
    }
}

impl Mapper {
    /// Number of the latest change. Every frame, merge, taking out and putting back is one; an empty map is at 0.
    pub fn change_number(&self) -> u64 {
        // Derived first: what is announced later must not belong to a change before this number.
        self.seen().log.history.number
    }

    /// What changed after the change of that number, in time that grows with what changed and not with the map. Each
    /// consumer keeps the number it last asked at; 0 gives everything that was ever there.
    ///
    /// ```
    /// # use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics};
    /// # let mut map = Mapper::new(ClassSet::from_names(["ground", "tree"])?, Config::default())?;
    /// let before = map.change_number();
    /// map.insert(&Frame {
    ///     points: &[[2.5, 0.1, 0.1]],
    ///     semantics: Semantics::Labels(&[1]),
    ///     world_from_sensor: Pose::IDENTITY,
    ///     scan: None,
    /// })?;
    /// let changes = map.changes_since(before);
    /// assert_eq!(changes.primitive_blocks().collect::<Vec<_>>(), [[2, 0, 0]]);
    /// assert!(changes.view_blocks().contains(&[2, 0, 0]));
    /// assert!(map.changes_since(changes.number).is_empty());
    /// # Ok::<(), e2bki::Error>(())
    /// ```
    pub fn changes_since(&self, number: u64) -> Changes {
        self.seen().log.since(number)
    }

    /// Forgets where changes up to that number were, to save the memory. Whoever asks from before it is told that
    /// everything may have changed.
    pub fn forget_changes(&mut self, until: u64) {
        self.settle_now();
        self.contents.get_mut().log.forget(until);
    }

    /// The state that the map is in.
    pub fn moment(&self) -> Moment {
        self.seen().log.history.moment()
    }

    /// Whether this map, or the one it was cloned from before that, was in a state: then [`Self::changes_since`] the
    /// moment's number is all in which the two differ.
    pub fn has_been_at(&self, moment: &Moment) -> bool {
        self.contents.read(|contents| contents.log.history.includes(moment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(history: &mut History) -> Moment {
        history.number += 1;
        history.moment()
    }

    #[test]
    fn clones_share_what_was_before_them_and_nothing_after() {
        let mut map = History::default();
        let first = step(&mut map);
        let copy = map.clone();
        // A clone that has made no change is at the same moment.
        assert!(map.includes(&copy.moment()) && copy.includes(&first));
        let (mut copy, second) = (copy.clone(), step(&mut map));
        assert!(map.includes(&second) && !copy.includes(&second));
        let other = step(&mut copy);
        assert_eq!(other.number(), second.number());
        assert!(copy.includes(&other) && copy.includes(&first) && !map.includes(&other));
        let late = map.clone();
        assert!(late.includes(&first) && late.includes(&second) && !late.includes(&other));
        assert!(!History::default().includes(&first) && !History::default().includes(&History::default().moment()));
    }

    #[test]
    fn a_long_line_of_clones_forgets_its_beginning_only() {
        let mut map = History::default();
        let first = step(&mut map);
        let mut last = first.clone();
        for _ in 0..3 * MOST_ANCESTORS {
            map = map.clone();
            last = step(&mut map);
        }
        assert!(map.ancestors.len() <= MOST_ANCESTORS);
        assert!(map.includes(&last) && map.clone().includes(&last) && !map.includes(&first));
    }
}
