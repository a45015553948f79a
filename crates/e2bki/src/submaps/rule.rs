//! When a submap ends and the next begins.

use super::record::SubmapFrame;
use crate::error::{Error, Result};

/// When a submap ends and the next begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SubmapRule {
    /// After so many metres of the sensor's path.
    Metres(f64),
    /// After so many seconds, by the times given with the frames; frames without a time never end a submap.
    Seconds(f64),
    /// After so many frames.
    Frames(u64),
    /// When the caller says so, by [`Mapper::begin_submap`](crate::Mapper::begin_submap).
    Called,
}

impl SubmapRule {
    pub(super) fn check(self) -> Result<()> {
        let bad =
            |found: String, allowed: &str| Err(Error::Argument { name: "submaps", found, allowed: allowed.into() });
        match self {
            Self::Metres(m) if !(0.01..=1e6).contains(&m) => bad(format!("{m} m"), "0.01 m to 1000 km"),
            Self::Seconds(s) if !(0.001..=1e6).contains(&s) => bad(format!("{s} s"), "0.001 s to 1000000 s"),
            Self::Frames(0) => bad("0 frames".into(), "1 frame or more"),
            _ => Ok(()),
        }
    }

    /// Whether a frame is the first of the next submap.
    pub(super) fn ends(self, frames: &[SubmapFrame], travelled: f64, next: &SubmapFrame) -> bool {
        let Some(first) = frames.first() else { return false };
        match self {
            Self::Metres(limit) => travelled >= limit,
            Self::Seconds(limit) => {
                first.time.zip(next.time).is_some_and(|(first, next)| (next - first).abs() >= limit)
            }
            Self::Frames(limit) => frames.len() as u64 >= limit,
            Self::Called => false,
        }
    }
}
