//! Merging: by ascending id, a primitive whose whole neighbourhood agrees absorbs those close to it.

use rustc_hash::FxHashSet;

use super::Outcome;
use super::survey::Member;
use crate::config::Config;
use crate::map::PrimitiveSet;

/// Visits members by ascending id. Neighbourhoods are those of the moment, after all merges so far.
pub(super) fn merge(set: &mut PrimitiveSet, members: Vec<Member>, config: &Config, outcome: &mut Outcome) {
    // Having a partner can only begin when a merge moves somebody here: `stirred` holds those it happened to.
    let mut stirred: FxHashSet<u32> = FxHashSet::default();
    let mut partners = Vec::new();
    for member in members {
        let relevant = member.has_partner || stirred.contains(&member.slot);
        if !relevant || !set.core(member.slot).alive || set.core(member.slot).id != member.id {
            continue;
        }
        partners_of(set, member.slot, config.merge_radius, &mut partners);
        if partners.is_empty() || contradicted(set, member.slot, config.consistency_radius) {
            continue;
        }
        let receiver = absorb(set, member.slot, &mut partners);
        outcome.merged += partners.len();
        outcome.changed.push(receiver);
        partners_of(set, receiver, config.merge_radius, &mut partners);
        stirred.extend(&partners);
    }
}

/// Makes a primitive and its partners one, under the oldest id; returns its slot. `partners` keeps those absorbed.
pub(super) fn absorb(set: &mut PrimitiveSet, slot: u32, partners: &mut Vec<u32>) -> u32 {
    partners.push(slot);
    partners.sort_unstable_by_key(|slot| set.core(*slot).id);
    let receiver = partners.remove(0);
    for giver in &*partners {
        set.absorb(receiver, *giver);
    }
    receiver
}

/// Primitives of the same label within `radius` of one.
fn partners_of(set: &PrimitiveSet, slot: u32, radius: f64, partners: &mut Vec<u32>) {
    partners.clear();
    let (center, label) = (set.core(slot).mean, set.core(slot).label);
    let limit = (radius * radius) as f32;
    set.blocks().around(center, radius, |d, near| {
        if near.label == label && near.slot != slot && d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= limit {
            partners.push(near.slot);
        }
    });
}

/// Whether a primitive of another label lies within `radius` of one.
fn contradicted(set: &PrimitiveSet, slot: u32, radius: f64) -> bool {
    let (center, label) = (set.core(slot).mean, set.core(slot).label);
    let limit = (radius * radius) as f32;
    let own = 1_u64 << (label % 64);
    let few_classes = set.classes() <= 64;
    set.blocks().any_around(
        center,
        radius,
        |d, near| near.label != label && d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= limit,
        |block| few_classes && block.labels == own,
    )
}
