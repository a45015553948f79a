//! The literal reading: every primitive either merges or prunes, judged on the state before the frame's refinement.

use rustc_hash::FxHashSet;

use super::Outcome;
use super::merge::absorb;
use super::survey::Survey;
use crate::config::Config;
use crate::map::PrimitiveSet;

/// Applies both rules to the surveyed snapshot: contradictions all count, and only uncontradicted members merge.
pub(super) fn one_pass(set: &mut PrimitiveSet, survey: Survey, config: &Config, outcome: &mut Outcome) {
    let pruned: FxHashSet<u32> = survey.contradictions.iter().map(|found| found.target).collect();
    if config.refinement.merge {
        for member in &survey.members {
            let gone = |slot: u32| pruned.contains(&slot) || !set.head(slot).alive();
            if member.contradicted || gone(member.slot) {
                continue;
            }
            let mut partners: Vec<u32> = member.partners.iter().copied().filter(|slot| !gone(*slot)).collect();
            if !partners.is_empty() {
                outcome.changed.push(absorb(set, member.slot, &mut partners));
                outcome.merged += partners.len();
            }
        }
    }
    let mut pruned: Vec<u32> = pruned.into_iter().collect();
    pruned.sort_unstable();
    for slot in pruned {
        if set.head(slot).alive() {
            set.remove(slot);
            outcome.pruned += 1;
        }
    }
}
