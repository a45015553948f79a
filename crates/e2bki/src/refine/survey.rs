//! The parallel, read-only part of refinement: who takes part, who contradicts whom, who has somebody to absorb.

use rayon::prelude::*;

use super::neighbourhood::Neighbourhood;
use crate::config::{Config, Refinement};
use crate::keys::BlockKey;
use crate::map::{Block, Near, PrimitiveSet};

/// Merges of the frame may move a contradicting primitive by this many merge radii before a survey is worth nothing.
pub(super) const MARGIN: f64 = 2.0;

/// A primitive that takes part: fresh, or within the consistency radius of a fresh one.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) id: u64,
    pub(super) slot: u32,
    /// Whether one of its label lies within the merge radius.
    pub(super) has_partner: bool,
    /// Whether one of another label lies within the consistency radius less [`MARGIN`] merge radii; in the one-pass
    /// reading, within the consistency radius.
    pub(super) contradicted: bool,
    /// Those within the merge radius. Surveyed for the one-pass reading only.
    pub(super) partners: Vec<u32>,
}

/// A primitive that would prune another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contradiction {
    pub(super) range: f32,
    pub(super) id: u64,
    pub(super) slot: u32,
    pub(super) target: u32,
}

/// What was found; members by ascending id.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) members: Vec<Member>,
    pub(super) contradictions: Vec<Contradiction>,
}

pub(super) fn survey(set: &mut PrimitiveSet, config: &Config) -> Survey {
    let blocks = set.near_fresh(config.refinement.consistency_radius);
    let set = &*set;
    let parts: Vec<Survey> = blocks.par_iter().with_min_len(16).map(|key| survey_block(set, *key, config)).collect();
    let mut all = Survey::default();
    for part in parts {
        all.members.extend(part.members);
        all.contradictions.extend(part.contradictions);
    }
    all.members.par_sort_unstable_by_key(|member| member.id);
    all
}

fn survey_block(set: &PrimitiveSet, key: BlockKey, config: &Config) -> Survey {
    let mut survey = Survey::default();
    let Some(block) = set.blocks().get(key) else { return survey };
    // Before anything is looked up: where all were seen from about as far as the farthest, nothing can be pruned.
    let ratio = config.refinement.prune_ratio as f32;
    let nearest = block.near.iter().fold(f32::INFINITY, |least, near| least.min(near.range));
    if !config.refinement.merge && set.farthest() <= ratio * nearest {
        return survey;
    }
    let around = Neighbourhood::new(set, key, config.refinement.consistency_radius);
    let (consistency, merge) = (config.refinement.consistency_radius as f32, config.refinement.merge_radius as f32);
    let margin = (MARGIN * config.refinement.merge_radius) as f32;
    // Most blocks see one label only, or no range that differs enough: then there is nothing to prune.
    let labels = around.blocks().fold(0, |bits, block| bits | block.labels);
    let mixed = labels.count_ones() > 1 || set.classes() > 64;
    let mut farthest = 0.0;
    if config.refinement.prune && mixed {
        farthest = around.blocks().flat_map(|block| &block.near).fold(0.0_f32, |most, near| most.max(near.range));
    }
    let prunes = |near: &Near| farthest > ratio * near.range;
    if !config.refinement.merge && !block.near.iter().any(prunes) {
        return survey;
    }
    for near in &block.near {
        let fresh = |other: &Near| set.is_fresh(other);
        let takes_part =
            fresh(near) || around.any_within(near.local, consistency, |block| set.may_have_fresh(block), fresh);
        if !takes_part {
            continue;
        }
        let id = set.head(near.slot).id();
        let partner = |other: &Near| other.label == near.label && other.slot != near.slot;
        let contradicts = |other: &Near| other.label != near.label;
        // Blocks without anybody of the label, or of another one, are not looked through.
        let has_own = |block: &Block| block.has_label(near.label);
        let has_other = |block: &Block| block.has_other_label(near.label, set.classes());
        let mut member = Member { id, slot: near.slot, has_partner: false, contradicted: false, partners: Vec::new() };
        if config.refinement.order == Refinement::OnePass {
            around.any_within(near.local, merge, has_own, |other| {
                if partner(other) {
                    member.partners.push(other.slot);
                }
                false
            });
            member.contradicted = mixed && around.any_within(near.local, consistency, has_other, contradicts);
        } else {
            member.has_partner = config.refinement.merge && around.any_within(near.local, merge, has_own, partner);
            member.contradicted = member.has_partner
                && mixed
                && around.any_within(near.local, consistency - margin, has_other, contradicts);
        }
        if prunes(near) {
            around.any_within(near.local, consistency, has_other, |other| {
                if contradicts(other) && other.range > ratio * near.range {
                    let (range, slot, target) = (near.range, near.slot, other.slot);
                    survey.contradictions.push(Contradiction { range, id, slot, target });
                }
                false
            });
        }
        survey.members.push(member);
    }
    survey
}
