//! Refinement: prune what nearer primitives contradict, merge what agrees (SPEC A12–A16).
//!
//! Only fresh primitives and the old ones within the consistency radius of a fresh one are visited, so the cost of a
//! frame depends on what is near it and never on the size of the map. Searches run in parallel over blocks and only
//! read; changes are then applied one by one in a fixed order.

mod merge;
mod neighbourhood;
mod one_pass;
mod prune;
mod survey;

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

/// Refines around the fresh primitives, whose slots are given.
pub(crate) fn refine(set: &mut PrimitiveSet, fresh: &[u32], config: &Config) -> Outcome {
    let mut outcome = Outcome::default();
    if !fresh.is_empty() && (config.prune || config.merge) {
        let survey = survey::survey(set, fresh, config);
        match config.refinement {
            Refinement::PruneThenMerge => {
                if config.prune {
                    outcome.pruned = prune::prune(set, survey.contradictions);
                }
                if config.merge {
                    merge::merge(set, survey.members, outcome.pruned > 0, config, &mut outcome);
                }
            }
            Refinement::OnePass => one_pass::one_pass(set, survey, config, &mut outcome),
        }
    }
    outcome
}
