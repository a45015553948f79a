//! Numbers for keys: equal keys get the same number, in parallel and always the same way.

use std::hash::{Hash, Hasher};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHasher};

/// Parts that the keys are divided into: enough for the threads there may be, and never a matter of how many there are.
const SHARDS: usize = 8;

/// The number of every key, and how many numbers there are. Numbers follow the part of a key, then its first appearance.
pub(crate) fn number<K: Hash + Eq + Copy + Send + Sync>(keys: &[K]) -> (Vec<u32>, usize) {
    let shard_of = |key: &K| {
        let mut hasher = FxHasher::default();
        key.hash(&mut hasher);
        // Not the bits that the tables of the parts look at.
        (hasher.finish() >> 40) as usize % SHARDS
    };
    let shards: Vec<u8> = keys.par_iter().with_min_len(4096).map(|key| shard_of(key) as u8).collect();
    let parts: Vec<(Vec<(u32, u32)>, usize)> = (0..SHARDS)
        .into_par_iter()
        .map(|shard| {
            let mut numbers: FxHashMap<K, u32> = FxHashMap::default();
            let mut members = Vec::with_capacity(keys.len() / SHARDS);
            for (i, key) in keys.iter().enumerate().filter(|(i, _)| usize::from(shards[*i]) == shard) {
                let next = numbers.len() as u32;
                members.push((i as u32, *numbers.entry(*key).or_insert(next)));
            }
            (members, numbers.len())
        })
        .collect();
    let mut numbers = vec![0; keys.len()];
    let mut before = 0;
    for (members, count) in parts {
        for (i, number) in members {
            numbers[i as usize] = before as u32 + number;
        }
        before += count;
    }
    (numbers, before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_keys_and_only_they_share_a_number(keys in prop::collection::vec(-9..9_i32, 0..400)) {
            let (numbers, count) = number(&keys);
            let mut of_key = FxHashMap::default();
            for (key, number) in keys.iter().zip(&numbers) {
                prop_assert_eq!(*of_key.entry(*key).or_insert(*number), *number);
            }
            let mut used: Vec<u32> = of_key.into_values().collect();
            used.sort_unstable();
            prop_assert!(used.iter().copied().eq(0..count as u32));
        }
    }
}
