//! A submap: what it added, from where, and where it is now.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::layer::Layer;
use super::part::Part;
use super::placement::Placement;
use super::trust::Trust;
use crate::error::{Error, Result};
use crate::free::Counters;
use crate::pose::Pose;
use crate::settled::Settled;

/// A frame of a submap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SubmapFrame {
    /// Its number in the drive.
    pub number: u64,
    /// Its time, seconds, if known.
    pub time: Option<f64>,
    /// The pose that it was inserted with.
    pub world_from_sensor: Pose,
}

/// What a submap added.
#[derive(Debug, Clone)]
pub(super) enum Added {
    /// The latest submap, which frames still go into: what they added so far, once somebody has asked.
    Growing(OnceLock<Part>),
    /// Put in order when somebody looks. Shared: a copy of a map has the same.
    Finished(Arc<Settled<Part>>),
}

/// A stretch of a drive, and what it added to the map.
#[derive(Debug, Clone)]
pub struct Submap {
    pub(super) id: u32,
    pub(super) source: String,
    pub(super) frames: Vec<SubmapFrame>,
    pub(super) frame_count: u64,
    pub(super) anchor: Pose,
    pub(super) placement: Placement,
    pub(super) trust: Trust,
    pub(super) added: Added,
    /// What its frames saw and saw through, as it was counted.
    pub(super) free: Arc<Counters>,
}

impl Submap {
    /// A submap as it was kept: `anchor` is the pose it was inserted with and `placement` where it is now. `frame_count`
    /// may be more than the frames whose poses are known.
    pub fn restored(
        (id, source): (u32, String),
        (frames, frame_count): (Vec<SubmapFrame>, u64),
        (anchor, placement): (Pose, Placement),
        trust: Trust,
        part: Part,
    ) -> Self {
        Self {
            id,
            source,
            frames,
            frame_count,
            anchor,
            placement,
            trust,
            added: Added::Finished(Arc::new(Settled::new(part))),
            free: Arc::default(),
        }
    }

    /// The same with what its frames saw and saw through.
    pub fn with_free_space(mut self, counters: Counters) -> Self {
        self.free = Arc::new(counters);
        self
    }

    /// Its number in the map. Never used twice in a map.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The name of its drive.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Its frames whose poses are known, in the order in which they were inserted.
    pub fn frames(&self) -> &[SubmapFrame] {
        &self.frames
    }

    /// Number of its frames.
    pub fn frame_count(&self) -> u64 {
        self.frame_count
    }

    /// The pose that its first frame was inserted with.
    pub fn anchor(&self) -> Pose {
        self.anchor
    }

    /// The pose of its first frame by the latest correction.
    pub fn pose(&self) -> Pose {
        self.placement.pose
    }

    /// Where it is by the latest correction.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// How much of its evidence counts.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// What it added, as it was inserted.
    pub fn part(&self) -> Cow<'_, Part> {
        match &self.added {
            Added::Growing(so_far) => so_far.get().map_or_else(|| Cow::Owned(Part::default()), Cow::Borrowed),
            Added::Finished(part) => Cow::Borrowed(part.get(Part::put_in_order)),
        }
    }

    /// What its frames saw and saw through, as it was counted; empty in a map without free space.
    pub fn free_space(&self) -> &Counters {
        &self.free
    }

    /// What its frames saw and saw through, at another place: moved as one piece.
    pub(super) fn free_space_at(&self, place: &Placement) -> Result<Cow<'_, Counters>> {
        if *place == Placement::rigid(self.anchor) || self.free.is_empty() {
            return Ok(Cow::Borrowed(&self.free));
        }
        let motion = place.motion(&self.anchor, &self.frames).map_err(|error| self.named(error))?;
        Ok(Cow::Owned(self.free.moved(&motion).map_err(|error| self.named(error))?))
    }

    pub(super) fn named(&self, error: Error) -> Error {
        match error {
            Error::Pose(what) => Error::Submap { id: self.id, what: format!("its new pose is not usable: {what}") },
            other => other,
        }
    }

    /// What it adds at a place and trust.
    pub(super) fn layer(&self, place: &Placement, trust: Trust) -> Result<Layer<'_>> {
        let mut part = self.part();
        if let Some(trusted) = part.trusted(trust) {
            part = Cow::Owned(trusted);
        }
        // Always from where it was inserted, so that nothing degrades however often it is corrected.
        let moved = *place != Placement::rigid(self.anchor);
        let motions = moved.then(|| place.motions(&self.anchor, &self.frames, &part)).transpose();
        motions.and_then(|motions| Layer::new(part, motions, place.cut)).map_err(|error| self.named(error))
    }

    /// Whether frames still go into it.
    pub(super) fn grows(&self) -> bool {
        matches!(self.added, Added::Growing(_))
    }

    /// Nothing is added any more.
    pub(super) fn finish(&mut self, part: Part) {
        self.added = Added::Finished(Arc::new(Settled::new(part)));
    }

    pub(super) fn byte_size(&self) -> usize {
        let part = match &self.added {
            Added::Growing(so_far) => so_far.get().map_or(0, Part::byte_size),
            Added::Finished(part) => part.read(Part::byte_size),
        };
        part + self.free.byte_size() + self.frames.capacity() * size_of::<SubmapFrame>() + size_of::<Self>()
    }
}
