//! The method that builds the map.

use anyhow::Result;
use e2bki::{ClassSet, Config, Frame, FrameReport, Mapper, SemanticMapper};
use e2bki_baselines::Baseline;

/// A map being built.
pub(crate) enum Map {
    /// Ours, whose primitives can be written.
    Primitives(Box<Mapper>),
    /// One to compare with: voxels only.
    Voxels(Box<dyn SemanticMapper>),
}

/// An empty map of the method of that name.
pub(crate) fn build(name: &str, classes: ClassSet, config: &Config) -> Result<Map> {
    if name.eq_ignore_ascii_case("e2bki") || name.eq_ignore_ascii_case("e2-bki") {
        return Ok(Map::Primitives(Box::new(Mapper::new(classes, config.clone())?)));
    }
    let Some(baseline) = Baseline::from_name(name) else {
        let known: Vec<String> = Baseline::ALL.iter().map(|b| b.name().to_lowercase()).collect();
        anyhow::bail!("unknown method `{name}`; known: e2bki, {}", known.join(", "));
    };
    Ok(Map::Voxels(baseline.build(classes, config)?))
}

impl Map {
    pub(crate) fn insert(&mut self, frame: &Frame<'_>) -> e2bki::Result<FrameReport> {
        match self {
            Self::Primitives(map) => map.insert(frame),
            Self::Voxels(map) => map.insert(frame),
        }
    }

    pub(crate) fn byte_size(&self) -> usize {
        match self {
            Self::Primitives(map) => map.byte_size().total(),
            Self::Voxels(map) => map.byte_size(),
        }
    }
}
