//! Pruning: nearest observer first, each survivor removes the contradicting neighbours seen from much farther away.

use super::survey::Contradiction;
use crate::map::PrimitiveSet;

/// Applies the contradictions by ascending range (ties: id); returns how many primitives were removed.
pub(super) fn prune(set: &mut PrimitiveSet, mut contradictions: Vec<Contradiction>) -> usize {
    contradictions
        .sort_unstable_by(|a, b| a.range.total_cmp(&b.range).then(a.id.cmp(&b.id)).then(a.target.cmp(&b.target)));
    let mut removed = 0;
    for found in contradictions {
        if set.core(found.slot).alive && set.core(found.target).alive {
            set.remove(found.target);
            removed += 1;
        }
    }
    removed
}
