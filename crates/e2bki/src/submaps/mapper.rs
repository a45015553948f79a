//! What a user of a map does with its submaps.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rayon::prelude::*;

use super::change::Change;
use super::layer::Layer;
use super::ledger::Submaps;
use super::part::Part;
use super::placement::Placement;
use super::record::Submap;
use super::rule::SubmapRule;
use super::trust::Trust;
use crate::error::{Error, Result};
use crate::free::Counters;
use crate::mapper::Mapper;
use crate::pose::Pose;
use crate::state::PrimitiveState;

/// What a change of submaps did to the map.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SubmapChange {
    /// Submaps that were taken out or moved.
    pub submaps: usize,
    /// Primitives that were altered.
    pub altered: usize,
    /// Primitives that are new.
    pub made: usize,
    /// Primitives of which nothing is left.
    pub removed: usize,
}

impl Mapper {
    /// From now on keeps what every submap adds, so that it can be taken out or moved. What the map holds already is a
    /// submap of its own. On a map that keeps submaps the next frame begins one, of this source and by this rule.
    ///
    /// Fails if the map is not a sum of what its frames add, as with pruning or merging by distance.
    ///
    /// ```
    /// # use e2bki::{ClassSet, Config, Frame, Mapper, Pose, Semantics, submaps::SubmapRule};
    /// let config = Config::default().with(|c| c.refinement.prune = false);
    /// let mut map = Mapper::new(ClassSet::from_names(["ground", "tree"])?, config)?;
    /// map.keep_submaps(SubmapRule::Metres(20.0), "monday")?;
    /// # let frame = |x| Frame {
    /// #     points: &[[2.5, 0.1, 0.1], [2.6, 0.1, 0.1]],
    /// #     semantics: Semantics::Labels(&[1, 1]),
    /// #     world_from_sensor: Pose::from_translation([x, 0.0, 0.0]).unwrap(),
    /// #     scan: None,
    /// # };
    /// for x in [0.0, 10.0, 20.0, 30.0] {
    ///     map.insert(&frame(x))?;
    /// }
    /// assert_eq!(map.submaps().unwrap().len(), 2);
    /// // A pose graph found that the second one is half a metre to the left.
    /// map.correct(&[(1, Pose::from_translation([20.0, 0.5, 0.0])?)].into())?;
    /// assert_eq!(map.query(&[[22.55, 0.6, 0.1]]).get(0).label(), Some(1));
    /// map.remove_submaps(&[1])?;
    /// assert_eq!(map.frames(), 2);
    /// # Ok::<(), e2bki::Error>(())
    /// ```
    pub fn keep_submaps(&mut self, rule: SubmapRule, source: &str) -> Result<()> {
        rule.check()?;
        if let Some(reason) = self.config().not_a_sum() {
            return Err(Error::Unsupported(format!(
                "submaps cannot be kept: {reason}; what a frame adds must not depend on the rest of the map"
            )));
        }
        self.close_submap();
        if let Some(submaps) = &mut self.submaps {
            submaps.follow(rule, source);
            return Ok(());
        }
        let (classes, side) = (self.classes().len(), self.config().clustering.cell_size);
        let mut submaps = Submaps::new(classes, side, rule, source);
        if !self.is_empty() || self.frames > 0 {
            let submap = whole_as_one(self, source)?;
            submaps.append([submap]);
        }
        self.submaps = Some(Box::new(submaps));
        Ok(())
    }

    /// The submaps, if they are kept.
    pub fn submaps(&self) -> Option<&Submaps> {
        let additions = || self.contents.read(|contents| contents.set.additions());
        self.submaps.as_deref().map(|submaps| submaps.so_far(additions))
    }

    /// Forgets what every submap added; the map stays as it is.
    pub fn forget_submaps(&mut self) {
        self.close_submap();
        self.submaps = None;
    }

    /// The next frame begins a submap.
    pub fn begin_submap(&mut self) -> Result<()> {
        self.kept()?;
        self.close_submap();
        Ok(())
    }

    /// Takes what finished submaps added out of memory, to be kept elsewhere. The map stays as it is, but does not know them
    /// any more: to take them out of it or to move them, it must be given them back ([`Self::restore_submaps`]).
    pub fn take_finished_submaps(&mut self) -> Vec<Submap> {
        self.submaps.as_mut().map_or_else(Vec::new, |submaps| submaps.take_finished())
    }

    /// Says the number in the drive and the time (seconds) of the next frame that is inserted, by which corrected poses
    /// are found, and which is when places were seen ([`Self::last_seen`]). Frames are counted where it is not said.
    pub fn name_next_frame(&mut self, number: u64, time: Option<f64>) {
        if let Some(free) = &mut self.contents.get_mut().free {
            free.next_time = time;
        }
        if let Some(submaps) = &mut self.submaps {
            submaps.next_frame = Some((number, time.filter(|time| time.is_finite())));
        }
    }

    /// Takes submaps out: the map is then, byte for byte, the one of the other submaps. On an error it is unchanged.
    pub fn remove_submaps(&mut self, ids: &[u32]) -> Result<SubmapChange> {
        let submaps = self.kept()?;
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        let gone = ids.iter().map(|id| submaps.known(*id)).collect::<Result<Vec<&Submap>>>()?;
        let frames: u64 = gone.iter().map(|submap| submap.frame_count).sum();
        let taken = gone.par_iter().map(|submap| submap.layer(&submap.placement, submap.trust));
        let change = self.look_at(taken.collect::<Result<Vec<_>>>()?, Vec::new())?;
        let done = SubmapChange { submaps: ids.len(), ..SubmapChange::of(&change) };
        let seen = gone.par_iter().map(|submap| submap.free_space_at(&submap.placement)).collect::<Result<Vec<_>>>()?;
        let seen = summed(&seen)?;
        drop(gone);
        self.recount((std::slice::from_ref(&seen), seen.frames()), (&[], 0))?;
        self.close_submap();
        let submaps = self.kept_mut()?;
        submaps.all.retain(|submap| ids.binary_search(&submap.id).is_err());
        self.make(change);
        self.frames = self.frames.saturating_sub(frames);
        Ok(done)
    }

    /// Moves submaps to corrected poses, each that of the submap's first frame. What they added is moved from where it
    /// was inserted, however often they are corrected: nothing degrades, and the first pose gives the first map again,
    /// byte for byte. On an error the map is unchanged.
    pub fn correct(&mut self, poses: &BTreeMap<u32, Pose>) -> Result<SubmapChange> {
        self.revise(poses.iter().map(|(id, pose)| (*id, Some(Placement::rigid(*pose)), None)).collect())
    }

    /// As [`Self::correct`], from the corrected poses of frames by their numbers, of one source or of all.
    ///
    /// Everything moves along with the frames that saw it, so that drift within a submap is corrected too: what was seen,
    /// on average, between two corrected frames moves by what lies between their motions. Free space moves as one piece,
    /// with the middle one of these frames. Fails if a submap of the source has no such frame.
    pub fn correct_frames(&mut self, source: Option<&str>, poses: &BTreeMap<u64, Pose>) -> Result<SubmapChange> {
        let places = self.kept()?.places_by_frames(source, poses)?;
        self.revise(places.into_iter().map(|(id, place)| (id, Some(place), None)).collect())
    }

    /// Moves all submaps, and with them the map, by a motion of the world, from where they are by the latest correction. On
    /// an error the map is unchanged.
    pub fn move_submaps(&mut self, motion: &Pose) -> Result<SubmapChange> {
        let moved = |submap: &Submap| {
            let place = submap.placement.moved(motion).map_err(|error| submap.named(error))?;
            Ok((submap.id, Some(place), None))
        };
        let places = self.kept()?.iter().map(moved).collect::<Result<_>>()?;
        self.revise(places)
    }

    /// Makes submaps count more or less: a factor of their log-evidence. On an error the map is unchanged.
    pub fn trust_submaps(&mut self, ids: &[u32], trust: Trust) -> Result<SubmapChange> {
        self.revise(ids.iter().map(|id| (*id, None, Some(trust))).collect())
    }

    fn revise(&mut self, news: Vec<(u32, Option<Placement>, Option<Trust>)>) -> Result<SubmapChange> {
        let submaps = self.kept()?;
        let mut revised = Vec::new();
        for (id, place, trust) in news {
            let submap = submaps.known(id)?;
            let (place, trust) = (place.unwrap_or_else(|| submap.placement.clone()), trust.unwrap_or(submap.trust));
            if (&place, trust) != (&submap.placement, submap.trust) {
                revised.push((submap, place, trust));
            }
        }
        let before = revised.par_iter().map(|(submap, ..)| submap.layer(&submap.placement, submap.trust));
        let after = revised.par_iter().map(|(submap, place, trust)| submap.layer(place, *trust));
        let change = self.look_at(before.collect::<Result<_>>()?, after.collect::<Result<_>>()?)?;
        let moved: Vec<(&Submap, &Placement)> =
            revised.iter().filter(|(s, place, _)| *place != s.placement).map(|(s, place, _)| (*s, place)).collect();
        let before = moved.par_iter().map(|(s, _)| s.free_space_at(&s.placement)).collect::<Result<Vec<_>>>();
        let after = moved.par_iter().map(|(s, place)| s.free_space_at(place)).collect::<Result<Vec<_>>>();
        let (seen, seen_there) = (summed(&before?)?, summed(&after?)?);
        let done = SubmapChange { submaps: revised.len(), ..SubmapChange::of(&change) };
        let news: Vec<(u32, Placement, Trust)> =
            revised.into_iter().map(|(s, place, trust)| (s.id, place, trust)).collect();
        let of = |seen| (std::slice::from_ref::<Counters>(seen), seen.frames());
        self.recount(of(&seen), of(&seen_there))?;
        // What comes is inserted with corrected poses, and must not be moved along.
        self.close_submap();
        let submaps = self.kept_mut()?;
        for (id, place, trust) in news {
            if let Ok(at) = submaps.all.binary_search_by_key(&id, |submap| submap.id) {
                (submaps.all[at].placement, submaps.all[at].trust) = (place, trust);
            }
        }
        self.make(change);
        Ok(done)
    }

    /// Gives a map back the submaps that it was saved with. Fails, and leaves the map as it was, if they cannot be of it.
    pub fn restore_submaps(&mut self, submaps: Vec<Submap>, next_id: u32) -> Result<()> {
        let (classes, side) = (self.classes().len(), self.config().clustering.cell_size);
        if let Some(reason) = self.config().not_a_sum() {
            return Err(Error::Unsupported(format!("this map has no submaps: {reason}")));
        }
        let mut kept = Submaps::new(classes, side, SubmapRule::Called, "");
        for submap in submaps {
            let bad = |what: String| Err(Error::Submap { id: submap.id, what });
            let part = submap.part();
            if part.classes() != classes {
                return bad(format!("it has {} classes, and the map {classes}", part.classes()));
            }
            if part.side() != side {
                return bad(format!("its cubes are {} m wide, and the map's {side} m", part.side()));
            }
            if kept.all.last().is_some_and(|last| last.id >= submap.id) || submap.id >= next_id {
                return bad("its id is not above the one before and below the next free one".into());
            }
            drop(part);
            kept.all.push(submap);
        }
        kept.next_id = next_id;
        self.close_submap();
        self.submaps = Some(Box::new(kept));
        Ok(())
    }

    /// The submaps of a map that is about to be added to this one, if this one keeps submaps.
    pub(crate) fn submaps_of_other(&self, other: &Self) -> Result<Vec<Submap>> {
        if self.submaps.is_none() {
            return Ok(Vec::new());
        }
        let (ours, theirs) = (self.config().clustering.cell_size, other.config().clustering.cell_size);
        if ours != theirs || other.config().not_a_sum().is_some() {
            return Err(Error::Merge(format!(
                "the first keeps submaps, which the other cannot be: its cubes are {theirs} m wide (the first's {ours} \
                 m){}",
                other.config().not_a_sum().map_or(String::new(), |reason| format!(", and {reason}"))
            )));
        }
        match other.submaps() {
            Some(submaps) => Ok(submaps.all.clone()),
            None => Ok(vec![whole_as_one(other, "merged")?]),
        }
    }

    /// The next frame begins a submap, and nothing else that changes the map from here on is part of the last one.
    pub(crate) fn close_submap(&mut self) {
        if let Some(submaps) = self.submaps.as_mut().filter(|submaps| submaps.all.last().is_some_and(Submap::grows)) {
            submaps.close(&mut self.contents.get_mut().set);
        }
    }

    /// Takes over submaps that were added to the map.
    pub(crate) fn take_over(&mut self, theirs: Vec<Submap>) {
        if let Some(submaps) = &mut self.submaps {
            submaps.append(theirs);
        }
    }

    pub(super) fn look_at<'a>(&self, taken: Vec<Layer<'a>>, added: Vec<Layer<'a>>) -> Result<Change> {
        let (side, count) = (self.config().clustering.cell_size, taken.len());
        let layers: Vec<Layer<'_>> = taken.into_iter().chain(added).collect();
        // As it was left: nothing that is derived is needed. Nobody else can look meanwhile, the caller has it to himself.
        self.contents.read(|contents| self.run(|| Change::new(&contents.set, &layers, count, side)))
    }

    /// Takes counters out and adds others, each of so many frames; views are told with the next change. On an error nothing
    /// has changed.
    pub(super) fn recount(&mut self, taken: (&[Counters], u64), added: (&[Counters], u64)) -> Result<()> {
        let weights = self.weights();
        match &mut self.contents.get_mut().free {
            Some(free) => free.replace(taken, added, &weights),
            None => Ok(()),
        }
    }

    pub(super) fn make(&mut self, change: Change) {
        self.run_mut(|map| {
            change.apply(&mut map.contents.get_mut().set);
            map.refresh();
        });
    }

    fn kept(&self) -> Result<&Submaps> {
        self.submaps().ok_or_else(no_submaps)
    }

    fn kept_mut(&mut self) -> Result<&mut Submaps> {
        self.submaps.as_deref_mut().ok_or_else(no_submaps)
    }
}

impl SubmapChange {
    pub(super) fn of(change: &Change) -> Self {
        let (altered, made, removed) = change.counts();
        Self { submaps: 0, altered, made, removed }
    }
}

impl Submaps {
    /// Where submaps are by the corrected poses of their frames; see [`Mapper::correct_frames`].
    fn places_by_frames(&self, source: Option<&str>, poses: &BTreeMap<u64, Pose>) -> Result<BTreeMap<u32, Placement>> {
        if let Some(source) = source {
            self.of_source(source)?;
        }
        let mut found = BTreeMap::new();
        for submap in self.all.iter().filter(|submap| source.is_none_or(|source| submap.source == source)) {
            let known: Vec<(u32, Pose)> =
                (0..).zip(&submap.frames).filter_map(|(k, frame)| Some((k, *poses.get(&frame.number)?))).collect();
            if known.is_empty() {
                let what = match (submap.frames.first(), submap.frames.last()) {
                    (Some(first), Some(last)) => {
                        format!("no corrected pose is given for any of its frames, {} to {}", first.number, last.number)
                    }
                    _ => "the poses of its frames are not known; give the pose of the submap".into(),
                };
                return Err(Error::Submap { id: submap.id, what });
            }
            let place = Placement::along(&submap.anchor, &submap.frames, known);
            found.insert(submap.id, place.map_err(|error| submap.named(error))?);
        }
        Ok(found)
    }
}

/// The sum of counters.
fn summed(all: &[Cow<'_, Counters>]) -> Result<Counters> {
    let mut sum = Counters::default();
    all.iter().try_for_each(|counters| sum.merge(counters))?;
    Ok(sum)
}

/// A map without submaps as a single one.
fn whole_as_one(map: &Mapper, source: &str) -> Result<Submap> {
    let states: Vec<PrimitiveState> = map.states().collect();
    let part = Part::of_states(map.classes().len(), map.config().clustering.cell_size, &states, &[])?;
    let (frames, at) = ((Vec::new(), map.frames), (Pose::IDENTITY, Placement::rigid(Pose::IDENTITY)));
    let whole = Submap::restored((0, source.to_string()), frames, at, Trust::FULL, part);
    Ok(whole.with_free_space(map.free_space().cloned().unwrap_or_default()))
}

fn no_submaps() -> Error {
    Error::Unsupported(
        "this map does not keep what its submaps added; `map --submaps 20`, or `Mapper::keep_submaps` before the \
         first frame, makes one that does"
            .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClassSet, Config, Frame, Semantics};

    /// As in files of before version 3: moved by whole cubes, and cut all the same.
    #[test]
    fn what_was_cut_is_taken_out_as_it_was_put_in() {
        let mut map = Mapper::new(ClassSet::from_names(["a", "b"]).unwrap(), Config::default()).unwrap();
        map.keep_submaps(SubmapRule::Called, "drive").unwrap();
        // A quarter of the points near one face of their cube: evenly spread they would reach beyond the other.
        let points: Vec<[f32; 3]> =
            (0..400).map(|i| [if i % 4 == 0 { 0.01 } else { 0.24 }, 0.25 * i as f32 / 8.0, 0.1]).collect();
        let semantics = Semantics::Labels(&[1; 400]);
        map.insert(&Frame { points: &points, semantics, world_from_sensor: Pose::IDENTITY, scan: None }).unwrap();
        let before = map.clone();
        let there = Pose::from_translation([1.0, 2.0, 0.0]).unwrap();
        map.revise(vec![(0, Some(Placement { cut: true, ..Placement::rigid(there) }), None)]).unwrap();
        assert!(map.len() > before.len());
        let cut = map.clone();
        map.correct(&[(0, there)].into()).unwrap();
        assert_eq!(map.len(), before.len());
        let mut back = cut.clone();
        back.correct(&[(0, Pose::IDENTITY)].into()).unwrap();
        assert!(back.states().eq(before.states()));
        map = cut;
        map.remove_submaps(&[0]).unwrap();
        assert!(map.is_empty());
    }
}
