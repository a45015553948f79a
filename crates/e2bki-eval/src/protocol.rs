//! The protocol: every k-th frame is mapped, all frames are asked about (docs/method.md#mapped-frames).
//!
//! Frames come one at a time and are given to every map, so that a sequence of any length is read once and never held.

use std::time::Instant;

use e2bki::{SemanticMapper, Timings};

use crate::confidence::Confidence;
use crate::error::{Error, Result};
use crate::frame::LabelledFrame;
use crate::truth::GroundTruth;

/// A map that takes part in a comparison.
pub struct Entrant {
    /// Its name in tables.
    pub name: String,
    /// The map.
    pub map: Box<dyn SemanticMapper>,
    /// Every so many frames one is mapped, from the first on; at least 1.
    pub every: usize,
    /// How the scores `bs` and `ece` read its confidence.
    pub confidence: Confidence,
    /// Frames mapped.
    pub mapped: usize,
    /// Seconds each of them took.
    pub seconds: Vec<f64>,
    /// Time by stage, for maps that report it.
    pub stages: Timings,
}

impl Entrant {
    /// An entrant that has mapped nothing yet.
    pub fn new(name: impl Into<String>, map: Box<dyn SemanticMapper>, every: usize, confidence: Confidence) -> Self {
        let (name, every) = (name.into(), every.max(1));
        Self { name, map, every, confidence, mapped: 0, seconds: Vec::new(), stages: Timings::default() }
    }

    /// Maps a frame.
    pub fn insert(&mut self, frame: &LabelledFrame) -> Result<()> {
        let start = Instant::now();
        let report = self.map.insert(&frame.borrow())?;
        self.seconds.push(start.elapsed().as_secs_f64());
        self.stages.add(&report.timings);
        self.mapped += 1;
        Ok(())
    }

    /// Frames mapped per second of mapping.
    pub fn hz(&self) -> Option<f64> {
        let total: f64 = self.seconds.iter().sum();
        (total > 0.0).then(|| self.mapped as f64 / total)
    }
}

/// Gives frames to maps and ground truth; returns how many there were. `asked` says of a frame number whether its points
/// are asked about, `progress` is called after each frame.
pub fn run(
    frames: impl Iterator<Item = Result<LabelledFrame>>,
    entrants: &mut [Entrant],
    truth: &mut GroundTruth,
    asked: impl Fn(usize) -> bool,
    mut progress: impl FnMut(usize),
) -> Result<usize> {
    let mut count = 0;
    for (index, frame) in frames.enumerate() {
        let frame = frame?;
        for entrant in entrants.iter_mut().filter(|entrant| index % entrant.every == 0) {
            entrant.insert(&frame).map_err(|e| Error::Frame { index, why: format!("{}: {e}", entrant.name) })?;
        }
        if asked(index) {
            truth.add(&frame);
        }
        count = index + 1;
        progress(count);
    }
    Ok(count)
}
