//! What changed is told: voxels, grids and layers, answers to questions, and what other robots are to know.

use std::time::{Duration, Instant};

use e2bki::{Changes, Pose};
use e2bki_bag::compose;

use super::Node;
use crate::map::LiveMap;
use crate::outlet::Output;
use crate::picture::messages;
use crate::planning::Planning;
use crate::question::Question;

/// Messages that may wait for the network before an update is put off.
const BUSY: usize = 8;

/// Grids, which take more time the more there is, may take this share of it.
const SHARE: f64 = 0.05;

impl Node<'_> {
    /// Says what the map says of points.
    pub(super) fn answer(&mut self, map: &dyn LiveMap, question: &Question) {
        let world_from_frame = {
            let poses = self.inputs.poses();
            if question.frame == poses.world() { Ok(Pose::IDENTITY) } else { poses.at(&question.frame, question.stamp) }
        };
        match world_from_frame {
            Ok(pose) => self.outlet.send(Output::Answers, question.answer(map.mapper(), &pose)),
            Err(_) => self.account.unanswered += 1,
        }
    }

    /// What changed, with what others share; what we added is told to them.
    pub(super) fn exchange(&mut self, map: &mut dyn LiveMap) -> Changes {
        let mut changes = map.changes();
        let Some(sharing) = &mut self.sharing else { return changes };
        let now = self.begun.elapsed();
        sharing.changed(map.mapper(), &changes);
        while let Some(message) = self.inputs.shared.take_if(|_| true) {
            sharing.take(map, &message, now);
            self.unsaved = true;
        }
        map.name_runs(sharing.runs());
        let theirs = map.changes();
        let theirs_nothing = theirs.is_empty();
        (changes.number, changes.everything) = (theirs.number, changes.everything || theirs.everything);
        changes.blocks.extend(theirs.blocks);
        for message in sharing.messages(map.mapper(), now) {
            self.outlet.send(Output::Shared, compose::byte_array(&message));
        }
        // Who only listens has no place of its own: the map is looked at from where its first part is, at the time of the
        // latest, since messages of one stamp are one picture.
        if self.account.mapped == 0 && !theirs_nothing {
            let now = self.inputs.clock.now();
            let first = map.mapper().primitives().next().map(|primitive| primitive.mean());
            match (&mut self.at, first.map(Pose::from_translation)) {
                (Some(at), _) => at.stamp = now,
                (None, Some(Ok(pose))) => {
                    let world = self.inputs.poses().world().to_string();
                    self.moved(now, &pose, world, map);
                }
                _ => {}
            }
        }
        changes
    }

    /// Tells what changed.
    pub(super) fn update(&mut self, map: &mut dyn LiveMap) {
        if self.outlet.waiting() > BUSY {
            self.account.postponed += 1;
            return;
        }
        let begun = Instant::now();
        let changes = self.exchange(map);
        if self.untold.is_empty() {
            map.show();
        }
        let Some(at) = self.at.clone() else { return };
        if !changes.is_empty() {
            let mapper = map.mapper();
            let points = self.picture.update(&mapper.live_blocks(&changes), mapper.classes(), map.is_rolling());
            for message in messages(at.stamp, &at.frame, &points) {
                self.account.messages += 1;
                self.account.bytes += message.len() as u64;
                self.outlet.send(Output::Updates, message);
            }
            self.picture.set_tolerance(self.values().tolerance);
            self.picture.trim(16.0 * mapper.config().views.resolution, at.place);
            self.account.updates += 1;
            self.whole_pending = true;
            self.account.updating.add(begun.elapsed());
        }
        let now = self.inputs.clock.ticks();
        for arrived in self.untold.drain(..) {
            self.account.to_update.add(Duration::from_nanos(now.saturating_sub(arrived)));
        }
        // At once for the first time and for who has just come, who would miss what changed since the last one.
        let joined = self.inputs.somebody_joined();
        let old = |then: Instant| then.elapsed().as_secs_f64() >= self.values().whole_every;
        if joined || self.whole_pending && self.whole_told.is_none_or(old) {
            self.tell_whole();
        }
        let affordable =
            self.grid_told.is_none_or(|(then, took)| took.as_secs_f64() <= SHARE * then.elapsed().as_secs_f64());
        if !changes.is_empty() && affordable {
            let begun = Instant::now();
            if let Some(grid) = self.grid(map, &at) {
                self.outlet.send(Output::Occupancy, grid);
            }
            self.grid_told = Some((begun, begun.elapsed()));
        }
        if let Some(planning) = &mut self.planning {
            planning.pending |= !changes.is_empty();
        }
        self.tell_layers(map, false);
        let planned = self.planning.as_ref().map_or(Some(changes.number), Planning::number);
        map.forget_changes(planned.unwrap_or(0).min(changes.number));
    }

    /// Layers and costs for planners, if they are due, or `all` of them at the end.
    pub(super) fn tell_layers(&mut self, map: &dyn LiveMap, all: bool) {
        let Some(at) = self.at.clone() else { return };
        let (window, every) = (self.window(&at), 1.0 / self.values().layers_rate);
        let Some(planning) = &mut self.planning else { return };
        let due = planning.told.is_none_or(|then| then.elapsed().as_secs_f64() >= every);
        let wanted = all || planning.pending && due;
        if !wanted {
            return;
        }
        let (begun, place) = (Instant::now(), [at.place[0], at.place[1]]);
        planning.told = Some(begun);
        match planning.refresh(map.mapper(), window) {
            Ok(_) => planning.pending = false,
            Err(error) => {
                self.account.no_layers = Some(error.to_string());
                return;
            }
        }
        self.account.no_layers = None;
        for (output, message) in planning.messages((at.stamp, &at.frame, at.origin), window, place) {
            self.outlet.send(output, message);
        }
        self.account.layers.add(begun.elapsed());
    }

    /// All voxels that are kept, for those who join later.
    pub(super) fn tell_whole(&mut self) {
        let Some(at) = &self.at else { return };
        for message in messages(at.stamp, &at.frame, &self.picture.all()) {
            self.outlet.send(Output::Voxels, message);
        }
        (self.whole_told, self.whole_pending) = (Some(Instant::now()), false);
    }
}
