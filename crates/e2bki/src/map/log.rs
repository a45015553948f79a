//! When every cubic metre last changed: a list in the order of changes, so that a question costs what it finds.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::aabb::{Aabb, Stale};
use crate::changes::{BlockChange, Changes, History};
use crate::keys::BlockKey;
use crate::primitive::block_of;

/// No node.
const NONE: u32 = u32::MAX;

/// Blocks that are remembered, beyond twice those of the map: a map that moves along with its robot leaves blocks behind,
/// and who has not asked for so long must read everything anew.
const MOST_LEFT: usize = 1 << 14;

/// In a bird's-eye view the floor of an ellipse's axes can make it this much wider than the ellipsoid, metres.
const PLANAR_MARGIN_M: f64 = 0.02;

/// Cubic metres from a first to a last one, relative to a block; none if they are the wrong way round.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    low: [i16; 3],
    high: [i16; 3],
}

impl Span {
    const NOTHING: Self = Self { low: [i16::MAX; 3], high: [i16::MIN; 3] };

    /// The cubic metres that a box meets. The largest possible support is 2 km wide, well within the range.
    fn of(block: BlockKey, bounds: &Aabb) -> Self {
        let whole = |v: f64, axis: usize| (v - f64::from(block.0[axis])).floor() as i16;
        Self {
            low: std::array::from_fn(|axis| whole(bounds.low[axis] - PLANAR_MARGIN_M, axis)),
            high: std::array::from_fn(|axis| whole(bounds.high[axis] + PLANAR_MARGIN_M, axis)),
        }
    }

    fn join(&mut self, other: Self) {
        for axis in 0..3 {
            self.low[axis] = self.low[axis].min(other.low[axis]);
            self.high[axis] = self.high[axis].max(other.high[axis]);
        }
    }

    fn around(self, BlockKey(block): BlockKey) -> Option<([i32; 3], [i32; 3])> {
        let at = |corner: [i16; 3]| std::array::from_fn(|axis| block[axis].saturating_add(i32::from(corner[axis])));
        (self.low[0] <= self.high[0]).then(|| (at(self.low), at(self.high)))
    }
}

/// A block in the list.
#[derive(Debug, Clone)]
struct Node {
    block: BlockKey,
    /// Where views could differ because of this block, by any change so far: that a block's kernels reach about as far
    /// every time makes this as good as a span per change.
    span: Span,
    /// Number of the last change.
    number: u64,
    /// Number of the last change of a primitive.
    primitives: u64,
    older: u32,
    newer: u32,
}

/// The list. A block that became empty stays in it.
#[derive(Debug, Clone)]
pub(crate) struct ChangeLog {
    pub(crate) history: History,
    nodes: Vec<Node>,
    at: FxHashMap<BlockKey, u32>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
    /// Number up to which changes were forgotten.
    forgotten: u64,
}

impl Default for ChangeLog {
    fn default() -> Self {
        let (nodes, at, free) = (Vec::new(), FxHashMap::default(), Vec::new());
        Self { history: History::default(), nodes, at, free, oldest: NONE, newest: NONE, forgotten: 0 }
    }
}

impl ChangeLog {
    /// Begins a change.
    pub(crate) fn begin(&mut self) {
        self.history.number += 1;
    }

    /// Adds this to the latest change.
    pub(crate) fn note(&mut self, stale: &Stale) {
        self.note_more(stale, true);
    }

    /// The same; without `primitives` only views are meant.
    pub(crate) fn note_more(&mut self, stale: &Stale, primitives: bool) {
        for (block, bounds) in &stale.touched {
            let span = bounds.as_ref().map_or(Span::NOTHING, |bounds| Span::of(*block, bounds));
            self.touch(*block, span, primitives);
        }
        for (block, bounds) in &stale.reshaped {
            let span = bounds.as_ref().map_or(Span::NOTHING, |bounds| Span::of(*block, bounds));
            self.touch(*block, span, false);
        }
        for support in &stale.supports {
            let block = BlockKey(block_of(support.mean));
            self.touch(block, Span::of(block, &support.bounds()), false);
        }
    }

    /// Adds blocks in and right beside which views alone changed to the latest change.
    pub(crate) fn note_views(&mut self, blocks: &[[i32; 3]]) {
        for block in blocks {
            self.touch(BlockKey(*block), Span { low: [-1; 3], high: [1; 3] }, false);
        }
    }

    /// Makes a block the newest of the list.
    fn touch(&mut self, block: BlockKey, span: Span, primitives: bool) {
        let number = self.history.number;
        let fresh = Node { block, span: Span::NOTHING, number: 0, primitives: 0, older: NONE, newer: NONE };
        let (nodes, free) = (&mut self.nodes, &mut self.free);
        let index = *self.at.entry(block).or_insert_with(|| match free.pop() {
            Some(index) => {
                nodes[index as usize] = fresh;
                index
            }
            None => {
                nodes.push(fresh);
                (nodes.len() - 1) as u32
            }
        });
        if self.nodes[index as usize].number != number {
            if self.nodes[index as usize].number != 0 {
                self.unlink(index);
            }
            self.append(index);
        }
        let node = &mut self.nodes[index as usize];
        node.span.join(span);
        node.number = number;
        if primitives {
            node.primitives = number;
        }
    }

    fn unlink(&mut self, index: u32) {
        let Node { older, newer, .. } = self.nodes[index as usize];
        match self.nodes.get_mut(older as usize) {
            Some(node) => node.newer = newer,
            None => self.oldest = newer,
        }
        match self.nodes.get_mut(newer as usize) {
            Some(node) => node.older = older,
            None => self.newest = older,
        }
    }

    fn append(&mut self, index: u32) {
        let newest = std::mem::replace(&mut self.newest, index);
        (self.nodes[index as usize].older, self.nodes[index as usize].newer) = (newest, NONE);
        match self.nodes.get_mut(newest as usize) {
            Some(node) => node.newer = index,
            None => self.oldest = index,
        }
    }

    /// What changed after the change of that number.
    pub(crate) fn since(&self, number: u64) -> Changes {
        let latest = self.history.number;
        // A number that is yet to come belongs to another map.
        let everything = number < self.forgotten || number > latest;
        let from = if everything { 0 } else { number };
        let mut blocks = Vec::new();
        let mut next = self.nodes.get(self.newest as usize);
        while let Some(node) = next.filter(|node| node.number > from) {
            let views = node.span.around(node.block);
            blocks.push(BlockChange { block: node.block.0, primitives: node.primitives > from, views });
            next = self.nodes.get(node.older as usize);
        }
        blocks.par_sort_unstable_by_key(|change| change.block);
        Changes { number: latest, everything, blocks }
    }

    /// Forgets blocks that have not changed after that number.
    pub(crate) fn forget(&mut self, until: u64) {
        let until = until.min(self.history.number);
        while let Some(node) = self.nodes.get(self.oldest as usize).filter(|node| node.number <= until) {
            let (block, index) = (node.block, self.oldest);
            self.unlink(index);
            self.at.remove(&block);
            self.free.push(index);
        }
        self.forgotten = self.forgotten.max(until);
    }

    /// Forgets the oldest changes of a map of so many blocks, if there are too many to be kept.
    pub(crate) fn leave_behind(&mut self, blocks: usize) {
        let most = 2 * blocks + MOST_LEFT;
        while let Some(node) = self.nodes.get(self.oldest as usize).filter(|_| self.at.len() > most) {
            self.forget(node.number);
        }
    }

    pub(crate) fn byte_size(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.at.capacity() * (size_of::<(BlockKey, u32)>() + 1)
            + self.free.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stale(blocks: &[i32]) -> Stale {
        let touched = blocks.iter().map(|x| (BlockKey([*x, 0, 0]), Some(Aabb::around([f64::from(*x); 3], [0.2; 3]))));
        Stale { touched: touched.collect(), ..Stale::default() }
    }

    proptest! {
        /// Against a table of the last change of every block.
        #[test]
        fn every_question_is_answered_exactly(
            changes in prop::collection::vec((prop::collection::vec(0..12_i32, 0..6), any::<bool>()), 1..40),
            forget in prop::option::of(0..40_u64),
        ) {
            let mut log = ChangeLog::default();
            let mut last: std::collections::BTreeMap<i32, (u64, u64)> = std::collections::BTreeMap::new();
            for (i, (blocks, primitives)) in changes.iter().enumerate() {
                let number = i as u64 + 1;
                log.begin();
                log.note_more(&stale(blocks), *primitives);
                for x in blocks {
                    let known = last.entry(*x).or_default();
                    *known = (number, if *primitives { number } else { known.1 });
                }
                if forget == Some(number) {
                    log.forget(number / 2);
                }
            }
            let latest = changes.len() as u64;
            let forgotten = forget.filter(|number| (1..=latest).contains(number)).map_or(0, |number| number / 2);
            for number in 0..=latest + 1 {
                let found = log.since(number);
                prop_assert_eq!(found.everything, number < forgotten || number > latest);
                prop_assert_eq!(found.number, latest);
                if !found.everything {
                    let expected: Vec<([i32; 3], bool)> = last
                        .iter()
                        .filter(|(_, (any, _))| *any > number)
                        .map(|(x, (_, primitives))| ([*x, 0, 0], *primitives > number))
                        .collect();
                    let found: Vec<_> = found.blocks.iter().map(|change| (change.block, change.primitives)).collect();
                    prop_assert_eq!(found, expected);
                }
            }
        }
    }

    #[test]
    fn a_map_that_moves_along_forgets_what_is_far_behind() {
        let mut log = ChangeLog::default();
        for i in 0..100_000 {
            log.begin();
            log.note(&stale(&[i]));
            log.leave_behind(100);
        }
        assert!(log.byte_size() < 200 * MOST_LEFT, "{}", log.byte_size());
        assert_eq!(log.since(99_000).blocks.len(), 1000);
        assert!(!log.since(99_000).everything && log.since(50_000).everything);
    }

    #[test]
    fn forgotten_blocks_leave_their_memory_to_others() {
        let mut log = ChangeLog::default();
        for i in 0..1000 {
            log.begin();
            log.note(&stale(&[i, i + 1]));
            log.forget(log.history.number);
        }
        assert!(log.byte_size() < 2000, "{}", log.byte_size());
        assert!(log.since(1000).is_empty() && log.since(999).everything);
    }
}
