//! Networks that look at images, where this build can run them.

use std::path::Path;

use anyhow::Result;
use e2bki_data::SemanticsSource;
use e2bki_lab::Network;

/// Whether a source of semantics is a network's file.
fn is_network(text: &str) -> bool {
    Path::new(text).extension().is_some_and(|e| e == "onnx" || e == "safetensors")
}

/// A source of semantics: a network's file, or what [`SemanticsSource`] knows.
pub(crate) fn source(text: &str) -> Result<(SemanticsSource, Option<Network>)> {
    if is_network(text) {
        return Ok((SemanticsSource::Images, Some(open(text)?)));
    }
    Ok((text.parse()?, None))
}

/// Opens a network.
#[cfg(feature = "segment")]
pub(crate) fn open(path: &str) -> Result<Network> {
    Ok(std::sync::Arc::new(e2bki_segment::infer::Segmenter::open(Path::new(path))?))
}

/// Says that this build has no networks.
#[cfg(not(feature = "segment"))]
pub(crate) fn open(path: &str) -> Result<Network> {
    match path.parse::<SemanticsSource>() {
        Err(error) => Err(error.into()),
        Ok(_) => anyhow::bail!(
            "{path}: networks are .onnx or .safetensors files, and need a build with `--features segment`"
        ),
    }
}
