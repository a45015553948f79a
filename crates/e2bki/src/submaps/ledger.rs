//! All submaps of a map, and the one that is growing.

use std::sync::Arc;

use super::part::Growing;
use super::placement::Placement;
use super::record::{Added, Submap, SubmapFrame};
use super::rule::SubmapRule;
use super::trust::Trust;
use crate::error::{Error, Result};
use crate::free::Sight;
use crate::map::Batch;
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
    /// Memory for the next one to grow in.
    spare: Option<Growing>,
    pub(super) next_id: u32,
    /// Whether the next frame begins a submap.
    begin: bool,
    /// Path of the sensor in the latest submap, metres.
    travelled: f64,
    /// Number and time of the next frame, where the caller says them.
    pub(super) next_frame: Option<(u64, Option<f64>)>,
}

impl Submaps {
    pub(super) fn new(classes: usize, side: f64, rule: SubmapRule, source: &str) -> Self {
        let (source, all) = (source.to_string(), Vec::new());
        Self {
            classes,
            side,
            rule,
            source,
            all,
            spare: None,
            next_id: 0,
            begin: true,
            travelled: 0.0,
            next_frame: None,
        }
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
        self.all.iter().map(Submap::byte_size).sum::<usize>() + self.spare.as_ref().map_or(0, Growing::byte_size)
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

    /// The next frame begins a submap.
    pub(super) fn close(&mut self) {
        self.begin = true;
        if let Some(last) = self.all.last_mut() {
            self.spare = last.finish().or(self.spare.take());
        }
    }

    pub(super) fn follow(&mut self, rule: SubmapRule, source: &str) {
        self.close();
        (self.rule, self.source) = (rule, source.to_string());
    }

    /// Adds what a frame adds to the map.
    pub(crate) fn add(
        &mut self,
        batch: &Batch,
        rows: &[usize],
        world_from_sensor: Pose,
        counted: u64,
        sight: Option<&Sight>,
    ) {
        let (number, time) = self.next_frame.take().unwrap_or((counted, None));
        let frame = SubmapFrame { number, time, world_from_sensor };
        let step = match self.all.last().and_then(|submap| submap.frames.last()) {
            Some(last) if !self.begin => {
                let (a, b) = (last.world_from_sensor.translation(), world_from_sensor.translation());
                (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
            }
            _ => 0.0,
        };
        let travelled = self.travelled + step;
        let ends = self.all.last().is_some_and(|submap| self.rule.ends(&submap.frames, travelled, &frame));
        if self.begin || ends || !matches!(self.all.last(), Some(Submap { added: Added::Growing(_), .. })) {
            self.close();
            let growing = self.spare.take().unwrap_or_else(|| Growing::new(self.classes, self.side));
            self.all.push(Submap {
                id: self.next_id,
                source: self.source.clone(),
                frames: Vec::new(),
                frame_count: 0,
                anchor: world_from_sensor,
                placement: Placement::rigid(world_from_sensor),
                trust: Trust::FULL,
                added: Added::Growing(growing),
                free: Arc::default(),
            });
            self.next_id += 1;
            (self.begin, self.travelled) = (false, 0.0);
        } else {
            self.travelled = travelled;
        }
        if let Some(submap) = self.all.last_mut() {
            submap.frames.push(frame);
            submap.frame_count += 1;
            if let Added::Growing(growing) = &mut submap.added {
                growing.add(batch, rows, submap.frames.len() as u64 - 1);
            }
            if let Some(sight) = sight {
                // The map has counted it, and it has counted more frames than any of its submaps.
                Arc::make_mut(&mut submap.free).add(sight).ok();
            }
        }
    }

    /// Takes out all but the one that still grows.
    pub(super) fn take_finished(&mut self) -> Vec<Submap> {
        let grows = !self.begin && matches!(self.all.last(), Some(Submap { added: Added::Growing(_), .. }));
        let finished = self.all.len() - usize::from(grows);
        self.all.drain(..finished).collect()
    }

    /// Takes submaps over under new ids.
    pub(super) fn append(&mut self, submaps: impl IntoIterator<Item = Submap>) {
        self.close();
        for mut submap in submaps {
            submap.id = self.next_id;
            submap.finish();
            self.next_id += 1;
            self.all.push(submap);
        }
    }
}
