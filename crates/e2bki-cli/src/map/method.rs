//! The method that builds the map.

use anyhow::Result;
use e2bki::{ClassSet, Config, Frame, FrameReport, Mapper, Prepared, SemanticMapper};
use e2bki_baselines::Baseline;

use super::budget::Budgeted;

/// A map being built.
pub(crate) enum Map {
    /// Ours, whose primitives can be written.
    Primitives(Box<Mapper>),
    /// Ours, with a part of it on the disk.
    Budgeted(Box<Budgeted>),
    /// One to compare with: voxels only.
    Voxels(Box<dyn SemanticMapper>),
}

pub(crate) fn is_ours(name: &str) -> bool {
    name.eq_ignore_ascii_case("e2bki") || name.eq_ignore_ascii_case("e2-bki")
}

/// An empty map of the method of that name.
pub(crate) fn build(name: &str, classes: ClassSet, config: &Config) -> Result<Map> {
    if is_ours(name) {
        return Ok(Map::Primitives(Box::new(Mapper::new(classes, config.clone())?)));
    }
    let Some(baseline) = Baseline::from_name(name) else {
        let known: Vec<String> = Baseline::ALL.iter().map(|b| b.name().to_lowercase()).collect();
        anyhow::bail!("unknown method `{name}`; known: e2bki, {}", known.join(", "));
    };
    Ok(Map::Voxels(baseline.build(classes, config)?))
}

impl Map {
    pub(crate) fn insert(&mut self, frame: &Frame<'_>) -> Result<FrameReport> {
        match self {
            Self::Primitives(map) => Ok(map.insert(frame)?),
            Self::Budgeted(map) => map.insert(frame),
            Self::Voxels(map) => Ok(map.insert(frame)?),
        }
    }

    /// The primitives in memory, if it is ours.
    pub(crate) fn primitives(&self) -> Option<&Mapper> {
        match self {
            Self::Primitives(map) => Some(map),
            Self::Budgeted(map) => Some(map.resident()),
            Self::Voxels(_) => None,
        }
    }

    /// What can be looked at: all of the map, or the part that is in memory.
    pub(crate) fn seen(&self) -> &dyn SemanticMapper {
        match self {
            Self::Primitives(map) => map.as_ref(),
            Self::Budgeted(map) => map.resident(),
            Self::Voxels(map) => map.as_ref(),
        }
    }

    /// Adds a frame that may be prepared already, and prepares the next one meanwhile if the method can.
    pub(crate) fn insert_ahead(
        &mut self,
        frame: &Frame<'_>,
        next: Option<&Frame<'_>>,
        prepared: &mut Option<Prepared>,
    ) -> Result<FrameReport> {
        let ready = prepared.take();
        let (report, ahead) = match (self, next) {
            (Self::Primitives(map), Some(next)) => {
                let ready = ready.map_or_else(|| map.prepare(frame), Ok)?;
                let (report, ahead) = map.insert_and_prepare(ready, next);
                (report?, ahead)
            }
            (Self::Budgeted(map), Some(next)) => {
                let ready = ready.map_or_else(|| map.resident().prepare(frame), Ok)?;
                let (report, ahead) = map.insert_and_prepare(ready, frame, next);
                (report?, ahead)
            }
            (map, _) => {
                return match (map, ready) {
                    (Self::Primitives(map), Some(ready)) => Ok(map.insert_prepared(ready)?),
                    (Self::Budgeted(map), Some(ready)) => map.insert_prepared(ready, frame),
                    (map, _) => map.insert(frame),
                };
            }
        };
        // What is wrong with the next frame is said when its turn comes.
        *prepared = ahead.ok();
        Ok(report)
    }

    /// The parameters, if it is ours.
    pub(crate) fn config(&self) -> Option<&Config> {
        self.primitives().map(Mapper::config)
    }

    pub(crate) fn byte_size(&self) -> usize {
        match self {
            Self::Primitives(map) => map.byte_size().total(),
            Self::Budgeted(map) => map.resident().byte_size().total(),
            Self::Voxels(map) => map.byte_size(),
        }
    }
}
