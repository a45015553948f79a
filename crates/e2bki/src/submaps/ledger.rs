//! All submaps of a map, and the one that is growing.

use std::sync::{Arc, OnceLock};

use super::part::Part;
use super::placement::Placement;
use super::record::{Added, Submap, SubmapFrame};
use super::rule::SubmapRule;
use super::trust::Trust;
use crate::error::{Error, Result};
use crate::free::Sight;
use crate::map::{Additions, PrimitiveSet};
use crate::pose::Pose;

/// The submaps of a map.
#[derive(Debug, Clone)]
pub struct Submaps {
    classes: usize,
    side: f64,
    rule: SubmapRule,
    /// The drive that frames are of.
    source: String,
    /// By ascending id.
    pub(super) all: Vec<Submap>,
    pub(super) next_id: u32,
    /// Path of the sensor in the latest submap, metres.
    travelled: f64,
    /// Number and time of the next frame, where the caller says them.
    pub(super) next_frame: Option<(u64, Option<f64>)>,
}

impl Submaps {
    pub(super) fn new(classes: usize, side: f64, rule: SubmapRule, source: &str) -> Self {
        let (source, all) = (source.to_string(), Vec::new());
        Self { classes, side, rule, source, all, next_id: 0, travelled: 0.0, next_frame: None }
    }

    /// All of them, by ascending id.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Submap> {
        self.all.iter()
    }

    /// The submap of that id.
    pub fn get(&self, id: u32) -> Option<&Submap> {
        self.all.binary_search_by_key(&id, |submap| submap.id).ok().map(|at| &self.all[at])
    }

    /// Number of submaps.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The id that the next submap gets.
    pub fn next_id(&self) -> u32 {
        self.next_id
    }

    /// When a submap ends.
    pub fn rule(&self) -> SubmapRule {
        self.rule
    }

    /// Bytes held.
    pub fn byte_size(&self) -> usize {
        self.all.iter().map(Submap::byte_size).sum::<usize>()
    }

    /// Numbers of the submaps of a source; an error that names the sources if there is none.
    pub fn of_source(&self, source: &str) -> Result<Vec<u32>> {
        let ids: Vec<u32> = self.all.iter().filter(|submap| submap.source == source).map(Submap::id).collect();
        if ids.is_empty() {
            let mut known: Vec<&str> = self.all.iter().map(Submap::source).collect();
            known.sort_unstable();
            known.dedup();
            let allowed = format!("one of {}", known.join(", "));
            return Err(Error::Argument { name: "source", found: format!("`{source}`"), allowed });
        }
        Ok(ids)
    }

    pub(super) fn known(&self, id: u32) -> Result<&Submap> {
        self.get(id).ok_or_else(|| {
            let what = match (self.all.first(), self.all.last()) {
                (Some(first), Some(last)) => {
                    format!("there is none of this id; they go from {} to {}", first.id, last.id)
                }
                _ => "the map has no submaps yet".into(),
            };
            Error::Submap { id, what }
        })
    }

    /// The next frame begins a submap. What the last one added is the difference that its frames made to the set.
    pub(super) fn close(&mut self, set: &mut PrimitiveSet) {
        if let Some(last) = self.all.last_mut().filter(|last| last.grows()) {
            last.finish(Part::of_additions(self.classes, self.side, set.take_additions()));
        }
    }

    /// The same submaps; of the one that grows, what it added so far is known.
    pub(super) fn so_far(&self, additions: impl FnOnce() -> Vec<Additions>) -> &Self {
        if let Some(Submap { added: Added::Growing(so_far), .. }) = self.all.last() {
            so_far.get_or_init(|| {
                let mut part = Part::of_additions(self.classes, self.side, additions());
                part.put_in_order();
                part
            });
        }
        self
    }

    pub(super) fn follow(&mut self, rule: SubmapRule, source: &str) {
        (self.rule, self.source) = (rule, source.to_string());
    }

    /// A frame is about to be added to a set; returns its number in its submap.
    pub(crate) fn begin_frame(&mut self, set: &mut PrimitiveSet, world_from_sensor: Pose, counted: u64) -> u64 {
        let (number, time) = self.next_frame.take().unwrap_or((counted, None));
        let frame = SubmapFrame { number, time, world_from_sensor };
        if let Some(submap) = self.all.last().filter(|last| last.grows()) {
            let from = submap.frames.last().map_or(world_from_sensor, |last| last.world_from_sensor).translation();
            let to = world_from_sensor.translation();
            self.travelled += (0..3).map(|i| (from[i] - to[i]).powi(2)).sum::<f64>().sqrt();
            if self.rule.ends(&submap.frames, self.travelled, &frame) {
                self.close(set);
            }
        }
        if !self.all.last().is_some_and(Submap::grows) {
            self.all.push(Submap {
                id: self.next_id,
                source: self.source.clone(),
                frames: Vec::new(),
                frame_count: 0,
                anchor: world_from_sensor,
                placement: Placement::rigid(world_from_sensor),
                trust: Trust::FULL,
                added: Added::Growing(OnceLock::new()),
                free: Arc::default(),
            });
            self.next_id += 1;
            self.travelled = 0.0;
        }
        self.all.last_mut().map_or(0, |submap| {
            submap.added = Added::Growing(OnceLock::new());
            submap.frames.push(frame);
            submap.frame_count += 1;
            submap.frames.len() as u64 - 1
        })
    }

    /// Adds what a frame saw and saw through.
    pub(crate) fn add_sight(&mut self, sight: &Sight) {
        if let Some(submap) = self.all.last_mut() {
            // The map has counted it, and it has counted more frames than any of its submaps.
            Arc::make_mut(&mut submap.free).add(sight).ok();
        }
    }

    /// Takes out all but the one that still grows.
    pub(super) fn take_finished(&mut self) -> Vec<Submap> {
        let grows = self.all.last().is_some_and(Submap::grows);
        let finished = self.all.len() - usize::from(grows);
        self.all.drain(..finished).collect()
    }

    /// Takes submaps over under new ids.
    pub(super) fn append(&mut self, submaps: impl IntoIterator<Item = Submap>) {
        for mut submap in submaps {
            submap.id = self.next_id;
            if submap.grows() {
                let part = submap.part().into_owned();
                submap.finish(part);
            }
            self.next_id += 1;
            self.all.push(submap);
        }
    }
}
