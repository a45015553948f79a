//! Primitives that receive more: rows of a batch added to them, and the index that follows.

use super::aabb::{StaleOfOne, Support};
use super::blocks::Near;
use super::chunk::{CHUNK, Chunk};
use super::large::is_small;
use super::seen::{Deriving, Seen};
use super::set::{PrimitiveSet, near_of};
use super::slots::{Batch, BatchRow, Core};
use crate::keys::BlockKey;
use crate::primitive::block_of;

impl PrimitiveSet {
    /// Adds rows of a batch to primitives, (slot, row) pairs, and derives everything anew, unless that can wait. The class
    /// stays: it is that of the rows.
    pub(crate) fn fold(&mut self, pairs: &[(u32, usize)], batch: &Batch) {
        self.fold_rows(pairs.iter().map(|(slot, row)| (*slot, (batch, *row))).collect());
    }

    /// The same for rows of several batches.
    pub(crate) fn fold_rows(&mut self, pairs: Vec<(u32, BatchRow<'_>)>) {
        let (recipe, stamp, defers, follows) = (self.recipe.clone(), self.stamp, self.defers(), self.recipe.follows());
        let (cubes, classes) = (self.cubes(), self.classes());
        let Self { slots, surfaces, .. } = self;
        let surface = |core: &Core| surfaces.at(core.mean, core.label);
        let deriving = Deriving { recipe: &recipe, cubes, classes, surface };
        let before = |chunk: &Chunk, i: usize, core: &Core| (core.mean, deriving.support(chunk, i, defers));
        let after = |slot: u32, chunk: &mut Chunk, core: &mut Core, evidence: &[i64], (mean, old): Before| {
            let (mut stale, mut support) = (StaleOfOne::of(old), None);
            core.changed = follows;
            if !defers {
                let mut probability = vec![0.0; classes];
                let surface = surfaces.at(core.mean, core.label);
                core.judge(evidence, recipe.correlation, &mut probability);
                let seen = Seen::of(core, recipe.form_on(core, surface), &probability, &recipe, cubes);
                chunk.keep(slot as usize % CHUNK, Seen { version: stamp, ..seen }, &probability);
                support = Support::of(&seen);
                stale = stale.and(support);
            }
            let (from, to) = (BlockKey(block_of(mean)), BlockKey(block_of(core.mean)));
            let half_box = support.map_or([0.0; 3], |support| support.form.half_box);
            let was = old.map_or([0.0; 3], |old| old.form.half_box);
            let many = core.has_many(evidence);
            let near = near_of(core, support.as_ref(), slot, stamp);
            // Of most primitives nobody has looked at there is no more to tell.
            let stays = from == to && is_small(was) && is_small(half_box);
            let known = stale.small.is_some() || !stale.large.is_empty();
            let more = (known || !stays)
                .then(|| Box::new(More { stays, was: (mean, was), now: (core.mean, half_box), stale }));
            Move { many, from, near, more }
        };
        let moves = slots.add_rows(pairs, before, after);
        self.has_many |= moves.iter().flatten().any(|moved| moved.many);
        let (none, mut moving) = (StaleOfOne::default(), Vec::new());
        let stays = |moved: &&Move| moved.more.as_ref().is_none_or(|more| more.stays);
        // First those that stay, while the positions of all are as they were. Most of a block follow each other.
        for moves in &moves {
            for group in moves.chunk_by(|a, b| a.from == b.from) {
                let slots = &self.slots;
                let records = group.iter().filter(stays).map(|Move { near, more, .. }| {
                    let stale = more.as_ref().map_or(&none, |more| &more.stale);
                    (slots.head(near.slot).position, *near, stale)
                });
                self.blocks.update_all(group[0].from, records);
                for moved in group {
                    match moved.more.as_ref().filter(|more| !more.stays) {
                        Some(more) => moving.push((moved, more)),
                        None => {
                            self.small_reach = self.small_reach.max(moved.near.extent);
                            self.farthest = self.farthest.max(moved.near.range);
                        }
                    }
                }
            }
        }
        for (Move { from, near, .. }, More { was, now, stale, .. }) in moving.into_iter().map(|(m, more)| (m, &**more))
        {
            self.blocks.mark(*from, stale);
            self.leave(near.slot, was.0, was.1);
            self.enter(*near, now.0, now.1, &none);
        }
    }
}

/// The mean before a change, and the support, if views have one.
type Before = ([f64; 3], Option<Support>);

/// What [`PrimitiveSet::fold`] did to a primitive, for the index to follow.
struct Move {
    /// The block that has its record.
    from: BlockKey,
    near: Near,
    /// Whether it has so much in it that more must be added with a look.
    many: bool,
    more: Option<Box<More>>,
}

/// What concerns few primitives.
struct More {
    /// Whether the record may stay where it is.
    stays: bool,
    /// Mean and half box before and after.
    was: ([f64; 3], [f32; 3]),
    now: ([f64; 3], [f32; 3]),
    /// The supports before and after.
    stale: StaleOfOne,
}
