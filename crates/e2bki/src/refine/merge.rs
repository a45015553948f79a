//! Merging: by ascending id, a primitive whose whole neighbourhood agrees absorbs those close to it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Outcome;
use super::survey::{MARGIN, Member};
use crate::config::Config;
use crate::keys::BlockKey;
use crate::map::{PrimitiveSet, cube};
use crate::primitive::block_of;

/// Visits members by ascending id. Neighbourhoods are those of the moment, after all merges so far; what the survey
/// saw only spares searches whose answer cannot have changed. `pruned` are the blocks that lost primitives since.
pub(super) fn merge(
    set: &mut PrimitiveSet,
    members: Vec<Member>,
    pruned: &[BlockKey],
    config: &Config,
    outcome: &mut Outcome,
) {
    // Having a partner can only begin when a merge moves somebody here: `stirred` holds those it happened to.
    let mut stirred: FxHashSet<u32> = FxHashSet::default();
    let mut drift = Drift::default();
    let span = config.refinement.consistency_radius.ceil() as i32;
    let unsettled: FxHashSet<BlockKey> = pruned
        .iter()
        .flat_map(|BlockKey(b)| cube(span).map(|d| BlockKey(std::array::from_fn(|i| b[i] + d[i]))))
        .collect();
    let mut partners = Vec::new();
    for member in members {
        let relevant = member.has_partner || stirred.contains(&member.slot);
        if !relevant || !set.head(member.slot).alive() {
            continue;
        }
        let (mean, label) = (set.sums(member.slot).mean(), set.head(member.slot).label);
        let seen_contradicted = member.contradicted && drift.most <= MARGIN * config.refinement.merge_radius;
        if seen_contradicted && !unsettled.contains(&BlockKey(block_of(mean))) {
            continue;
        }
        partners_of(set, (member.slot, mean, label), config.refinement.merge_radius, &mut partners);
        if partners.is_empty() || contradicted(set, mean, label, config.refinement.consistency_radius) {
            continue;
        }
        let before: Vec<(u32, [f64; 3])> =
            partners.iter().chain([&member.slot]).map(|slot| (*slot, set.sums(*slot).mean())).collect();
        let receiver = absorb(set, member.slot, &mut partners);
        let mean = set.sums(receiver).mean();
        drift.note(&before, receiver, mean);
        outcome.merged += partners.len();
        outcome.changed.push(receiver);
        partners_of(set, (receiver, mean, set.head(receiver).label), config.refinement.merge_radius, &mut partners);
        stirred.extend(&partners);
    }
}

/// How far merges have carried evidence from where the survey saw it.
#[derive(Default)]
struct Drift {
    by_slot: FxHashMap<u32, f64>,
    most: f64,
}

impl Drift {
    fn note(&mut self, before: &[(u32, [f64; 3])], receiver: u32, mean: [f64; 3]) {
        let mut farthest: f64 = 0.0;
        for (slot, old) in before {
            let moved = (0..3).map(|i| (mean[i] - old[i]).powi(2)).sum::<f64>().sqrt();
            farthest = farthest.max(moved + self.by_slot.get(slot).copied().unwrap_or(0.0));
        }
        self.by_slot.insert(receiver, farthest);
        self.most = self.most.max(farthest);
    }
}

/// Makes a primitive and its partners one, under the oldest id; returns its slot. `partners` keeps those absorbed.
pub(super) fn absorb(set: &mut PrimitiveSet, slot: u32, partners: &mut Vec<u32>) -> u32 {
    partners.push(slot);
    partners.sort_unstable_by_key(|slot| set.head(*slot).id());
    let receiver = partners.remove(0);
    for giver in &*partners {
        set.absorb(receiver, *giver);
    }
    receiver
}

/// Primitives of the same label within `radius` of one, given by slot, mean and label.
fn partners_of(set: &PrimitiveSet, (slot, center, label): (u32, [f64; 3], u16), radius: f64, partners: &mut Vec<u32>) {
    partners.clear();
    let limit = (radius * radius) as f32;
    set.blocks().any_around(
        center,
        radius,
        |d, near| {
            if near.label == label && near.slot != slot && d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= limit {
                partners.push(near.slot);
            }
            false
        },
        |block| !block.has_label(label),
    );
}

/// Whether a primitive of another label lies within `radius` of a place.
fn contradicted(set: &PrimitiveSet, center: [f64; 3], label: u16, radius: f64) -> bool {
    let limit = (radius * radius) as f32;
    set.blocks().any_around(
        center,
        radius,
        |d, near| near.label != label && d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= limit,
        |block| !block.has_other_label(label, set.classes()),
    )
}
