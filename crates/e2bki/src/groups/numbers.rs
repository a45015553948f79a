//! Numbers for keys: equal keys get the same number, in parallel and always the same way.

use std::hash::{Hash, Hasher};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHasher};

/// Parts that the keys are divided into: enough for the threads there may be, and never a matter of how many there are.
const SHARDS: usize = 8;

/// Keys with numbers.
pub(crate) struct Numbers<K> {
    /// The number of every key that was given.
    pub(crate) of: Vec<u32>,
    /// The key of every number.
    pub(crate) keys: Vec<K>,
}

impl<K: Hash + Eq + Copy + Send + Sync> Numbers<K> {
    /// Numbers follow the part of a key, then its first appearance.
    pub(crate) fn new(keys: &[K]) -> Self {
        let shards: Vec<u8> = keys.par_iter().with_min_len(4096).map(|key| shard_of(key) as u8).collect();
        let parts: Vec<_> = of_shards(&shards)
            .into_par_iter()
            .map(|of_shard| {
                let (mut numbers, mut first) = (table_for(of_shard.len()), Vec::new());
                let mut members = Vec::with_capacity(of_shard.len());
                // Neighbours in a scan mostly have the same key: then nothing is looked up.
                let mut last = None;
                for i in of_shard {
                    let key = keys[i as usize];
                    let number = match last {
                        Some((same, number)) if same == key => number,
                        _ => *numbers.entry(key).or_insert_with(|| {
                            first.push(key);
                            first.len() as u32 - 1
                        }),
                    };
                    last = Some((key, number));
                    members.push((i, number));
                }
                (members, first)
            })
            .collect();
        let mut all = Self { of: vec![0; keys.len()], keys: Vec::new() };
        for (members, first) in parts {
            let before = all.keys.len() as u32;
            for (i, number) in members {
                all.of[i as usize] = before + number;
            }
            all.keys.extend(first);
        }
        all
    }

    /// How many numbers there are.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }
}

/// The keys of every part, in their order.
fn of_shards(shards: &[u8]) -> [Vec<u32>; SHARDS] {
    let mut counts = [0; SHARDS];
    shards.iter().for_each(|shard| counts[usize::from(*shard) % SHARDS] += 1);
    let mut members = counts.map(Vec::with_capacity);
    shards.iter().zip(0..).for_each(|(shard, i)| members[usize::from(*shard) % SHARDS].push(i));
    members
}

/// A table for so many keys, of which about a third differ.
fn table_for<K>(keys: usize) -> FxHashMap<K, u32> {
    FxHashMap::with_capacity_and_hasher(keys / 3, rustc_hash::FxBuildHasher)
}

fn shard_of<K: Hash>(key: &K) -> usize {
    let mut hasher = FxHasher::default();
    key.hash(&mut hasher);
    // Not the bits that the tables of the parts look at.
    (hasher.finish() >> 40) as usize % SHARDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_keys_and_only_they_share_a_number(keys in prop::collection::vec(-9..9_i32, 0..400)) {
            let numbers = Numbers::new(&keys);
            let mut of_key = FxHashMap::default();
            for (key, number) in keys.iter().zip(&numbers.of) {
                prop_assert_eq!(*of_key.entry(*key).or_insert(*number), *number);
                prop_assert_eq!(numbers.keys[*number as usize], *key);
            }
            let mut used: Vec<u32> = of_key.into_values().collect();
            used.sort_unstable();
            prop_assert!(used.iter().copied().eq(0..numbers.len() as u32));
        }
    }
}
