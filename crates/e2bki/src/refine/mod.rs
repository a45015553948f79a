//! Step 6, refine: prune what nearer primitives contradict, merge what agrees (docs/method.md#order-of-refinement).
//!
//! Only fresh primitives and the old ones within the consistency radius of a fresh one are visited, so the cost of a
//! frame depends on what is near it and never on the size of the map. Searches run in parallel over blocks and only
//! read; changes are then applied one by one in a fixed order.

mod merge;
mod neighbourhood;
mod one_pass;
mod prune;
mod survey;
#[cfg(test)]
mod tests;

use crate::config::{Config, Refinement};
use crate::map::PrimitiveSet;

/// What refinement did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    pub(crate) pruned: usize,
    pub(crate) merged: usize,
    /// Primitives whose sums changed; some may be gone again.
    pub(crate) changed: Vec<u32>,
}

/// Refines around the fresh primitives: those made or changed since the set's latest `begin`.
pub(crate) fn refine(set: &mut PrimitiveSet, config: &Config) -> Outcome {
    let mut outcome = Outcome::default();
    if config.refinement.prune || config.refinement.merge {
        let survey = survey::survey(set, config);
        match config.refinement.order {
            Refinement::PruneThenMerge => {
                let pruned = prune::prune(set, survey.contradictions);
                outcome.pruned = pruned.len();
                if config.refinement.merge {
                    merge::merge(set, survey.members, &pruned, config, &mut outcome);
                }
            }
            Refinement::OnePass => one_pass::one_pass(set, survey, config, &mut outcome),
        }
    }
    outcome
}
