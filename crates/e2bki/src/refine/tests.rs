//! Refinement against a plain O(n²) reading of the rules, on random streets with every kind of conflict.

use super::refine;
use crate::cluster::Rng;
use crate::config::{Config, Refinement};
use crate::map::{Batch, Core, PrimitiveSet, Recipe};
use crate::primitive::{Sums, block_of};

const CLASSES: usize = 3;

/// A primitive of the reference: everything in plain f64.
#[derive(Debug, Clone)]
struct Plain {
    id: u64,
    sums: Sums,
    log_evidence: Vec<i64>,
    label: usize,
    fresh: bool,
}

impl Plain {
    fn distance(&self, other: &Self) -> f64 {
        let (a, b) = (self.sums.mean(), other.sums.mean());
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    }

    fn absorb(&mut self, other: &Self) {
        self.sums.add(&other.sums);
        self.log_evidence.iter_mut().zip(&other.log_evidence).for_each(|(a, b)| *a += b);
    }
}

/// The rules as written: prune by ascending range, then merge by ascending id.
fn prune_then_merge(all: &mut Vec<Plain>, config: &Config) {
    let members: Vec<u64> = members(all, config);
    let mut order = members.clone();
    let of = |all: &[Plain], id: u64| all.iter().position(|p| p.id == id);
    order.sort_by(|a, b| {
        let range = |id: u64| of(all, id).map_or(0.0, |i| all[i].sums.mean_range());
        range(*a).total_cmp(&range(*b)).then(a.cmp(b))
    });
    for id in order {
        let Some(i) = of(all, id) else { continue };
        let me = all[i].clone();
        all.retain(|other| {
            let contradicts = other.label != me.label && me.distance(other) <= config.refinement.consistency_radius;
            !(contradicts && other.sums.mean_range() > config.refinement.prune_ratio * me.sums.mean_range())
        });
    }
    for id in members {
        let Some(i) = of(all, id) else { continue };
        let me = all[i].clone();
        if all.iter().any(|other| other.label != me.label && me.distance(other) <= config.refinement.consistency_radius)
        {
            continue;
        }
        let close = |other: &Plain| other.label == me.label && me.distance(other) <= config.refinement.merge_radius;
        merge_group(all, close);
    }
}

fn merge_group(all: &mut Vec<Plain>, belongs: impl Fn(&Plain) -> bool) {
    let group: Vec<Plain> = all.iter().filter(|other| belongs(other)).cloned().collect();
    if group.len() > 1 {
        all.retain(|other| !belongs(other));
        let mut oldest = group[0].clone();
        group[1..].iter().for_each(|other| oldest.absorb(other));
        all.push(oldest);
        all.sort_by_key(|p| p.id);
    }
}

/// One pass on a snapshot: what is contradicted from near enough goes; what is not contradicted merges.
fn one_pass(all: &mut Vec<Plain>, config: &Config) {
    let snapshot = all.clone();
    let members = members(all, config);
    let conflict = |a: &Plain, b: &Plain| a.label != b.label && a.distance(b) <= config.refinement.consistency_radius;
    let member = |p: &Plain| members.contains(&p.id);
    let pruned: Vec<u64> = snapshot
        .iter()
        .filter(|j| {
            snapshot.iter().any(|i| {
                member(i) && conflict(i, j) && j.sums.mean_range() > config.refinement.prune_ratio * i.sums.mean_range()
            })
        })
        .map(|p| p.id)
        .collect();
    all.retain(|p| !pruned.contains(&p.id));
    for me in snapshot.iter().filter(|p| member(p) && !pruned.contains(&p.id)) {
        let alive = all.iter().any(|p| p.id == me.id);
        if !alive || snapshot.iter().any(|other| conflict(me, other)) {
            continue;
        }
        let close: Vec<u64> = snapshot
            .iter()
            .filter(|other| other.label == me.label && me.distance(other) <= config.refinement.merge_radius)
            .map(|p| p.id)
            .collect();
        merge_group(all, |p| close.contains(&p.id));
    }
}

fn members(all: &[Plain], config: &Config) -> Vec<u64> {
    all.iter()
        .filter(|p| p.fresh || all.iter().any(|q| q.fresh && p.distance(q) <= config.refinement.consistency_radius))
        .map(|p| p.id)
        .collect()
}

/// Random primitives of a frame: patches of one label with strays of others, seen from mixed ranges.
fn frame(rng: &mut Rng) -> Batch {
    let mut batch = Batch::default();
    for _ in 0..120 {
        let at = [6.0 * rng.uniform() - 3.0, 6.0 * rng.uniform() - 3.0, 0.4 * rng.uniform()];
        let label = if rng.below(12) == 0 { rng.below(CLASSES) } else { usize::from(at[0] > 0.7) };
        let range = 2.0 + 30.0 * rng.uniform() * rng.uniform();
        let mut sums = Sums::about(block_of(at));
        for _ in 0..1 + rng.below(4) {
            sums.add_point(at.map(|v| v + 0.05 * rng.uniform()), range);
        }
        sums.settle();
        let evidence: Vec<i64> = (0..CLASSES).map(|c| if c == label { 8 << 30 } else { 1 << 30 }).collect();
        push(&mut batch, sums, evidence);
    }
    batch
}

/// Adds a derived primitive to a batch.
fn push(batch: &mut Batch, sums: Sums, evidence: Vec<i64>) {
    let mut probability = vec![0.0; CLASSES];
    let mut core = Core::of_sums(sums);
    core.judge(&evidence, 0.0, &mut probability);
    batch.cores.push(core);
    batch.log_evidence.extend(evidence);
}

#[test]
fn refinement_is_the_plain_reading_of_the_rules() {
    for refinement in [Refinement::PruneThenMerge, Refinement::OnePass] {
        let (mut pruned, mut merged) = (0, 0);
        for seed in 0..12 {
            let config = Config::default().with(|c| {
                c.refinement.order = refinement;
                c.refinement.prune = true;
                c.refinement.merge = true;
            });
            let recipe = Recipe::solid(&config);
            let mut rng = Rng::new(seed);
            let mut set = PrimitiveSet::new(CLASSES, recipe.clone());
            let mut plain: Vec<Plain> = Vec::new();
            for _ in 0..6 {
                let batch = frame(&mut rng);
                set.begin();
                let first_new = set.next_id();
                set.insert(&batch, 0..batch.cores.len());
                plain.iter_mut().for_each(|p| p.fresh = false);
                let slots = set.in_order();
                plain.extend(slots.iter().filter(|slot| set.core(**slot).id >= first_new).map(|slot| Plain {
                    id: set.core(*slot).id,
                    sums: set.core(*slot).sums,
                    log_evidence: set.log_evidence(*slot),
                    label: usize::from(set.core(*slot).label),
                    fresh: true,
                }));
                let outcome = refine(&mut set, &config);
                (pruned, merged) = (pruned + outcome.pruned, merged + outcome.merged);
                set.settle(outcome.changed);
                match refinement {
                    Refinement::PruneThenMerge => prune_then_merge(&mut plain, &config),
                    Refinement::OnePass => one_pass(&mut plain, &config),
                }
                let ours: Vec<(u64, Sums)> =
                    set.in_order().iter().map(|s| (set.core(*s).id, set.core(*s).sums)).collect();
                let theirs: Vec<(u64, Sums)> = plain.iter().map(|p| (p.id, p.sums)).collect();
                assert_eq!(ours, theirs, "{refinement:?}, seed {seed}");
                for (slot, p) in set.in_order().iter().zip(&plain) {
                    assert_eq!(set.log_evidence(*slot), p.log_evidence);
                    assert_eq!(usize::from(set.core(*slot).label), p.label, "a merge cannot change a label");
                }
            }
        }
        assert!(pruned > 50 && merged > 100, "{refinement:?}: {pruned} pruned, {merged} merged");
    }
}

#[test]
fn a_near_observation_prunes_a_far_contradiction_and_not_the_other_way_round() {
    let config = Config::default().with(|c| c.refinement.prune = true);
    let recipe = Recipe::solid(&config);
    // (x, range, label), and which of them survive.
    type Case = (&'static [(f64, f64, usize)], &'static [f64]);
    let cases: [Case; 4] = [
        (&[(0.0, 4.0, 0), (0.5, 11.0, 1)], &[0.0]),
        (&[(0.0, 4.0, 0), (0.5, 9.9, 1)], &[0.0, 0.5]),
        (&[(0.0, 4.0, 0), (1.25, 11.0, 1)], &[0.0, 1.25]),
        (&[(0.0, 4.0, 0), (0.5, 11.0, 0)], &[0.0, 0.5]),
    ];
    for (given, survivors) in cases {
        let mut batch = Batch::default();
        for (x, range, label) in given {
            let mut sums = Sums::about([0; 3]);
            sums.add_point([*x, 0.5, 0.5], *range);
            sums.settle();
            let evidence: Vec<i64> = (0..CLASSES).map(|c| i64::from(c == *label) << 32).collect();
            push(&mut batch, sums, evidence);
        }
        let mut set = PrimitiveSet::new(CLASSES, recipe.clone());
        set.begin();
        set.insert(&batch, 0..batch.cores.len());
        refine(&mut set, &config);
        let left: Vec<f64> = set.in_order().iter().map(|slot| set.core(*slot).mean[0]).collect();
        assert_eq!(left, survivors);
    }
}
