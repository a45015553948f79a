//! Pruning: nearest observer first, each survivor removes the contradicting neighbours seen from much farther away.

use super::survey::Contradiction;
use crate::keys::BlockKey;
use crate::map::PrimitiveSet;
use crate::primitive::block_of;

/// Applies the contradictions by ascending range (ties: id); returns the blocks of those removed.
pub(super) fn prune(set: &mut PrimitiveSet, mut contradictions: Vec<Contradiction>) -> Vec<BlockKey> {
    contradictions
        .sort_unstable_by(|a, b| a.range.total_cmp(&b.range).then(a.id.cmp(&b.id)).then(a.target.cmp(&b.target)));
    let mut removed = Vec::new();
    for found in contradictions {
        if set.head(found.slot).alive() && set.head(found.target).alive() {
            removed.push(BlockKey(block_of(set.sums(found.target).mean())));
            set.remove(found.target);
        }
    }
    removed
}
