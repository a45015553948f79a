//! Networks that look at images, where this build can run them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use e2bki_data::SemanticsSource;
use e2bki_lab::Network;

/// What runs ONNX models.
#[derive(Args, Clone, Default)]
pub(crate) struct RuntimeArguments {
    /// What runs ONNX models: ONNX Runtime, tract, or whichever is there, ONNX Runtime first
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = ["auto", "onnxruntime", "tract"])]
    runtime: String,
    /// Library of ONNX Runtime [default: ORT_DYLIB_PATH, else that of the PyPI package `onnxruntime` in the active environment]
    #[arg(long, value_name = "FILE")]
    onnx_runtime: Option<PathBuf>,
}

/// Whether a source of semantics is a network's file.
fn is_network(text: &str) -> bool {
    Path::new(text).extension().is_some_and(|e| e == "onnx" || e == "safetensors")
}

/// A source of semantics: a network's file, or what [`SemanticsSource`] knows.
pub(crate) fn source(text: &str, runtime: &RuntimeArguments) -> Result<(SemanticsSource, Option<Network>)> {
    if is_network(text) {
        return Ok((SemanticsSource::Images, Some(open(text, runtime)?)));
    }
    Ok((text.parse()?, None))
}

/// The same with whatever runtime there is.
pub(crate) fn any_source(text: &str) -> Result<(SemanticsSource, Option<Network>)> {
    source(text, &RuntimeArguments::default())
}

#[cfg(feature = "segment")]
impl RuntimeArguments {
    pub(crate) fn running(&self) -> Result<e2bki_segment::infer::Running> {
        let name = if self.runtime.is_empty() { "auto" } else { &self.runtime };
        let runtime = name.parse().map_err(|what| anyhow::anyhow!("--runtime: {what}"))?;
        Ok(e2bki_segment::infer::Running { runtime, library: self.onnx_runtime.clone() })
    }
}

/// Opens a network.
#[cfg(feature = "segment")]
pub(crate) fn open(path: &str, runtime: &RuntimeArguments) -> Result<Network> {
    use e2bki_segment::infer::{Description, Segmenter};
    let path = Path::new(path);
    Ok(std::sync::Arc::new(Segmenter::open_with(path, Description::beside(path)?, &runtime.running()?)?))
}

/// Says that this build has no networks.
#[cfg(not(feature = "segment"))]
pub(crate) fn open(path: &str, runtime: &RuntimeArguments) -> Result<Network> {
    match path.parse::<SemanticsSource>() {
        Err(error) => Err(error.into()),
        Ok(_) => anyhow::bail!(
            "{path}: networks are .onnx or .safetensors files, and need a build with `--features segment` (--runtime {}{})",
            runtime.runtime,
            runtime.onnx_runtime.as_ref().map_or_else(String::new, |library| format!(", {}", library.display()))
        ),
    }
}

/// Networks trained on matched drives of each set (`assets/networks/matched`), in the program itself: where it is installed there is no
/// repository.
#[cfg(feature = "segment")]
pub(crate) const OWN: e2bki_lab::OwnNetworks = Some((own::bytes, own::open));

/// This build has no networks.
#[cfg(not(feature = "segment"))]
pub(crate) const OWN: e2bki_lab::OwnNetworks = None;

#[cfg(feature = "segment")]
mod own {
    use anyhow::Result;
    use e2bki_lab::Network;
    use e2bki_segment::infer::Segmenter;
    use e2bki_segment::network::Weights;
    use e2bki_sim::Standard;

    pub(super) fn bytes(standard: Standard) -> &'static [u8] {
        match standard {
            Standard::RellisLike => include_bytes!("../../../assets/networks/matched/rellis-like.safetensors"),
            Standard::OffroadLike => include_bytes!("../../../assets/networks/matched/offroad-like.safetensors"),
            Standard::KittiLike => include_bytes!("../../../assets/networks/matched/kitti360-like.safetensors"),
        }
    }

    pub(super) fn open(bytes: &[u8], name: &str) -> Result<Network> {
        Ok(std::sync::Arc::new(Segmenter::from_weights(Weights::from_bytes(bytes, name)?, name)?))
    }
}
