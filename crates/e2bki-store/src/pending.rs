//! What changed in a map, gathered until somebody asks.

use std::collections::BTreeMap;

use e2bki::{BlockChange, Changes};

/// Cubic metres that are remembered: some megabytes. Who has not asked for so long reads everything anew.
const MOST_BLOCKS: usize = 1 << 17;

/// Changes, each cubic metre once.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    everything: bool,
    blocks: BTreeMap<[i32; 3], BlockChange>,
}

impl Pending {
    pub(crate) fn add(&mut self, changes: Changes) {
        self.everything |= changes.everything;
        for change in changes.blocks.into_iter().filter(|_| !self.everything) {
            let known = self.blocks.entry(change.block).or_insert(change);
            known.primitives |= change.primitives;
            known.views = match (known.views, change.views) {
                (Some((low, high)), Some((from, to))) => Some((
                    std::array::from_fn(|axis| low[axis].min(from[axis])),
                    std::array::from_fn(|axis| high[axis].max(to[axis])),
                )),
                (one, other) => one.or(other),
            };
        }
        if self.everything || self.blocks.len() > MOST_BLOCKS {
            (self.everything, self.blocks) = (true, BTreeMap::new());
        }
    }

    /// All of it, up to the change of that number; nothing is left.
    pub(crate) fn take(&mut self, number: u64) -> Changes {
        let Self { everything, blocks } = std::mem::take(self);
        Changes { number, everything, blocks: blocks.into_values().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(block: [i32; 3], primitives: bool, views: Option<([i32; 3], [i32; 3])>) -> BlockChange {
        BlockChange { block, primitives, views }
    }

    #[test]
    fn a_cubic_metre_is_told_once_with_all_that_it_reaches() {
        let mut pending = Pending::default();
        let of = |blocks: &[BlockChange]| Changes { blocks: blocks.to_vec(), ..Changes::default() };
        pending.add(of(&[change([5, 0, 0], false, Some(([4, 0, 0], [5, 0, 0]))), change([7, 0, 0], false, None)]));
        pending.add(of(&[change([1, 0, 0], true, None), change([5, 0, 0], true, Some(([5, 0, 0], [6, 1, 0])))]));
        let found = pending.take(9);
        assert_eq!((found.number, found.everything, found.blocks.len()), (9, false, 3));
        assert_eq!(found.blocks[1], change([5, 0, 0], true, Some(([4, 0, 0], [6, 1, 0]))));
        assert!(pending.take(10).is_empty());
    }

    #[test]
    fn who_never_asks_costs_no_memory_and_reads_everything_anew() {
        let mut pending = Pending::default();
        for x in 0..=MOST_BLOCKS as i32 {
            pending.add(Changes { blocks: vec![change([x, 0, 0], true, None)], ..Changes::default() });
        }
        assert!(pending.blocks.is_empty() && pending.take(1).everything);
    }
}
